#!/bin/sh
# No mutable globals and no static locals in what ships, so that tests can make two of anything in
# one process. The exceptions are in state.txt. Looks at the objects of the build directory.
. "$(dirname "$0")/lib.sh"

rule() {
    (cd "$2" && find . -name '*.c.o' | sort) | while read -r object; do
        source=$(printf '%s\n' "$object" | sed 's|.*\.dir/||; s|\.o$||')
        case $source in supervisord/* | agents/* | fencing/* | nicbond/*) ;; *) continue ;; esac
        # An object that is older than its removed source is not the tree's.
        [ -f "$1/$source" ] || continue
        objdump -t "$2/$object" | $AWK -v s="$source" '
            FILENAME != "-" { if ($0 !~ /^#/ && NF) allowed[$1, $2] = 1; next }
            $0 ~ /[ \t]O[ \t]|\.t(data|bss)[ \t]/ && $NF !~ /^\./ && $NF !~ /^_*(asan|ubsan|tsan|gcov|sancov|llvm|profc|profd|start___)/ {
                name = $NF
                sub(/\.[0-9]+$/, "", name)
                for (i = 2; i < NF; i++)
                    if ($i ~ /^\.(data|bss|tdata|tbss)/ && $i !~ /^\.data\.rel\.ro/ &&
                        !((s, name) in allowed))
                        print s ": holds a variable: " name
            }' "$TIDY/state.txt" -
    done
}

compile() {
    mkdir -p "$FIXTURE/build/CMakeFiles/x.dir/$(dirname "$1")"
    cat | put "$1"
    (cd "$FIXTURE" && ${CC:-cc} -std=c11 -O2 -fPIE -c "$1" -o "build/CMakeFiles/x.dir/$1.o")
}
fixture() {
    printf 'static const char *const n[] = {"a", "b"};\nconst char *f(int); const char *f(int i) { return n[i]; }\n' |
        compile agents/x.c
    echo 'static unsigned log_lost; unsigned f(void); unsigned f(void) { return ++log_lost; }' |
        compile supervisord/base/log.c
    echo 'int counter = 3;' | compile tests/sim/x.c
}
cases() { echo global static_local thread_local zero other_in_log; }
case_global() { echo 'int counter = 3;' | compile fencing/x.c; }
case_static_local() { echo 'int f(void); int f(void) { static int n; return ++n; }' | compile fencing/x.c; }
case_thread_local() { echo '_Thread_local int n;' | compile fencing/x.c; }
case_zero() { echo 'int n;' | compile supervisord/main.c; }
case_other_in_log() { echo 'int n;' | compile supervisord/base/log.c; }

tidy_main "$@"
