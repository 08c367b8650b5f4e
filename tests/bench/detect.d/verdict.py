#!/usr/bin/env python3
"""verdict.py FILE: a table of detect's JSON lines, then one verdict line.

A false change is a view, of any node, without a node that was alive all the time: what makes a product
fence. A ring formed anew with the same members costs nobody anything; it is counted beside. A pair is
clean when no live node was lost under any condition in all the time it was watched, and nothing at all
changed while it was left in peace.
Exit 0: the quickest clean pair is named. 1: no pair is clean. 3: something was not judged.
"""
import json
import statistics
import sys

CONDITIONS = ["busy", "stall", "loss"]


def load(path):
    with open(path) as f:
        return [json.loads(line) for line in f if line.strip()]


def cell(values):
    return "%.0f (%.0f..%.0f)" % (statistics.median(values), min(values), max(values)) if values else "-"


def watched(runs, pair, condition):
    """(times that a live node was lost, the same by a quorate node, rings formed anew, minutes) of the
    good runs; None: there is none."""
    mine = [r for r in runs if r["part"] == "watch" and r["pair"] == pair and r["condition"] == condition
            and r.get("ok")]
    if not mine:
        return None
    return tuple(sum(r[k] for r in mine) for k in ("lost", "lost_by_quorate", "anew")) + (
        sum(r["seconds"] for r in mine) / 60,)


def changes(found):
    return "-" if found is None else "%d (%d) + %d / %.0f min" % found


def others(runs):
    """What neither the rigs nor, when busy, the bench's own load used, in per cent: (quiet, busy)."""
    out, load = {}, {(r["machine"], r["batch"]): r["pct"] for r in runs if r["part"] == "load"}
    for r in runs:
        if r["part"] == "watch" and r.get("ok") and r["cpu_busy_pct"] is not None:
            key = (r.get("machine"), r["batch"])
            busy, rigs, _ = out.get(key, (0, 0, None))
            out[key] = (max(busy, r["cpu_busy_pct"]), rigs + r["cpu_rig_pct"], r["condition"])
    quiet = [b - rigs for b, rigs, condition in out.values() if condition != "busy"]
    loaded = [b - rigs - load[k] for k, (b, rigs, condition) in out.items() if condition == "busy" and k in load]
    return ["%.0f..%.0f %%" % (min(x), max(x)) if x else "-" for x in (quiet, loaded)]


def main():
    runs, machine = [], 0
    for r in load(sys.argv[1]):
        if r["part"] == "machine":
            machine += 1
            print("%(date)s, commit %(commit)s: %(cores)s cores (%(cpu)s), %(os)s, kernel %(kernel)s, "
                  "corosync %(corosync)s" % r)
        runs.append(dict(r, machine=machine))
    pairs = list(dict.fromkeys(r["pair"] for r in runs if "pair" in r))
    print("\nms from power cut to view change, median (min..max) of both survivors; then false changes as")
    print("how often a live node was lost (by a quorate node: it would be fenced) + rings formed anew with the")
    print("same members, each in so many minutes")
    names = ["token/consensus", "first told", "last told", "undisturbed"] + CONDITIONS
    print("  %-17s" % names[0] + "".join("%-24s" % n for n in names[1:]))
    speed, clean, missing = {}, [], []
    for pair in pairs:
        good = [r for r in runs if r["part"] == "cut" and r["pair"] == pair and r.get("ok")]
        first, last = [r["first_ms"] for r in good], [r["last_ms"] for r in good]
        found = {c: watched(runs, pair, c) for c in ["control"] + CONDITIONS}
        print("  %-17s" % pair + "".join("%-24s" % x for x in [cell(first), cell(last)]
                                         + [changes(found[c]) for c in ["control"] + CONDITIONS]))
        if good:
            speed[pair] = statistics.median(first)
        missing += ["%s %s" % (c, pair) for c in ["control"] + CONDITIONS if not found[c]]
        missing += [] if good else ["cuts %s" % pair]
        if good and all(found.values()) and not any(f[0] for f in found.values()) and not found["control"][2]:
            clean.append(pair)
    print()
    print("CPU used by others than the rigs: %s; under `busy`, beside the bench's own load: %s" % tuple(others(runs)))
    bad = [r for r in runs if r["part"] in ("cut", "watch") and not r.get("ok")]
    for r in bad:
        print("not judged: %s %s: %s" % (r.get("condition", "cut"), r["pair"],
                                         "broke off" if r.get("broke_off") else ", ".join(r["bad"])))
    for what in missing:
        print("not judged: %s: no good run" % what)
    disturbed = [r for r in runs if r["part"] == "watch" and r["condition"] == "control" and r.get("ok")
                 and r["lost"] + r["anew"] and r["rigs_beside"]]
    for r in disturbed:
        print("undisturbed, %s changed with %d rigs beside it: repeat it with --serial" % (r["pair"], r["rigs_beside"]))
    unsure = "" if not (bad or missing) else "; %d run(s) not judged" % (len(bad) + len(missing))
    if not clean:
        print("verdict: fast profile: NONE, no pair was without a false change%s" % unsure)
        sys.exit(3 if unsure else 1)
    best = min(clean, key=lambda p: speed[p])
    anew = sum(watched(runs, best, c)[2] for c in CONDITIONS)
    print("verdict: fast profile: %s, quickest pair with no false change (cut to view %.0f ms; no live node lost, "
          "%s with the same members)%s"
          % (best, speed[best], "no ring formed anew" if not anew else "%d rings formed anew" % anew, unsure))
    sys.exit(3 if unsure else 0)


main()
