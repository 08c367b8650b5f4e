#!/bin/bash
# build.sh DIR: the compiled helpers of the rig and the guest's kernel, into DIR.
#   rigtool      PID 1 of a node, stamps, process watch (static: it runs before a node has a root)
#   quorumwatch  membership as corosync tells it (only where libquorum-dev is there)
#   guest.elf    the guest's kernel (multiboot), see guest/
set -e
here=$(dirname "$(readlink -f "$0")")
out=$1
mkdir -p "$out"
cc=${CC:-gcc}
"$cc" -O2 -Wall -static -o "$out/rigtool" "$here/rigtool.c"
if [[ -e /usr/include/corosync/quorum.h ]]; then
	"$cc" -O2 -Wall -o "$out/quorumwatch" "$here/quorumwatch.c" -lquorum
fi
"$here/guest/build.sh" "$out/guest.elf"
