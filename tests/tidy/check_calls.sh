#!/bin/sh
# Calls that are banned, and the places where they are allowed all the same (banned.txt).
. "$(dirname "$0")/lib.sh"

rule() {
    c_awk "$1" '
        BEGIN {
            while ((getline entry < table) > 0) {
                if (entry ~ /^#/ || entry !~ /[^ \t]/)
                    continue
                split(entry, field, /[ \t]+/)
                where[field[1]] = field[2]
            }
            close(table)
        }
        {
            code = strip($0)
            while (match(code, /[A-Za-z_][A-Za-z_0-9]*[ \t]*\(/)) {
                name = substr(code, RSTART, RLENGTH)
                before = RSTART > 1 ? substr(code, RSTART - 1, 1) : ""
                code = substr(code, RSTART + RLENGTH)
                sub(/[ \t]*\($/, "", name)
                # A member of a struct, or the tail of a number, is not the function.
                if (!(name in where) || before ~ /[.>0-9]/)
                    continue
                if (where[name] == "-" || FILENAME !~ where[name])
                    print FILENAME ":" FNR ": " name "() is banned here, see tests/tidy/banned.txt"
            }
        }' -v table="$TIDY/banned.txt"
}

fixture() {
    put supervisord/main.c <<'C'
/* strcpy(a, b) in a comment; getenv() is for main.c */
int main(void) { const char *s = "gets(x)"; return getenv("A") != s && x.time(3) && my_sleep(1); }
C
    echo 'int f(void) { return popen("x", "r") != 0; }' | put tests/unit/test_x.c
    echo 'int f(void) { clock_gettime(0, 0); snprintf(a, 1, "x"); }' | put supervisord/base/clock.c
    echo 'int f(void) { printf("x"); }' | put supervisord/ctl/cmd_status.c
}
cases() { echo strcpy spaced getenv printf time sleep clock after_comment after_string; }
case_strcpy() { echo 'int f(void) { strcpy(a, b); }' | put supervisord/base/x.c; }
case_spaced() { echo 'int f(void) { sprintf (a, b); }' | put tests/sim/x.c; }
case_getenv() { echo 'int f(void) { getenv("HOME"); }' | put supervisord/engine/x.c; }
case_printf() { echo 'int f(void) { printf("x"); }' | put supervisord/door/x.c; }
case_time() { echo 'int f(void) { return time(0); }' | put agents/vm/x.c; }
case_sleep() { echo 'int f(void) { usleep(3); }' | put tests/unit/test_x.c; }
case_clock() { echo 'int f(void) { clock_gettime(0, 0); }' | put supervisord/report/x.c; }
case_after_comment() { printf '/* a\n */ int f(void) { gets(3); }\n' | put fencing/x.c; }
case_after_string() {
    put fencing/x.c <<'C'
int f(void) { g("\\", '"', "\""); alloca(3); }
C
}

tidy_main "$@"
