#!/usr/bin/env python3
"""Merges what the observers of one run saw into one JSON line; times are ms after the fault.

analyse.py WORK RIG_STATE RIG_NAME T0_NS VICTIM PRODUCT RUN FAULT LOAD

WORK holds: proc (exec and exit of every process, kernel stamps), quorum (membership as corosync
tells it), log and guest (lines stamped on arrival), marks (what to look for in log), own (Holdfast's
events, "NODE JSON"), qemus (who ran before and after), cpu (busy counters before the fault).
"""
import json
import os
import re
import sys

QEMU = re.compile(r"qemu-system\S* .*guest=vm1,")
FENCE = re.compile(r"(^|/| )fence_\w+( |$)")
HOST_FAULTS = ("powercut", "hang", "isolate", "powercut-ac")


def lines(*path):
    try:
        with open(os.path.join(*path), errors="replace") as f:
            return f.read().splitlines()
    except OSError:
        return []


def records(*path):
    for line in lines(*path):
        try:
            yield json.loads(line)
        except ValueError:
            continue                   # the observer is still writing this one


def first(times, t0):
    return min((t for t in times if t is not None and t > t0), default=None)


class Processes:
    """Every process of the rig's nodes, and every life of the VM's qemu."""

    def __init__(self, work, rig_name):
        del rig_name
        self.execs, self.exits, self.qemus, self.overruns = [], [], [], []
        alive, by_pid = {}, {}
        for line in lines(work, "qemus"):
            when, node, pid, vm = line.split()
            if when == "before" and vm == "vm1":
                alive[int(pid)] = {"start": 0, "end": None, "node": node, "pid": int(pid)}
        before = dict(alive)
        for e in records(work, "proc"):
            if e["ev"] == "overrun":
                self.overruns.append(e["t"])
            elif e["ev"] == "exec":
                e["end"] = e["code"] = None
                by_pid[e["pid"]] = e
                self.execs.append(e)
                if QEMU.search(e["cmd"]):
                    life = alive.setdefault(e["pid"], {"end": None, "node": e["node"], "pid": e["pid"]})
                    life["start"] = e["t"]
                    self.qemus.append(life)
            elif e["ev"] == "exit":
                if e["pid"] in by_pid:
                    by_pid[e["pid"]].update(end=e["t"], code=e["code"])
                if e["pid"] in alive:
                    alive.pop(e["pid"])["end"] = e["t"]
        self.qemus += [q for q in before.values() if q not in self.qemus]

    def double_run_ms(self, t0):
        """How long two qemus of the VM lived at once; a start during another's life counts, however
        short."""
        worst = 0.0
        for new in self.qemus:
            for old in self.qemus:
                if new is old or new["start"] <= t0 or old["start"] > new["start"]:
                    continue
                if old["end"] is None or old["end"] > new["start"]:
                    until = min(x for x in (old["end"], new["end"], new["start"] + 10**12) if x)
                    worst = max(worst, (until - new["start"]) / 1e6, 0.001)
        return worst


def fault_time(fault, victim, t0, rig_events, processes):
    """When the fault really happened: the rig's own stamp, or the kernel's of the qemu's end."""
    start = {"powercut": "power off " + victim, "powercut-ac": "power off " + victim, "hang": "pause " + victim, "isolate": "partition"}
    for t, what in rig_events:
        if fault in start and t >= t0 and what.startswith(start[fault]):
            return t
    return first((q["end"] for q in processes.qemus), t0) if fault == "qemukill" else t0


def own_stamps(work, victim, fault, t0):
    """Holdfast's own stamps of the phases, each pair taken on one node: the one that acted."""
    seen = {}                          # (name, node) -> ns
    for line in lines(work, "own"):
        node, _, text = line.partition(" ")
        try:
            e = json.loads(text)
            t = int(e["monotonic_ns"])
        except (ValueError, KeyError, TypeError):
            continue
        if t <= t0:
            continue
        kind, who = e.get("kind"), e.get("name")
        name = None
        if kind == "change" and who == victim:
            name = {"lost": "view", "fencing": "view", "dead": "proof"}.get(e.get("now"))
        elif kind == "change" and who == "vm1" and e.get("why") == "crashed":
            name = "noticed"
        elif kind == "progress":
            name = e.get("progress")
        if name:
            seen.setdefault((name, node), t)
    out = {}
    for name in ("noticed", "view", "fence-running", "proof", "start-requested"):
        out[name] = first([t for (n, _), t in seen.items() if n == name], t0)
    for step, begin, end in (("view_to_fence", "view", "fence-running"),
                             ("proof_to_start", "proof", "start-requested")):
        actor = min(((t, node) for (n, node), t in seen.items() if n == end), default=(None, None))[1]
        if actor and (begin, actor) in seen and fault in HOST_FAULTS:
            out[step] = (seen[end, actor] - seen[begin, actor]) / 1e6
    # every survivor has to wait: the first proof since the last of them knew of the loss
    known = [t for (n, node), t in seen.items() if n == "view" and node != victim]
    if fault == "powercut-ac" and out["proof"] and len(known) > 1:
        out["view_to_proof"] = (out["proof"] - max(known)) / 1e6
    return out


def membership(work, victim, t0):
    """The survivors' views without the victim: the first and the last of them to know."""
    gone = {}
    for line in lines(work, "quorum"):
        t, node, what, _, members = line.split()
        if what == "nodes" and int(t) > t0 and node != victim:
            if victim[1:] not in members.partition("=")[2].split(","):
                gone.setdefault(node, int(t))
    return (min(gone.values()), max(gone.values())) if gone else (None, None)


def phases(work, victim, fault, t0, rig_events, processes):
    out = dict.fromkeys(("view", "view_last", "noticed", "fence_exec", "bmc_off", "victim_dead", "proof",
                         "start_req", "qemu_exec", "guest_up"))
    logs = [(int(t), rest) for t, _, rest in (l.partition(" ") for l in lines(work, "log"))
            if t.isdigit() and int(t) > t0]
    marks = {}
    for mark in lines(work, "marks"):
        name, _, pattern = mark.partition("|")
        pattern = re.compile(pattern.replace("{V}", re.escape(victim)))
        marks[name] = first((t for t, line in logs if pattern.search(line)), t0)
    own = own_stamps(work, victim, fault, t0)
    new = [q for q in processes.qemus if q["start"] > t0]
    out["qemu_exec"] = first((q["start"] for q in new), t0)
    if fault in HOST_FAULTS:
        out["view"], out["view_last"] = membership(work, victim, t0)
        fences = [e for e in processes.execs
                  if FENCE.search(e["cmd"]) and e["t"] > t0 and e["node"] != victim]
        if marks.get("fence_begin"):   # others are routine checks of the device
            fences = [e for e in fences if e["t"] > marks["fence_begin"] - 50e6]
        elif out["view"]:
            fences = [e for e in fences if e["t"] >= out["view"]]
        out["fence_exec"] = first((e["t"] for e in fences), t0)
        good = [e["end"] for e in fences if e["end"] and e["code"] == 0
                and out["qemu_exec"] and e["end"] < out["qemu_exec"]]
        out["proof"] = own["proof"] or marks.get("fence_ok") or (max(good) if good else None)
        out["bmc_off"] = first((t for t, w in rig_events
                                if w.startswith("bmc %s set power 0" % victim)), t0)
        out["victim_dead"] = first((t for t, w in rig_events if w == "dead " + victim), t0)
    else:
        out["noticed"] = own["noticed"] or marks.get("noticed")
    starts = (e["t"] for e in processes.execs
              if re.search(r"(virsh .*\bcreate\b|/VirtualDomain start)", e["cmd"]))
    out["start_req"] = own["start-requested"] or first(starts, t0)
    out["guest_up"] = first((int(l.split()[0]) for l in lines(work, "guest") if "GUEST-UP" in l), t0)
    return out, {k: own[k] for k in ("view_to_fence", "view_to_proof", "proof_to_start") if k in own}, new


def cpu_of_others(work, state, rig_name):
    """Share of the machine that neither idled nor went to this rig, during the run, in per cent."""
    busy0, idle0 = map(float, lines(work, "cpu")[0].split())
    rig0 = float(lines(work, "cpu")[1])
    c = list(map(float, lines("/proc/stat")[0].split()[1:]))
    busy1, idle1 = sum(c[0:3]) + sum(c[4:8]), c[3]
    usage = lines(state, "cg", rig_name, "cpu.stat")
    rig1 = float(next(l.split()[1] for l in usage if l.startswith("usage_usec")))
    rig = (rig1 - rig0) / 1e6 * os.sysconf("SC_CLK_TCK")
    return round(100 * (busy1 - busy0 - rig) / max(1.0, busy1 - busy0 + idle1 - idle0))


def watchdog(work):
    """What the group said of the victim's watchdog before the fault; None: nothing."""
    said = [int(x) for x in " ".join(lines(work, "watchdog")).split() if x.isdigit()]
    return dict(zip(("timeout_ms", "lease_ms", "safe_ms"), said)) if len(said) == 3 else None


def main():
    work, state, rig_name, t0, victim, product, run, fault, load = sys.argv[1:10]
    t0 = int(t0)
    processes = Processes(work, rig_name)
    rig_events = [(int(t), what) for t, _, what in (l.partition(" ") for l in lines(state, "events"))]
    began, t0 = t0, fault_time(fault, victim, t0, rig_events, processes)
    bad = []
    if t0 is None:
        t0, bad = began, ["the fault was not seen"]
    out, own, new = phases(work, victim, fault, t0, rig_events, processes)
    double = processes.double_run_ms(t0)
    after = [l for l in lines(work, "qemus") if l.startswith("after") and l.endswith(" vm1")]
    if out["guest_up"] is None:
        bad.append("not back")
    if double:
        bad.append("two at once for %.1f ms" % double)
    if len(after) != 1:
        bad.append("%d qemus at the end" % len(after))
    if fault == "powercut-ac" and not watchdog(work):
        bad.append("nothing was said of the watchdog")
    if any(t > began for t in processes.overruns):
        bad.append("observer overrun")
    if fault == "hang" and out["victim_dead"] is None:
        bad.append("the hung host was never powered off")
    print(json.dumps({
        "product": product, "fault": fault, "run": int(run), "victim": victim,
        "survivor": new[0]["node"] if new else None, "token": os.environ.get("TOKEN"),
        "consensus": os.environ.get("CONSENSUS"), "load1": float(load),
        "cpu_others_pct": cpu_of_others(work, state, rig_name),
        "ms": {k: None if v is None else round((v - t0) / 1e6, 1) for k, v in out.items()},
        "own_ms": {k: round(v, 2) for k, v in own.items()},
        "watchdog": watchdog(work), "qemu_execs": len(new),
        "double_run_ms": round(double, 3), "ok": not bad, "bad": bad}))


main()
