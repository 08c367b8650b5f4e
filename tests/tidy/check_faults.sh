#!/bin/sh
# A fault of the catalogue (tests/catalogue.h) that the simulator has no generator for, or the rig no
# case, is named in the README there, with the reason; and nothing else is named as missing.
. "$(dirname "$0")/lib.sh"

ids() { grep -oE '\b[PCHNKM][0-9]+\b' | sort -u; }
catalogue() { grep -E '^ +"' "$1/tests/catalogue.h" | ids; }
simulated() { grep -oE 'FAULT\([A-Z]+[0-9]+,' "$1/tests/sim/faults.h" | ids; }
# the first lines of every case, as tests/rig/run reads them
on_the_rig() {
    for file in "$1"/tests/rig/cases/*.sh; do
        sed -n '/^#/!q; p' "$file"
    done | ids
}
# the part of a README from a line with these words to the next empty one; of a table its first column
named() {
    $AWK -v words="$2" '
        index($0, words) { on = 1; sub(".*" words, "") }
        on && NF == 0 && seen { exit }
        on && /^\|/ { split($0, cell, "|"); $0 = cell[2] }
        on { seen = seen || /[A-Z][0-9]/; print }' "$1" | ids
}
differ() { # FILE WHAT: compares $WORK/real and $WORK/told
    comm -23 "$WORK/real" "$WORK/told" | sed "s,.*,$1: & has no $2 and is not named with a reason,"
    comm -13 "$WORK/real" "$WORK/told" | sed "s,.*,$1: & is named as without a $2 but is none of those,"
}

rule() {
    WORK=$(mktemp -d)
    catalogue "$1" >"$WORK/all"
    simulated "$1" >"$WORK/have"
    comm -23 "$WORK/all" "$WORK/have" >"$WORK/real"
    named "$1/tests/sim/README.md" 'have no generator:' >"$WORK/told"
    differ tests/sim/README.md generator
    on_the_rig "$1" >"$WORK/have"
    comm -23 "$WORK/all" "$WORK/have" >"$WORK/real"
    named "$1/tests/rig/README.md" 'no case has:' >"$WORK/told"
    differ tests/rig/README.md case
    rm -rf "$WORK"
}

fixture() {
    printf '#define CATALOGUE_IDS \\\n    "P1 P2 " \\\n    "C1 "\n' | put tests/catalogue.h
    printf 'FAULT(P1, "x") FAULT(NX, "y")\n' | put tests/sim/faults.h
    printf 'Of P and C these have no generator:\n\n| id | why not |\n|---|---|\n| P2 | like P1 |\n| C1 | no |\n\nP1 is x.\n' |
        put tests/sim/README.md
    printf '# P1, C1: what\nP2\n' | put tests/rig/cases/a.sh
    printf 'Of P and C no case has: P2\n(none here).\n\nP1 is x.\n' | put tests/rig/README.md
}
cases() { echo untold told_sim told_rig; }
case_untold() { printf '#define CATALOGUE_IDS "" \\\n    "P1 P2 P3 " \\\n    "C1 "\n' | put tests/catalogue.h; }
case_told_sim() { printf 'FAULT(P1, "x") FAULT(C1, "y")\n' | put tests/sim/faults.h; }
case_told_rig() { printf '# P1, P2, C1: what\n' | put tests/rig/cases/a.sh; }

tidy_main "$@"
