#!/usr/bin/env python3
"""verdict.py FILE: medians and ranges of failover's JSON lines, then one verdict line.

Exit 0: every budget that could be judged is met. 1: one is missed, or a run of Holdfast was not good.
3: nothing could be judged.
"""
import json
import statistics
import sys

OVER_FLOOR_MS = 150                    # host faults: new qemu exec, against the floor's median
QEMUKILL_MS = 80                       # from the old qemu's end to the new one's exec
OWN_STEP_MS = 10                       # view -> fence command, proof -> start request
ORDER = ["holdfast", "floor", "pacemaker-tuned", "pacemaker-tuned-off", "pacemaker"]
PHASES = [("view", "view change"), ("noticed", "death noticed"), ("fence_exec", "fence started"),
          ("bmc_off", "power off at BMC"), ("proof", "proof"), ("start_req", "start requested"),
          ("qemu_exec", "qemu running"), ("guest_up", "guest up")]
STEPS = [("view_to_fence", "own: view to fence"), ("proof_to_start", "own: proof to start")]


def load(path):
    with open(path) as f:
        return [json.loads(line) for line in f if line.strip()]


def cell(values):
    if not values:
        return "-"
    digits = 1 if max(values) < 100 else 0
    return "%.*f (%.*f..%.*f)" % (digits, statistics.median(values), digits, min(values), digits,
                                  max(values))


def table(runs, fault, products):
    mine = {p: [r for r in runs if r["product"] == p and r["fault"] == fault] for p in products}
    good = {p: [r for r in mine[p] if r["ok"]] for p in products}
    print("\n%s: ms after the fault, median (min..max) of the good runs" % fault)
    print("  %-20s" % "" + "".join("%-24s" % p for p in products))
    print("  %-20s" % "good runs" + "".join("%-24s" % ("%d of %d" % (len(good[p]), len(mine[p])))
                                           for p in products))
    print("  %-20s" % "totem" + "".join("%-24s" % totem(mine[p]) for p in products))
    for group, names in (("ms", PHASES), ("own_ms", STEPS)):
        for key, label in names:
            row = [cell([r[group][key] for r in good[p] if r[group].get(key) is not None])
                   for p in products]
            if any(c != "-" for c in row):
                print("  %-20s" % label + "".join("%-24s" % c for c in row))
    others = [r["cpu_others_pct"] for p in products for r in mine[p]]
    if others:
        print("  CPU used by others during the runs: %d..%d %%" % (min(others), max(others)))


def totem(runs):
    kinds = {(r["token"], r["consensus"]) for r in runs}
    if len(kinds) != 1:
        return "-" if not kinds else "mixed!"
    token, consensus = kinds.pop()
    return "%s/%s" % (token, consensus) if token else "corosync's own"


def median(runs, product, fault, group, key):
    values = [r[group][key] for r in runs if r["product"] == product and r["ok"]
              and (fault is None or r["fault"] == fault) and r[group].get(key) is not None]
    return statistics.median(values) if values else None


def judge(runs):
    """(name, figure, budget) of everything that can be judged, and complaints."""
    figures = []
    for fault in ("powercut", "hang"):
        ours = median(runs, "holdfast", fault, "ms", "qemu_exec")
        floor = median(runs, "floor", fault, "ms", "qemu_exec")
        if ours is not None and floor is not None:
            figures.append((fault + " qemu", ours, floor + OVER_FLOOR_MS))
    ours = median(runs, "holdfast", "qemukill", "ms", "qemu_exec")
    if ours is not None:
        figures.append(("qemukill qemu", ours, QEMUKILL_MS))
    for key, label in (("view_to_fence", "view to fence"), ("proof_to_start", "proof to start")):
        ours = median(runs, "holdfast", None, "own_ms", key)
        host_runs = [r for r in runs if r["product"] == "holdfast" and r["fault"] in ("powercut", "hang")]
        if ours is not None:
            figures.append((label, ours, OWN_STEP_MS))
        elif host_runs:
            figures.append((label + " (no stamps)", float("inf"), OWN_STEP_MS))
    return figures


def main():
    everything = load(sys.argv[1])
    broken = [r for r in everything if r.get("broke_off")]
    runs = [r for r in everything if not r.get("broke_off")]
    found = {r["product"] for r in runs}
    products = [p for p in ORDER if p in found] + sorted(found - set(ORDER))
    for fault in dict.fromkeys(r["fault"] for r in runs):
        table(runs, fault, products)
    print()
    for r in runs:
        if not r["ok"]:
            print("not good: %s %s run %d: %s" % (r["product"], r["fault"], r["run"], ", ".join(r["bad"])))
    for r in broken:
        print("broke off: %s run %d" % (r["product"], r["run"]))
    figures = judge(runs)
    missed = [f for f in figures if f[1] > f[2]]
    ours_bad = [r for r in runs if r["product"] == "holdfast" and not r["ok"]]
    ours_bad += [r for r in broken if r["product"] == "holdfast"]
    # the bound itself must be sound, or a broken floor would hide a slow product
    floor_bad = [r for r in runs + broken if r["product"] == "floor" and not r.get("ok")]
    text = "; ".join("%s %.1f <= %.1f ms%s" % (n, v, b, "" if v <= b else " MISSED")
                     for n, v, b in figures)
    if ours_bad:
        text += "%s%d run(s) of holdfast not good" % ("; " if text else "", len(ours_bad))
    if floor_bad:
        text += "%s%d run(s) of the floor not good" % ("; " if text else "", len(floor_bad))
    if not figures and not ours_bad:
        print("verdict: NOT JUDGED, holdfast (and for host faults the floor) must be among the products")
        sys.exit(3)
    fails = bool(missed or ours_bad)
    print("verdict: %s: %s" % ("FAIL" if fails else "PASS", text))
    sys.exit(1 if fails else 0)


main()
