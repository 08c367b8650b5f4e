#!/bin/sh
# Pure code is a function of its arguments: the objects named in pure.txt call nothing but each other,
# a few functions of base and the memory functions of libc, and hold no variable. This is what lets
# the simulator run the daemon's own objects, and replicas agree.
# A source whose object is not in the build directory is a finding: build first.
. "$(dirname "$0")/lib.sh"

# What the compiler or libc's headers may call on their own: memory and text functions (also in their
# fortified form), libgcc's integer arithmetic, the stack protector; instrumentation of sanitizer,
# coverage and fuzzing builds.
harmless='^(mem(cpy|move|set|cmp|chr)|str(len|nlen|cmp|ncmp)|bcmp|__(mem|str)[a-z]*_chk|__(popcount|ctz|clz|parity|u?div|u?mod|mul)[a-z]*[0-9]|__stack_chk_fail|__chk_fail|_GLOBAL_OFFSET_TABLE_)$'
instruments='^(__(asan|ubsan|tsan|sanitizer|sancov|gcov|llvm|profile)_|__odr_asan|__start___sanc|__stop___sanc|llvm_gcov|__sancov)'

# Sources that match a "pure" or "base" line of pure.txt. $1 tree, $2 the word.
sources() {
    c_files "$1" '*.c' | $AWK -v word="$2" '
        FILENAME == "-" { for (i = 0; i < n; i++) if ($0 ~ wanted[i]) { print; break } next }
        $1 == word { wanted[n++] = $2 }' "$TIDY/pure.txt" -
}

objects_of() { # $1 build dir; source paths on standard input
    while read -r source; do
        object=$(find "$1" -path "*/$source.o" 2>/dev/null | head -n 1)
        [ -n "$object" ] && echo "$object $source" || echo "- $source"
    done
}

rule() {
    pure=$(sources "$1" pure | objects_of "$2")
    [ -n "$pure" ] || return 0
    base=$(sources "$1" base | objects_of "$2")
    unbuilt=$(printf '%s\n' "$pure" | $AWK '$1 == "-" { print $2 ": is not built" }')
    if [ -n "$unbuilt" ]; then
        printf '%s\n' "$unbuilt"
        return 0
    fi
    {
        printf '%s\n%s\n' "$base" "$pure" | while read -r object source; do
            [ "$object" = - ] || [ -z "$object" ] || nm -g --defined-only "$object" |
                $AWK '{ print "defines", $NF }'
        done
        printf '%s\n' "$pure" | while read -r object source; do
            [ "$object" != - ] || continue
            nm -u "$object" | $AWK -v s="$source" '{ print "needs", $NF, s }'
            # Writable, and not by relocation only.
            objdump -t "$object" | $AWK -v s="$source" '
                $0 ~ /[ \t]O[ \t]|\.t(data|bss)[ \t]/ && $NF !~ /^\./ {
                    for (i = 2; i < NF; i++)
                        if ($i ~ /^\.(data|bss|tdata|tbss)/ && $i !~ /^\.data\.rel\.ro/)
                            print "holds", $NF, s
                }'
        done
    } | $AWK -v harmless="$harmless" -v instruments="$instruments" '
        $1 == "defines" { defined[$2] = 1; next }
        $2 ~ instruments { next }
        $1 == "holds" { print $3 ": holds a variable: " $2; next }
        !($2 in defined) && $2 !~ harmless { print $3 ": is pure and calls " $2 "()" }'
}

compile() { # compile FILE: as the build does, into the build directory
    mkdir -p "$FIXTURE/build/CMakeFiles/x.dir/$(dirname "$1")"
    (cd "$FIXTURE" && ${CC:-cc} -std=c11 -O2 -fPIE -I . -c "$1" -o "build/CMakeFiles/x.dir/$1.o")
}
engine() { # standard input is the engine
    put supervisord/engine/step.c
    compile supervisord/engine/step.c
}
fixture() {
    echo 'void hf_put_u8(void); void hf_put_u8(void) { }' | put supervisord/base/buf.c
    compile supervisord/base/buf.c
    echo 'int now(void); int now(void) { return 1; }' | put supervisord/base/clock.c
    compile supervisord/base/clock.c
    engine <<'C'
#include <string.h>
void hf_put_u8(void);
int g(char *, const char *, size_t);
static const char *const names[] = { "a", "b" };
int g(char *a, const char *b, size_t n)
{
    hf_put_u8();
    memmove(a, b, n);
    return names[n][0] + (int)strlen(b);
}
C
}
cases() { echo malloc clock printf variable static_local unbuilt judge; }
case_malloc() { printf '#include <stdlib.h>\nvoid *f(void); void *f(void) { return malloc(7); }\n' | engine; }
case_clock() { echo 'int now(void); int f(void); int f(void) { return now(); }' | engine; }
case_printf() { printf '#include <stdio.h>\nvoid f(int); void f(int x) { printf("%%d", x); }\n' | engine; }
case_variable() { echo 'int counter = 3; int f(void); int f(void) { return counter++; }' | engine; }
case_static_local() { echo 'int f(void); int f(void) { static int n; return n++; }' | engine; }
case_unbuilt() { echo 'int x(void);' | put supervisord/engine/late.c; }
case_judge() {
    printf '#include <unistd.h>\nint f(void); int f(void) { return getpid(); }\n' | put agents/nic/judge.c
    compile agents/nic/judge.c
}

tidy_main "$@"
