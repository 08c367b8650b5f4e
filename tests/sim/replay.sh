#!/bin/sh
# replay.sh SIM DIR - write journals of some runs below DIR and replay them: every decision must be the same. (That a different
# engine is noticed is shown by tests/mutants/run.)
set -eu
sim=$1
dir=$2
rm -rf "$dir"
mkdir -p "$dir"
for seed in 3 9 23; do
    "$sim" --seed $seed --minutes 30 --journal "$dir/$seed" > /dev/null
    for file in "$dir/$seed"/journal/journal-*; do
        "$sim" --replay "$file"
    done
done
# What is not a journal is an error, not an empty success.
printf 'HOLDFAST JOURNAL' > "$dir/short"
if "$sim" --replay "$dir/short" > /dev/null 2>&1; then
    echo "a file without records replayed without an error"
    exit 1
fi
rm -rf "$dir"
