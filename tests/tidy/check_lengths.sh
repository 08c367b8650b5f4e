#!/bin/sh
# A function fits a screen: at most 70 lines from its opening to its closing brace. The opening
# brace stands alone in the first column, or this rule could not see it.
. "$(dirname "$0")/lib.sh"

rule() {
    c_awk "$1" '
        { code = strip($0) }
        FNR == 1 { opened = 0 }
        code ~ /^[A-Za-z_].*\)[ \t]*\{[ \t]*$/ {
            print FILENAME ":" FNR ": the brace of a function stands on a line of its own"
        }
        code ~ /^\{/ { opened = FNR }
        code ~ /^\}/ && opened {
            if (FNR - opened + 1 > 70)
                print FILENAME ":" opened ": a function of " FNR - opened + 1 " lines, at most 70"
            opened = 0
        }'
}

lines() { $AWK -v n="$1" 'BEGIN { for (i = 0; i < n; i++) print "    f();" }'; }
fixture() {
    { printf 'void g(void)\n{\n'; lines 68; printf '}\n'; } | put supervisord/base/x.c
    { printf 'static const int table[] = {\n'; lines 100; printf '};\n'; } | put supervisord/base/y.c
}
cases() { echo long second hidden test; }
case_long() { { printf 'void g(void)\n{\n'; lines 69; printf '}\n'; } | put agents/x.c; }
case_second() {
    { printf 'void f(void)\n{\n}\n\nvoid g(void)\n{\n'; lines 69; printf '}\n'; } | put agents/x.c
}
case_hidden() { printf 'void g(void) {\n}\n' | put agents/x.c; }
case_test() { { printf 'START_TEST(a)\n{\n'; lines 69; printf '}\nEND_TEST\n'; } | put tests/unit/x.c; }

tidy_main "$@"
