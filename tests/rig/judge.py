#!/usr/bin/env python3
"""judge.py - the truth about a rig, from what the kernel says, not from what the product says.

  agree STATE NAME BIN NODE...   do all nodes say the same, and is it what the processes are?
                                 Exit 1 and a line for each difference.
  two PROC [SINCE]               was there an instant with two qemus of one VM? PROC is what
                                 `rigtool procwatch` wrote; violations since that rig time count.
  kills PROC EVENTS LOG BESIDE   how fast killed qemus were noticed and started again: EVENTS are
                                 `holdfast events --json` lines of their node, LOG its VM agent's, BESIDE what `ended` wrote
  ended PID                      writes when PID ended
  round PROC STATE SINCE         S1, S2 and S3 of what happened since (README.md)
  sample STATE BIN NODE...       writes what every node says of its state twice a second, until killed
  samples FILE SINCE             S4 of what `sample` wrote

Times are CLOCK_MONOTONIC in nanoseconds, which the whole machine shares.
"""
import calendar
import json
import os
import re
import select
import statistics
import subprocess
import sys
import time

GUEST = re.compile(r"-name guest=([^, ]+)")


def qemus_there(state, name, nodes):
    """{vm: [(node, pid)]} of every live qemu in the nodes' cgroups."""
    found = {}
    for node in nodes:
        try:
            with open("%s/cg/%s/%s/cgroup.procs" % (state, name, node)) as f:
                pids = f.read().split()
        except OSError:
            continue
        for pid in pids:
            try:
                with open("/proc/%s/cmdline" % pid, "rb") as f:
                    cmd = f.read().replace(b"\0", b" ").decode("utf-8", "replace")
            except OSError:
                continue
            guest = GUEST.search(cmd)
            if "qemu-system" in cmd.split(" ")[0] and guest:
                found.setdefault(guest.group(1), []).append((node, int(pid)))
    return found


def status_of(state, binary, node):
    try:
        with open("%s/node/%s/pid" % (state, node)) as f:
            socket = "/proc/%s/root/run/holdfast/ctl.sock" % f.read().strip()
        out = subprocess.run([binary + "/holdfast", "status", "--json", "--socket", socket],
                             capture_output=True, text=True, timeout=20)
        return json.loads(out.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None


def differences(statuses, there):
    for node, status in statuses.items():
        if status is None:
            yield "%s does not answer" % node
        elif status["group"]["phase"] != "synced":
            yield "%s is %s" % (node, status["group"]["phase"])
    if any(s is None or s["group"]["phase"] != "synced" for s in statuses.values()):
        return
    one = next(iter(statuses.values()))
    for key in ("seq", "epoch", "digest", "armed"):
        values = {n: s["group"].get(key) for n, s in statuses.items()}
        if len(set(values.values())) > 1 or None in values.values():
            yield "%s differs: %s" % (key, values)
    for node in one["nodes"]:
        if node["state"] != "member" or not node["vm_watch"]:
            yield "%s is %s%s" % (node["name"], node["state"], "" if node["vm_watch"] else ", its VMs not watched")
    said = {}
    for vm in one["vms"]:
        said[vm["name"]] = vm
        at = [n for n, _ in there.get(vm["name"], [])]
        want = [vm["node"]] if vm["state"] == "running" or (vm["state"] == "held" and vm["node"]) else []
        if vm["state"] in ("starting", "stopping", "placing", "waiting for proof"):
            yield "vm %s is %s" % (vm["name"], vm["state"])
        elif at != want:
            yield "vm %s is said to be %s on %s, its qemus are on %s" % (vm["name"], vm["state"], want, at)
        if vm["desire"] == "running" and vm["state"] == "stopped":
            yield "vm %s is wanted running and stopped" % vm["name"]
    for name, at in there.items():
        if name not in said:
            yield "a qemu of %s on %s, of which nobody knows" % (name, at)


def cmd_agree(state, name, binary, *nodes):
    statuses = {n: status_of(state, binary, n) for n in nodes}
    bad = list(differences(statuses, qemus_there(state, name, nodes)))
    for line in bad:
        print(line)
    return 1 if bad else 0


class Watch:
    """What procwatch saw: a life (node, pid, from, to) for each qemu, by VM."""

    def __init__(self, path):
        self.lives, self.execs, self.trouble = {}, [], []
        self.edges = []
        by_pid = {}
        with open(path) as f:
            for line in f:
                try:
                    e = json.loads(line)
                except ValueError:
                    continue            # being written
                if e["ev"] == "overrun":
                    self.trouble.append(e["t"])
                elif e["ev"] == "exec":
                    self.execs.append(e)
                    guest = GUEST.search(e["cmd"])
                    if guest and "qemu-system" in e["cmd"].split(" ")[0]:
                        life = [e["node"], e["pid"], e["t"], None]
                        self.lives.setdefault(guest.group(1), []).append(life)
                        by_pid[e["pid"]] = life
                        self.edges.append(e["t"])
                elif e["ev"] == "exit" and e["pid"] in by_pid:
                    by_pid.pop(e["pid"])[3] = e["t"]
                    self.edges.append(e["t"])

    def twos(self, since):
        for vm, lives in self.lives.items():
            for i, a in enumerate(lives):
                for b in lives[i + 1:]:
                    until = min(x[3] or 1 << 62 for x in (a, b))
                    begin = max(a[2], b[2])
                    if begin < until and until > since:
                        yield "TWO of %s: pid %d on %s and pid %d on %s from %d for %s" % (
                            vm, a[1], a[0], b[1], b[0], begin,
                            "ever" if until == 1 << 62 else "%.3f ms" % ((until - begin) / 1e6))


def cmd_two(path, since="0"):
    watch = Watch(path)
    since = int(since)
    bad = list(watch.twos(since))
    bad += ["the watch lost events at %d: nothing can be said" % t for t in watch.trouble if t > since]
    for line in bad:
        print(line)
    if not bad:
        print("%d edges" % sum(t > since for t in watch.edges))
    return 1 if bad else 0


def agent_stamps(path):
    """When the agent wrote that a qemu ended, on the monotonic clock; its stamps are cut to a
    millisecond, so the latest instant that fits."""
    offset = time.clock_gettime_ns(time.CLOCK_REALTIME) - time.monotonic_ns()
    with open(path) as f:
        for line in f:
            m = re.match(r"(\S+)\.(\d{3})Z .* vm=\S+ pid \d+ ended:", line)
            if m:
                wall = calendar.timegm(time.strptime(m.group(1), "%Y-%m-%dT%H:%M:%S"))
                yield wall * 10**9 + (int(m.group(2)) + 1) * 10**6 - offset


def first_after(stamps, t):
    return min((x for x in stamps if x >= t), default=None)


def cmd_ended(pid):
    """A bare watcher: when does a process like ours get to know? What the machine itself takes."""
    fd = os.pidfd_open(int(pid))
    print("ready %s" % pid, flush=True)
    select.select([fd], [], [])
    print("ended %d" % time.monotonic_ns(), flush=True)
    return 0


LATE_MS = 5


def is_late(rows):
    """(verdict, words) of rows (noticed, bare watcher, ...) in ms. What counts is the time until the agent noticed. Only
    where the bare watcher itself, so the machine, took longer than that, it is what came on top of it."""
    noticed, bare = (statistics.median(row[k] for row in rows) for k in (0, 1))
    if noticed <= LATE_MS:
        return False, ""
    each = ", ".join("%.1f/%.1f" % (row[0], row[1]) for row in rows)
    more = statistics.median(row[0] - row[1] for row in rows)
    if bare > LATE_MS and more <= LATE_MS:
        return False, "the machine itself took longer than %d ms: judged by the %.1f ms on top of it (%s)" % (LATE_MS, more, each)
    return True, "noticed later than %d ms: %s" % (LATE_MS, each)


def cmd_kills(path, events, log, beside):
    watch = Watch(path)
    with open(events) as f:
        records = [json.loads(line) for line in f if line.strip()]
    agreed = [r["monotonic_ns"] for r in records if r.get("kind") == "change" and r.get("why") == "crashed"]
    said = list(agent_stamps(log))
    with open(beside) as f:
        bare = [int(line.split()[1]) for line in f if line.startswith("ended")]
    rows = []
    for lives in watch.lives.values():
        for old, new in zip(lives, lives[1:]):
            stamps = [first_after(x, old[3] or 0) for x in (said, bare, agreed)] + [new[2]]
            if None in stamps or old[0] != new[0]:
                print("a kill of pid %d on %s was not noticed, or not made good there" % (old[1], old[0]))
                return 1
            rows.append([(t - old[3]) / 1e6 for t in stamps])
    if len(rows) < 5:
        print("only %d kills seen" % len(rows))
        return 1
    middle = [statistics.median(column) for column in zip(*rows)]
    print("noticed after %.1f ms (a bare watcher beside: %.1f ms), agreed after %.1f ms, new qemu after %.1f ms, median of %d"
          % (*middle, len(rows)))
    late, words = is_late(rows)
    if words:
        print(words)
    return 1 if late else 0


# ---- rounds ------------------------------------------------------------------------------------
class Quorum:
    """What corosync on each node said of its quorum and members, as quorumwatch wrote it down."""
    LINE = re.compile(r"^(\d+) (n\d+) (quorum|nodes) quorate=(-?\d+) members=([\d,]*)")

    def __init__(self, state, nodes):
        self.says = {n: [] for n in nodes}
        for node in nodes:
            try:
                with open("%s/node/%s/log/quorum" % (state, node)) as f:
                    for line in f:
                        m = self.LINE.match(line)
                        if m and m.group(3) == "quorum":
                            members = frozenset("n" + x for x in m.group(5).split(",") if x)
                            self.says[node].append((int(m.group(1)), m.group(4) == "1", members))
            except OSError:
                pass

    def was_quorate(self, node, begin, end):
        """At some instant in between, or just before and not changed since."""
        last = None
        for t, quorate, _ in self.says[node]:
            if t <= begin:
                last = quorate
            elif t <= end and quorate:
                return True
        return bool(last)

    def members(self, node, t):
        last = frozenset()
        for at, _, members in self.says[node]:
            if at <= t:
                last = members
        return last


# The product and quorumwatch are told of a lost quorum by two processes' clocks: one that had begun
# to act within this time before it was told did not know.
TOLD_NS = 150_000_000


def rig_events(state):
    with open(state + "/events") as f:
        for line in f:
            t, _, what = line.strip().partition(" ")
            yield int(t), what


def cmd_round(path, state, since):
    since = int(since)
    watch = Watch(path)
    nodes = sorted(os.listdir(state + "/node"))
    quorum = Quorum(state, nodes)
    bad = ["S1 " + line for line in watch.twos(since)]
    bad += ["the watch lost events" for t in watch.trouble if t > since]
    ends = {n: [] for n in nodes}
    confirmed = []
    for t, what in rig_events(state):
        words = what.split()
        if words[0] in ("dead", "end") and words[1] in ends:
            ends[words[1]].append(t)
        if words[0] == "confirm":
            confirmed.append((t, words[1]))
    checked = 0
    for vm, lives in watch.lives.items():
        for old, new in zip(lives, lives[1:]):
            if new[2] <= since or old[0] == new[0]:
                continue
            checked += 1
            was_there = old[0] in quorum.members(new[0], new[2])
            is_off = any(old[2] < t < new[2] for t in ends[old[0]])
            if not was_there and not is_off:
                bad.append("S2 %s started on %s at %d: %s was out of the group and not off" % (vm, new[0], new[2], old[0]))
    acts = 0
    for e in watch.execs:
        if e["t"] <= since or e["node"] not in nodes:
            continue
        is_start = "qemu-system" in e["cmd"].split(" ")[0] and GUEST.search(e["cmd"])
        is_fence = "ipmitool" in e["cmd"].split(" ")[0] and "chassis power off" in e["cmd"]
        if is_start or is_fence:
            acts += 1
            if not quorum.was_quorate(e["node"], e["t"] - TOLD_NS, e["t"]):
                bad.append("S3 %s acted at %d without quorum: %s" % (e["node"], e["t"], e["cmd"][:80]))
    for line in bad:
        print(line)
    if not bad:
        print("%d edges, %d moves, %d acts" % (sum(t > since for t in watch.edges), checked, acts))
    return 1 if bad else 0


def cmd_sample(state, binary, *nodes):
    """A JSON line a node each half second, until killed."""
    while True:
        for node in nodes:
            status = status_of(state, binary, node)
            if status and status["group"]["phase"] == "synced":
                group = status["group"]
                print(json.dumps({"t": time.monotonic_ns(), "node": node, "epoch": group["epoch"],
                                  "seq": group["seq"], "digest": group["digest"]}), flush=True)
        time.sleep(0.5)


def cmd_samples(path, since):
    """S4: whoever is at the same place in the same history has the same state."""
    digests, count = {}, 0
    with open(path) as f:
        for line in f:
            try:
                s = json.loads(line)
            except ValueError:
                continue
            if s["t"] > int(since):
                count += 1
                digests.setdefault((s["epoch"], s["seq"]), {}).setdefault(s["digest"], s["node"])
    bad = [(place, by) for place, by in digests.items() if len(by) > 1]
    for place, by in bad:
        print("S4 epoch %d seq %d has the digests %s" % (place[0], place[1], by))
    if not bad:
        print("%d samples of %d states" % (count, len(digests)))
    return 1 if bad else 0


COMMANDS = {"agree": cmd_agree, "two": cmd_two, "kills": cmd_kills, "ended": cmd_ended, "round": cmd_round,
            "sample": cmd_sample, "samples": cmd_samples}
if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] not in COMMANDS:
        sys.exit(__doc__)
    sys.exit(COMMANDS[sys.argv[1]](*sys.argv[2:]))
