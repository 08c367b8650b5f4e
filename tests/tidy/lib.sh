# lib.sh - the frame of a tidy rule. A script check_X.sh sources it, defines
#     rule SOURCE_DIR BUILD_DIR   prints one line per finding
#     cases                       prints names; each case_NAME makes a tree that must be found
#     fixture                     (optional) makes the tree that must pass; cases start from it
# and ends with: tidy_main "$@".
#   check_X.sh SOURCE_DIR BUILD_DIR   exit 1 and the findings, if there are any
#   check_X.sh --can-fail             proves that the rule passes the fixture and finds every case
# Plain sh and awk (mawk too): these run on every developer's machine.
set -eu
LC_ALL=C
export LC_ALL
TIDY=$(cd "$(dirname "$0")" && pwd)
AWK=${AWK:-awk}

# C files of the tree, relative to it, sorted. $1 tree, $2 a find pattern (default: .c and .h).
c_files() {
    (cd "$1" && for top in supervisord agents fencing nicbond tests; do
        [ ! -d "$top" ] || find "$top" -type f -name "${2:-*.[ch]}"
    done | sort)
}

# c_awk TREE PROGRAM [OPTION ...]: awk over the C files of a tree; PROGRAM may call strip().
c_awk() {
    tree=$1
    program=$(cat "$TIDY/strip.awk")$2
    shift 2
    list=$(c_files "$tree")
    [ -z "$list" ] || (cd "$tree" && $AWK "$@" "$program" $list)
}

put() { # put FILE: standard input becomes FILE of the fixture being made
    mkdir -p "$(dirname "$FIXTURE/$1")"
    cat >"$FIXTURE/$1"
}

fixture() { :; }

make_fixture() {
    rm -rf "$FIXTURE"
    mkdir -p "$FIXTURE/build"
    fixture
}

can_fail() {
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    FIXTURE=$scratch/tree
    wrong=0
    make_fixture
    found=$(rule "$FIXTURE" "$FIXTURE/build")
    if [ -n "$found" ]; then
        printf 'found in the tree that must pass:\n%s\n' "$found"
        wrong=1
    fi
    count=0
    for case in $(cases); do
        make_fixture
        "case_$case"
        found=$(rule "$FIXTURE" "$FIXTURE/build")
        count=$((count + 1))
        if [ -z "$found" ]; then
            echo "not found: $case"
            wrong=1
        fi
    done
    echo "$count cases"
    [ "$count" -gt 0 ] && [ "$wrong" -eq 0 ]
}

tidy_main() {
    if [ "${1:-}" = --can-fail ]; then
        can_fail
        return
    fi
    findings=$(rule "$1" "$2")
    [ -z "$findings" ] || {
        printf '%s\n' "$findings"
        return 1
    }
}
