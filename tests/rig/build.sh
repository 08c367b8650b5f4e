#!/bin/bash
# build.sh DIR: the compiled helpers of the rig and the guest's kernel, into DIR.
#   rigtool      PID 1 of a node, stamps, process watch (static: it runs before a node has a root)
#   quorumwatch  membership as corosync tells it (only where libquorum-dev is there)
#   fake_watchdog.so, fake-watchdog-hardware
#                a node's watchdog: the device for LD_PRELOAD, and the part that fires
#   fabtool      the fabrics' cables, ports and cards
#   stream       traffic through a guest, and what became of it (static: the guest runs it, too)
#   guest.elf    the guest's kernel (multiboot), see guest/
set -e
here=$(dirname "$(readlink -f "$0")")
out=$1
mkdir -p "$out"
cc=${CC:-gcc}
"$cc" -O2 -Wall -static -o "$out/rigtool" "$here/rigtool.c"
"$cc" -O2 -Wall -o "$out/fabtool" "$here/fabtool.c"
"$cc" -O2 -Wall -static -o "$out/stream" "$here/stream.c"
top=$here/../.. wd=$here/../fakes/watchdog
"$cc" -std=gnu11 -D_GNU_SOURCE -O2 -Wall -I "$top" -shared -fPIC -o "$out/fake_watchdog.so" "$wd/fake_watchdog.c"
"$cc" -std=gnu11 -D_GNU_SOURCE -O2 -Wall -I "$top" -o "$out/fake-watchdog-hardware" "$wd/hardware.c"
if [[ -e /usr/include/corosync/quorum.h ]]; then
	"$cc" -O2 -Wall -o "$out/quorumwatch" "$here/quorumwatch.c" -lquorum
fi
"$here/guest/build.sh" "$out/guest.elf"
