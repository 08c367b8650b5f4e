#!/bin/sh
# repeats.sh SIM - the same seed twice: the same timeline.
set -eu
sim=$1
for seed in 5 42; do
    a=$("$sim" --seed $seed -v | cksum)
    b=$("$sim" --seed $seed -v | cksum)
    [ "$a" = "$b" ] || { echo "seed $seed runs differently the second time"; exit 1; }
done
echo "seeds 5 42: the same timeline twice"
