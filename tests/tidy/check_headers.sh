#!/bin/sh
# Every header compiles alone, and twice, without a warning, with gcc and with clang if it is there.
. "$(dirname "$0")/lib.sh"

flags="-std=c11 -D_GNU_SOURCE -DHF_VERSION=\"0\" -fsyntax-only -Wall -Wextra -Wshadow
       -Wstrict-prototypes -Wconversion -Wvla -Werror"
includes=$(pkg-config --cflags libqb libvirt libxml-2.0 check 2>/dev/null || :)

rule() {
    headers=$(c_files "$1" '*.h')
    [ -n "$headers" ] || return 0
    for compiler in gcc clang; do
        command -v "$compiler" >/dev/null || continue
        # Two at a time; each prints its own findings.
        printf '%s\n' $headers | (cd "$1" && xargs -P 2 -I HEADER sh -c '
            printf "#include \"%s\"\n#include \"%s\"\n" HEADER HEADER |
                '"$compiler"' '"$(echo $flags | sed 's/"/\\"/g')"' -I . '"$includes"' -x c - 2>&1 ||
                echo "HEADER: does not compile alone with '"$compiler"'"' || :)
    done
}

fixture() {
    put supervisord/base/good.h <<'C'
#ifndef A
#define A
#include <stdint.h>
static inline uint32_t twice(uint32_t x)
{
    return 2 * x;
}
#endif
C
}
cases() { echo needs_stdint twice warning; }
case_needs_stdint() { printf '#ifndef B\n#define B\nuint32_t f(void);\n#endif\n' | put agents/x.h; }
case_twice() { printf 'struct s { int x; };\n' | put agents/x.h; }
case_warning() {
    printf '#ifndef B\n#define B\nstatic inline short f(long x)\n{\n    return x;\n}\n#endif\n' |
        put agents/x.h
}

tidy_main "$@"
