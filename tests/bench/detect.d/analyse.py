#!/usr/bin/env python3
"""What the observers of one run saw, as one JSON line.

analyse.py machine COMMIT                                        where and when this is
analyse.py cut WORK RIG_EVENTS PAIR RUN VICTIM T0_NS             a power cut
analyse.py watch WORK CONDITION PAIR T0_NS T1_NS BATCH BESIDE    a while in which no cut was made
analyse.py line FILE                                             such a line in words

WORK holds: quorum (membership as corosync tells it in each node, stamped), readback (token and
consensus of the running corosync), cpu0 and cpu1 (busy and idle ticks of the machine, microseconds of
the rig), and for a watch: stalls, loss, log (what corosync logged meanwhile), bad (complaints).
"""
import datetime
import json
import os
import platform
import re
import sys

ALL = "1,2,3"
NS = 1e9
STALL = (0.79, 0.85)     # of the token: shorter is no stall of 0.8, longer is another fault
SAME_INCIDENT_S = 0.5    # beyond token + consensus: a lost node is back in by then, or the view stays


def lines(*path):
    try:
        with open(os.path.join(*path), errors="replace") as f:
            return f.read().splitlines()
    except OSError:
        return []


def views(work):
    """(ns, node, what, value) in order of time; what is nodes (value = members) or quorum (0 or 1)."""
    out = []
    for line in lines(work, "quorum"):
        part = line.split()
        if len(part) != 5 or not part[0].isdigit():
            continue
        value = part[4].partition("=")[2] if part[2] == "nodes" else part[3].partition("=")[2]
        out.append((int(part[0]), part[1], part[2], value))
    return sorted(out)


def timing(pair):
    token, _, consensus = pair.partition("/")
    return int(token), int(consensus)


def readback_is(work, pair):
    return [int(x) for x in lines(work, "readback") if x.isdigit()] == list(timing(pair))


def shares(work):
    """Per cent of the machine: all that was busy, and this rig."""
    try:
        b0, i0, r0 = map(float, lines(work, "cpu0")[0].split())
        b1, i1, r1 = map(float, lines(work, "cpu1")[0].split())
    except (IndexError, ValueError):
        return None, None
    total = max(1.0, b1 - b0 + i1 - i0)
    return (round(100 * (b1 - b0) / total, 1),
            round(100 * (r1 - r0) / 1e6 * os.sysconf("SC_CLK_TCK") / total, 1))


def cut(work, events, pair, run, victim, t0):
    t0, bad, gone = int(t0), [], {}
    for line in lines(events):
        t, _, what = line.partition(" ")
        if int(t) >= t0 and what == "power off " + victim:
            t0 = int(t)
            break
    else:
        bad.append("the cut was not seen")
    for t, node, what, value in views(work):
        if t <= t0 or what != "nodes" or node == victim:
            continue
        members = value.split(",")
        if victim[1:] not in members:
            gone.setdefault(node, t)
        if any(str(n) not in members for n in (1, 2, 3) if "n%d" % n != victim):
            bad.append("a survivor was lost as well")
    if len(gone) != 2:
        bad.append("%d of 2 survivors saw it" % len(gone))
    if not readback_is(work, pair):
        bad.append("corosync runs at other timeouts")
    busy, rig = shares(work)
    ms = [round((t - t0) / 1e6, 1) for t in sorted(gone.values())] or [None]
    return {"part": "cut", "pair": pair, "run": int(run), "victim": victim, "first_ms": ms[0],
            "last_ms": ms[-1], "cpu_busy_pct": busy, "cpu_rig_pct": rig, "ok": not bad, "bad": bad}


def incidents(seen, t0, pair):
    """Every change after t0, those that belong together as one.

    They do while the group is not whole, and for token + consensus and a bit after the last change.
    """
    token, consensus = timing(pair)
    gap = ((token + consensus) / 1000 + SAME_INCIDENT_S) * NS
    members, out = {"n1": ALL, "n2": ALL, "n3": ALL}, []
    for t, node, what, value in seen:
        if t <= t0:
            continue
        whole = all(m == ALL for m in members.values())
        if not out or (whole and t > out[-1]["end"] + gap):
            out.append({"begin": t, "end": t, "lost": set(), "by": set(), "no_quorum": set(), "views": 0})
        now = out[-1]
        now["end"] = t
        if what == "quorum":
            if value == "0":
                now["no_quorum"].add(node)
            continue
        members[node] = value
        now["views"] += 1
        for n in (1, 2, 3):
            if str(n) not in value.split(","):
                now["lost"].add("n%d" % n)
                now["by"].add(node)
    return [{"at_s": round((i["begin"] - t0) / NS, 2), "lasted_ms": round((i["end"] - i["begin"]) / 1e6, 1),
             "views": i["views"], "lost": sorted(i["lost"]), "missed_by": sorted(i["by"]),
             "without_quorum": sorted(i["no_quorum"])} for i in out]


def stalls(work, token):
    ratios = []
    for line in lines(work, "stalls"):
        a, b, _ = map(int, line.split())
        ratios.append((b - a) / 1e6 / token)
    if not ratios:
        return None
    return {"count": len(ratios), "shortest_token": round(min(ratios), 3), "longest_token": round(max(ratios), 3)}


LOG = {"rings_formed": r"A new membership .* was formed", "pauses": r"was not scheduled for|Process pause detected",
       "token_warnings": r"Token has not been received", "links_down": r"link: \d+ is down",
       "retransmits": r"Retransmit List"}


def watch(work, condition, pair, t0, t1, batch, beside):
    t0, t1 = int(t0), int(t1)
    token, _ = timing(pair)
    bad = lines(work, "bad")
    found = incidents(views(work), t0, pair)
    fault = None
    if condition == "stall":
        fault = stalls(work, token)
        if fault is None or fault["shortest_token"] < STALL[0] or fault["longest_token"] > STALL[1]:
            bad.append("the stalls were not of 0.8 x token")
    elif condition == "loss":
        text = (lines(work, "loss") or [""])[0].split()
        fault = {"lost": int(text[0]), "passed": int(text[1])} if len(text) == 2 else None
        if not fault or not 0.03 < fault["lost"] / max(1, fault["lost"] + fault["passed"]) < 0.07:
            bad.append("it were not 5 % that was lost")
    busy, rig = shares(work)
    if condition == "busy" and (busy is None or busy < 95):
        bad.append("the cores were not busy")
    if not readback_is(work, pair):
        bad.append("corosync runs at other timeouts")
    log = lines(work, "log")
    return {"part": "watch", "condition": condition, "pair": pair, "seconds": round((t1 - t0) / NS, 1),
            "batch": int(batch), "rigs_beside": int(beside), "lost": sum(bool(i["lost"]) for i in found),
            "lost_by_quorate": sum(bool(set(i["missed_by"]) - set(i["without_quorum"])) for i in found),
            "anew": sum(not i["lost"] for i in found), "incidents": found, "fault": fault,
            "corosync_log": {k: sum(bool(re.search(p, l)) for l in log) for k, p in LOG.items()},
            "cpu_busy_pct": busy, "cpu_rig_pct": rig, "ok": not bad, "bad": bad}


def machine(commit):
    cpu = next((l.partition(":")[2].strip() for l in lines("/proc/cpuinfo") if l.startswith("model name")), "?")
    name = next((l.partition("=")[2].strip('"') for l in lines("/etc/os-release") if l.startswith("PRETTY_NAME")), "?")
    corosync = re.search(r"version '([^']*)'", os.popen("corosync -v 2>/dev/null").read())
    return {"part": "machine", "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
            "commit": commit or "?", "cores": os.cpu_count(), "cpu": cpu, "os": name,
            "kernel": platform.release(), "corosync": corosync.group(1) if corosync else "?"}


def words(r):
    tail = "" if r["ok"] else "  NOT JUDGED: " + ", ".join(r["bad"])
    if r["part"] == "cut":
        return "         cut %s run %d, %s: view after %s to %s ms%s" % (
            r["pair"], r["run"], r["victim"], r["first_ms"], r["last_ms"], tail)
    return "         %s %s, %.0f s: a live node lost %d times, %d of them by a quorate one, %d ring(s) formed anew; fault %s; log %s%s" % (
        r["condition"], r["pair"], r["seconds"], r["lost"], r["lost_by_quorate"], r["anew"], json.dumps(r["fault"]),
        json.dumps(r["corosync_log"]), tail)


def main():
    verb, rest = sys.argv[1], sys.argv[2:]
    if verb == "line":
        with open(rest[0]) as f:
            for line in f:
                print(words(json.loads(line)))
        return
    print(json.dumps({"machine": machine, "cut": cut, "watch": watch}[verb](*rest)))


main()
