#!/bin/sh
# What a line and a file must look like: at most 100 columns, no tabs, no blanks at the end, ASCII
# (the command line's and the tests' strings may show more), open points only with an issue, header
# guards that are the path, no path of one machine.
. "$(dirname "$0")/lib.sh"

rule() {
    c_awk "$1" '
        function guard_of(path) {
            path = toupper(path)
            gsub(/[^A-Z0-9]/, "_", path)
            return path
        }
        function finish_file() {
            if (name ~ /\.h$/ && (first != "#ifndef " guard_of(name) ||
                                  second != "#define " guard_of(name) || last != "#endif"))
                print name ": the guard must be " guard_of(name) " around everything"
        }
        FNR == 1 { finish_file(); name = FILENAME; first = second = last = "" }
        {
            without_strings = strip($0)
            columns = $0
            gsub(/[\200-\277]/, "", columns) # UTF-8: count first bytes only
        }
        /^#/ && first != "" && second == "" { second = $0 }
        /^#/ && first == "" { first = $0 }
        NF > 0 { last = $0 }
        length(columns) > 100 { print FILENAME ":" FNR ": " length(columns) " columns" }
        /\t/ { print FILENAME ":" FNR ": a tab" }
        /[ \r]$/ { print FILENAME ":" FNR ": a blank at the end" }
        {
            ascii = FILENAME ~ /^supervisord\/ctl\/(main\.c|cmd_|table)|^tests\// ? without_strings : $0
            if (ascii ~ /[\200-\377]/)
                print FILENAME ":" FNR ": not ASCII"
        }
        /(^|[^A-Z_])(TODO|FIXME|XXX)([^A-Z_]|$)/ && !/(TODO|FIXME|XXX)\(#[0-9]+\)/ {
            print FILENAME ":" FNR ": an open point without its issue, as in TODO(#12)"
        }
        /\/work\/|\/tmp\/hf\// { print FILENAME ":" FNR ": a path of one machine" }
        END { finish_file() }' -v keep_comments=1
}

fixture() {
    put supervisord/base/good.h <<'C'
/* good.h - XXXXXX is no open point. */
#ifndef SUPERVISORD_BASE_GOOD_H
#define SUPERVISORD_BASE_GOOD_H

int x; /* TODO(#12) */

#endif
C
    # 100 columns in 101 bytes, and a string of the command line may hold them.
    $AWK 'BEGIN { printf "char *s = \"\303\244"; for (i = 0; i < 86; i++) printf "."; print "\";" }' |
        put supervisord/ctl/cmd_x.c
    $AWK 'BEGIN { for (i = 0; i < 100; i++) printf "x"; print "" }' | put supervisord/base/wide.c
}
cases() { echo wide tab blank crlf ascii comment_ascii cli_comment todo fixme no_guard wrong_guard half_guard path; }
case_wide() { $AWK 'BEGIN { for (i = 0; i < 101; i++) printf "x"; print "" }' | put agents/x.c; }
case_tab() { printf '\tint x;\n' | put agents/x.c; }
case_blank() { printf 'int x; \n' | put agents/x.c; }
case_crlf() { printf 'int x;\r\n' | put agents/x.c; }
case_ascii() { printf 'const char *s = "\303\244";\n' | put agents/x.c; }
case_comment_ascii() { printf '/* \303\244 */\n' | put agents/x.c; }
case_cli_comment() { printf '/* \303\244 */\n' | put supervisord/ctl/cmd_y.c; }
case_todo() { echo '/* TODO later */' | put agents/x.c; }
case_fixme() { echo '// FIXME' | put agents/x.c; }
case_no_guard() { echo 'int x;' | put agents/x.h; }
case_wrong_guard() { printf '#ifndef X_H\n#define X_H\n#endif\n' | put agents/x.h; }
case_half_guard() { printf '#ifndef AGENTS_X_H\n#define AGENTS_X_H\n#endif\nint x;\n' | put agents/x.h; }
case_path() { echo '/* see /tmp/hf/x */' | put agents/x.c; }

tidy_main "$@"
