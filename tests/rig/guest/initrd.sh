#!/bin/bash
# initrd.sh LINUX OUT STREAM [GUEST]: the guest's initramfs: busybox, the modules in LINUX (linux.sh),
# `stream`, and holdfast-guest where there is one. All of it static.
set -e
here=$(dirname "$(readlink -f "$0")")
linux=$1 out=$2 stream=$3 guest=${4:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{bin,modules,proc,sys,dev,run,tmp}
cp /bin/busybox "$work/bin/"
cp "$linux"/*.ko "$work/modules/"
install -m 755 "$here/init" "$work/init"
install -m 755 "$stream" "$work/bin/stream"
[[ -z $guest || ! -x $guest ]] || install -m 755 "$guest" "$work/bin/holdfast-guest"
(cd "$work" && find . | cpio -o -H newc --quiet | gzip -1) >"$out"
