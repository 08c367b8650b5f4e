#!/bin/bash
# linux.sh FOLDER: a Linux for guests that need real bonding: Debian's own kernel for virtual machines,
# as it comes, into FOLDER/VERSION, which is printed; taken from there when it is there already.
# The package is unpacked, not installed: a machine that only tests keeps its kernels.
set -e
folder=$1
meta=linux-image-cloud-amd64
# virtio's and bonding's modules in the order in which they can be loaded
modules=(drivers/virtio/virtio_ring drivers/virtio/virtio drivers/virtio/virtio_pci_legacy_dev
	drivers/virtio/virtio_pci_modern_dev drivers/virtio/virtio_pci net/core/failover
	drivers/net/net_failover drivers/net/virtio_net drivers/char/virtio_console net/tls/tls
	drivers/net/bonding/bonding)

mkdir -p "$folder"
folder=$(realpath "$folder")
exec 9>"$folder/lock"       # several rigs are brought up at once
flock 9
newest() { apt-cache depends "$meta" 2>/dev/null | sed -n 's/^ *Depends: \(linux-image-.*\)$/\1/p' | head -n 1; }
package=$(newest)
if [[ -z $package ]]; then
	apt-get update -qq >/dev/null 2>&1 || true
	package=$(newest)
fi
if [[ -z $package ]]; then
	# no lists: what was fetched before will do
	ready=$(find "$folder" -mindepth 2 -maxdepth 2 -name ready -printf '%h\n' 2>/dev/null | sort -V | tail -n 1)
	[[ -n $ready ]] || { echo "guest/linux.sh: apt knows no $meta" >&2; exit 1; }
	echo "$ready"
	exit
fi
out=$folder/${package#linux-image-}
if [[ ! -e $out/ready ]]; then
	work=$(mktemp -d "$folder/fetch.XXXXXX")
	trap 'rm -rf "$work"' EXIT
	chmod 755 "$work"
	(cd "$work" && apt-get -o APT::Sandbox::User=root download "$package" >log 2>&1) || { cat "$work/log" >&2; exit 1; }
	mkdir "$work/tree" "$work/out"
	dpkg-deb -x "$work"/linux-image-*.deb "$work/tree"
	cp "$work"/tree/boot/vmlinuz-* "$work/out/vmlinuz"
	number=0
	for module in "${modules[@]}"; do
		number=$((number + 1))
		# built in, in this version: nothing to load
		found=$(find "$work/tree/lib/modules" -path "*/kernel/$module.ko" | head -n 1)
		[[ -z $found ]] || cp "$found" "$work/out/$(printf '%02d' "$number")-${module##*/}.ko"
	done
	: >"$work/out/ready"
	rm -rf "$out"
	mv "$work/out" "$out"
fi
echo "$out"
