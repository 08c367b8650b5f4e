#!/bin/bash
# build.sh FILE: compile the guest's kernel. Needs a gcc that knows -m32 (no 32-bit libraries:
# nothing is linked in), or clang and lld.
set -e
here=$(dirname "$(readlink -f "$0")")
flags=(-O2 -ffreestanding -fno-pic -fno-stack-protector -fno-asynchronous-unwind-tables -fcf-protection=none
	-mno-sse -mno-mmx -Wall -Wextra -nostdlib)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if gcc -m32 "${flags[@]}" -c -o "$work/start.o" "$here/start.S" 2>/dev/null; then
	gcc -m32 "${flags[@]}" -c -o "$work/guest.o" "$here/guest.c"
	ld -m elf_i386 -z noexecstack --no-warn-rwx-segments -T "$here/guest.ld" -o "$1" "$work/start.o" "$work/guest.o"
else
	clang --target=i386-elf "${flags[@]}" -c -o "$work/start.o" "$here/start.S"
	clang --target=i386-elf "${flags[@]}" -c -o "$work/guest.o" "$here/guest.c"
	ld.lld -m elf_i386 -T "$here/guest.ld" -o "$1" "$work/start.o" "$work/guest.o"
fi
