#!/bin/bash
# fetch.sh FOLDER: what a machine with SR-IOV cards needs and Debian 12 does not bring along, unpacked into
# FOLDER and never installed: a QEMU that emulates an igb (8.0 and later; bookworm-backports) and Debian's
# kernel with all its drivers, packed and not. Prints FOLDER; does nothing when it is there already.
set -e
mkdir -p "$1"
folder=$(realpath "$1")
exec 9>"$folder/lock"
flock 9
work=$(mktemp -d "$folder/fetch.XXXXXX")
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
from_apt() {   # PACKAGE...: with $options
	(cd "$work" && apt-get "${options[@]}" -o APT::Sandbox::User=root download "$@" >log 2>&1) || { cat "$work/log" >&2; exit 1; }
	for deb in "$work"/*.deb; do dpkg-deb -x "$deb" "$work/tree"; done
	rm -f "$work"/*.deb
}
mirror() { sed -nE 's/^URIs: *([^ ]*debian\/?)$/\1/p; s/^deb +(\[[^]]*\] +)?([^ ]*debian\/?) .*/\2/p' /etc/apt/sources.list /etc/apt/sources.list.d/*.sources 2>/dev/null | head -n 1; }

if [[ ! -e $folder/qemu/ready ]]; then
	# lists of its own: whatever this machine installs from stays as it is
	mkdir -p "$work/apt/lists/partial" "$work/apt/cache/archives/partial" "$work/tree"
	echo "deb $(mirror) bookworm-backports main" >"$work/apt/sources.list"
	options=(-o "Dir::Etc::sourcelist=$work/apt/sources.list" -o Dir::Etc::sourceparts=/dev/null
		-o "Dir::State::lists=$work/apt/lists" -o "Dir::Cache=$work/apt/cache")
	apt-get "${options[@]}" update >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
	from_apt qemu-system-x86/bookworm-backports qemu-system-common/bookworm-backports qemu-system-data/bookworm-backports
	: >"$work/tree/ready"
	rm -rf "$folder/qemu"
	mv "$work/tree" "$folder/qemu"
fi
if [[ ! -e $folder/linux/ready ]]; then
	options=()
	mkdir -p "$work/tree"
	from_apt "$(apt-cache depends linux-image-amd64 | sed -n 's/^ *Depends: \(linux-image-.*\)$/\1/p' | head -n 1)"
	version=$(ls "$work/tree/lib/modules")
	busybox depmod -b "$work/tree" "$version"
	mv "$work/tree"/boot/vmlinuz-* "$work/tree/vmlinuz"
	# as it is once it has unpacked itself: a VM in the machine begins there, and saves that time
	python3 - "$work/tree/vmlinuz" "$work/tree/vmlinux" <<'P'
import lzma, sys
packed = open(sys.argv[1], "rb").read()
kernel = lzma.LZMADecompressor().decompress(packed[packed.index(b"\xfd7zXZ\0"):])
assert kernel[:4] == b"\x7fELF", "no kernel in it"
open(sys.argv[2], "wb").write(kernel)
P
	: >"$work/tree/ready"
	rm -rf "$folder/linux"
	mv "$work/tree" "$folder/linux"
fi
echo "$folder"
