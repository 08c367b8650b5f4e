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
OVER_SAFE_MS = 150                     # watchdog time: new qemu exec, after view change + T_safe
ORDER = ["holdfast", "floor", "pacemaker-tuned", "pacemaker-tuned-off", "pacemaker"]
PHASES = [("view", "view change"), ("noticed", "death noticed"), ("fence_exec", "fence started"),
          ("bmc_off", "power off at BMC"), ("proof", "proof"), ("start_req", "start requested"),
          ("qemu_exec", "qemu running"), ("guest_up", "guest up")]
STEPS = [("view_to_fence", "own: view to fence"), ("view_to_proof", "own: view to proof"),
         ("proof_to_start", "own: proof to start")]


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
    products = [p for p in products if any(r["product"] == p and r["fault"] == fault for r in runs)]
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


def safe_ms(watchdog):
    """L + 2 W + 1 % + 1 s, the per cent rounded up."""
    wait = watchdog["lease_ms"] + 2 * watchdog["timeout_ms"]
    return wait + -(-wait // 100) + 1000


def after_safe(run):
    """How long after the first survivor's view change + T_safe the new qemu came, ms."""
    return run["ms"]["qemu_exec"] - run["ms"]["view"] - safe_ms(run["watchdog"])


def early(run):
    """Why watchdog time was used before it was a proof; None: it was not."""
    safe = safe_ms(run["watchdog"])
    if run["watchdog"]["safe_ms"] < safe:
        return "%d ms attested, %d ms by arithmetic" % (run["watchdog"]["safe_ms"], safe)
    if run["own_ms"].get("view_to_proof") is None:
        return "no stamp of the proof"
    if run["own_ms"]["view_to_proof"] < safe:
        return "proof after %.1f of %d ms" % (run["own_ms"]["view_to_proof"], safe)
    if after_safe(run) < 0:
        return "qemu %.1f ms before T_safe was over" % -after_safe(run)
    return None


def by_watchdog(runs):
    """Watchdog time as measured, beside what a Pacemaker with diskless sbd would need at the same W.

    Pacemaker waits 2 W when fencing-watchdog-timeout is automatic (lib/common/watchdog.c, there also
    called stonith-watchdog-timeout), from its fence request on; before and after that it is as fast as
    its own runs with a BMC were.
    """
    ours = [r for r in runs if r["fault"] == "powercut-ac" and r["product"] == "holdfast" and r["ok"]]
    if not ours:
        return
    w = ours[0]["watchdog"]
    print("\nBMC dead, watchdog time: W = %d ms, L = %d ms, T_safe = L + 2 W + 1 %% + 1 s = %d ms, attested %d ms"
          % (w["timeout_ms"], w["lease_ms"], safe_ms(w), w["safe_ms"]))
    print("  holdfast: qemu %s ms after the cut, measured; that is %s ms after view change + T_safe"
          % (cell([r["ms"]["qemu_exec"] for r in ours]), cell([after_safe(r) for r in ours])))
    for product in ORDER:
        theirs = [r["ms"] for r in runs if r["product"] == product and product.startswith("pacemaker") and r["ok"]
                  and r["fault"] == "powercut" and None not in (r["ms"]["fence_exec"], r["ms"]["proof"])]
        if theirs:
            begin = statistics.median(m["fence_exec"] for m in theirs)
            start = statistics.median(m["qemu_exec"] - m["proof"] for m in theirs)
            print("  %s, diskless sbd: %.0f ms, computed: fence request %.0f (measured) + 2 W %d + proof to qemu "
                  "%.0f (measured)" % (product, begin + 2 * w["timeout_ms"] + start, begin,
                                       2 * w["timeout_ms"], start))


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
    late = [after_safe(r) for r in runs if r["product"] == "holdfast" and r["fault"] == "powercut-ac" and r["ok"]]
    if late:
        figures.append(("watchdog time, beyond T_safe", statistics.median(late), OVER_SAFE_MS))
    for key, label in (("view_to_fence", "view to fence"), ("proof_to_start", "proof to start")):
        ours = median(runs, "holdfast", None, "own_ms", key)
        host_runs = [r for r in runs if r["product"] == "holdfast" and r["fault"] in ("powercut", "hang", "powercut-ac")]
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
    by_watchdog(runs)
    print()
    for r in runs:
        if r["ok"] and r["fault"] == "powercut-ac" and early(r):
            r["ok"], r["bad"] = False, ["EARLY: " + early(r)]
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
