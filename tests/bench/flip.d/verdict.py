#!/usr/bin/env python3
"""verdict.py FILE: p50, p99 and max of flip's JSON lines by fault and way, then one verdict line.

Exit 0: every budget that could be judged is met. 1: one is missed, or a flip of Holdfast was not good.
3: nothing could be judged.
"""
import json
import math
import sys

CARRIER_ORDER_MS = 5                   # carrier lost to order issued, p99
SILENT_OVER_MS = 5                     # silent death to order issued, p99, beyond three BFD intervals
SHORTER_BY = 5                         # gap with holdfast-guest, against the bond alone at miimon 100
OURS = ("helper", "holdfast")
WAYS = [("helper", "Holdfast and holdfast-guest"), ("holdfast", "Holdfast, bond at miimon 20"),
        ("miimon20", "bond alone, miimon 20"), ("miimon100", "bond alone, miimon 100"),
        ("arp100", "bond alone, arp_interval 100")]
FAULTS = [("told", "wire pulled, the guest's leg is told"),
          ("untold", "wire pulled, the guest's leg keeps its carrier"),
          ("silent", "nothing passes, carrier everywhere")]


def load(path):
    with open(path) as f:
        return [json.loads(line) for line in f if line.strip()]


def rank(values, share):
    """Nearest rank: of fewer than 100 values the 99th per cent is the largest."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def cell(values):
    if not values:
        return "-"
    return "%.1f / %.1f / %.1f" % (rank(values, 0.5), rank(values, 0.99), max(values))


def of(flips, way, fault):
    return [f for f in flips if f["way"] == way and f["fault"] == fault]


def faults_of(flip):
    """Why a flip of Holdfast is not good; empty: it is."""
    bad = []
    if flip["never"]:
        bad.append("the traffic did not come back")
    if not flip["same_qemu"]:
        bad.append("the VM is another one")
    if flip["tcp"] != "alive":
        bad.append("TCP " + flip["tcp"])
    if flip["ordered_ms"] is None and flip["outcome"] != "already":
        bad.append("no order was told")
    if flip["outcome"] == "failed":
        bad.append("told as failed")
    return bad


def table(flips):
    for fault, words in FAULTS:
        rows = [(name, of(flips, way, fault)) for way, name in WAYS]
        if not any(mine for _, mine in rows):
            continue
        print("\n%s (%s): ms, p50 / p99 / max" % (fault, words))
        print("  %-30s%-8s%-24s%-24s%-26s%s" % ("", "flips", "judged", "order issued", "traffic gap", "lost"))
        for name, mine in rows:
            if not mine:
                continue
            back = [f for f in mine if not f["never"]]
            gap = cell([f["gap_ms"] for f in back]) if back else "never"
            if back and len(back) < len(mine):
                gap += ", %d never" % (len(mine) - len(back))
            print("  %-30s%-8d%-24s%-24s%-26s%s" % (
                name, len(mine), cell([f["judged_ms"] for f in mine if f["judged_ms"] is not None]),
                cell([f["ordered_ms"] for f in mine if f["ordered_ms"] is not None]), gap,
                "%d..%d" % (min(f["lost"] for f in mine), max(f["lost"] for f in mine))))
    others = [f["cpu_pct"] for f in flips]
    print("  CPU in use around the flips: %d..%d %%; the meter itself was late by up to %.1f ms"
          % (min(others), max(others), max(f["meter_ms"] for f in flips) - 1))


def orders(flips, fault):
    return [f["ordered_ms"] for way in OURS for f in of(flips, way, fault) if f["ordered_ms"] is not None]


def judge(flips):
    """(name, figure, budget) of everything that can be judged."""
    figures = []
    carrier = orders(flips, "told") + orders(flips, "untold")
    if carrier:
        figures.append(("carrier loss to order, p99", rank(carrier, 0.99), CARRIER_ORDER_MS))
    silent = orders(flips, "silent")
    if silent:
        budget = 3 * max(f["bfd_ms"] for f in flips) + SILENT_OVER_MS
        figures.append(("silent death to order, p99", rank(silent, 0.99), budget))
    ours = [f["gap_ms"] for f in of(flips, "helper", "told")]
    alone = [f["gap_ms"] for f in of(flips, "miimon100", "told") if not f["never"]]
    if ours and alone:
        figures.append(("gap with holdfast-guest, p50, against a fifth of miimon 100's", rank(ours, 0.5),
                        rank(alone, 0.5) / SHORTER_BY))
    return figures


def main():
    everything = load(sys.argv[1])
    broken = [f for f in everything if f.get("broke_off")]
    flips = [f for f in everything if not f.get("broke_off")]
    if flips:
        table(flips)
    print()
    bad = 0
    for flip in flips:
        if flip["way"] in OURS and faults_of(flip):
            bad += 1
            print("not good: %s %s flip %d: %s" % (flip["way"], flip["fault"], flip["flip"], ", ".join(faults_of(flip))))
    for flip in broken:
        bad += flip["way"] in OURS
        print("broke off: %s %s flip %d" % (flip["way"], flip["fault"], flip["flip"]))
    figures = judge(flips)
    text = "; ".join("%s %.1f <= %.1f ms%s" % (n, v, b, "" if v <= b else " MISSED") for n, v, b in figures)
    if bad:
        text += "%s%d flip(s) of Holdfast not good" % ("; " if text else "", bad)
    if not figures and not bad:
        print("verdict: NOT JUDGED, a way of Holdfast must be among those flipped")
        sys.exit(3)
    fails = bool(bad or any(v > b for _, v, b in figures))
    print("verdict: %s: %s" % ("FAIL" if fails else "PASS", text))
    sys.exit(1 if fails else 0)


main()
