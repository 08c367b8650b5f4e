#!/usr/bin/env python3
"""Checks that judge.py can say no: made-up observations in, expected judgement out.

A judge that cannot find anything proves nothing. Last line: "NN checks, N failed".
"""
import contextlib
import io
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import judge  # noqa: E402

MS = 1000000
count = failed = 0


def check(what, condition):
    global count, failed
    count += 1
    failed += not condition
    print(("ok   " if condition else "FAIL ") + what)


def qemu(pid, node, start, end=None, vm="web1"):
    cmd = "/usr/bin/qemu-system-x86_64 -name guest=%s,debug-threads=on" % vm
    life = [{"ev": "exec", "t": start * MS, "pid": pid, "node": node, "cmd": cmd}]
    if end is not None:
        life.append({"ev": "exit", "t": end * MS, "pid": pid, "code": 9})
    return life


def off(pid, node, t):
    cmd = "/usr/bin/ipmitool -I lanplus -H 10.77.2.101 chassis power off"
    return [{"ev": "exec", "t": t * MS, "pid": pid, "node": node, "cmd": cmd}]


def said(command, *args):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = command(*args)
    return code, out.getvalue()


def write(path, lines):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.writelines(lines)


def watch(folder, *lives, extra=()):
    events = sorted([e for life in lives for e in life] + list(extra), key=lambda e: e["t"])
    write(folder + "/proc", (json.dumps(e) + "\n" for e in events))
    return folder + "/proc"


def two(*lives, since=0, extra=()):
    with tempfile.TemporaryDirectory() as folder:
        return said(judge.cmd_two, watch(folder, *lives, extra=extra), str(since * MS))


def round_of(*lives, quorum, events=()):
    """quorum: (ms, node, quorate, members)"""
    with tempfile.TemporaryDirectory() as folder:
        proc = watch(folder, *lives)
        for node in ("n1", "n2", "n3"):
            write("%s/node/%s/log/quorum" % (folder, node),
                  ("%d %s quorum quorate=%d members=%s\n" % (t * MS, n, q, m) for t, n, q, m in quorum if n == node))
        write(folder + "/events", ("%d %s\n" % (t * MS, what) for t, what in events))
        return said(judge.cmd_round, proc, folder, "0")


def status(node, digest="a", home="n1", state="running", phase="synced", seq=7):
    return {"group": {"phase": phase, "seq": seq, "epoch": 1, "digest": digest, "armed": True},
            "nodes": [{"name": n, "state": "member", "vm_watch": True} for n in ("n1", "n2", "n3")],
            "vms": [{"name": "web1", "state": state, "desire": "running", "node": home}]}


def agree(there, **changes):
    statuses = {n: status(n) for n in ("n1", "n2", "n3")}
    statuses.update(changes)
    return list(judge.differences(statuses, there))


check("one after the other is fine", two(qemu(1, "n1", 10, 20), qemu(2, "n2", 21))[0] == 0)
check("and is counted", "3 edges" in two(qemu(1, "n1", 10, 20), qemu(2, "n2", 21))[1])
check("two at once on two nodes", two(qemu(1, "n1", 10, 20), qemu(2, "n2", 19.9))[0] == 1)
check("two at once on one node", two(qemu(1, "n1", 10, 20), qemu(2, "n1", 15, 16))[0] == 1)
check("two for ever", "for ever" in two(qemu(1, "n1", 10), qemu(2, "n2", 30))[1])
check("two VMs are no two", two(qemu(1, "n1", 10), qemu(2, "n2", 30, vm="web2"))[0] == 0)
check("two before the case are another case's", two(qemu(1, "n1", 10, 20), qemu(2, "n2", 15, 18), since=25)[0] == 0)
check("a watch with a gap says nothing", two(qemu(1, "n1", 10), extra=[{"ev": "overrun", "t": 11 * MS}])[0] == 1)

ALL = [(1, n, 1, "1,2,3") for n in ("n1", "n2", "n3")]
LOST = ALL + [(50, "n2", 1, "2,3"), (50, "n3", 1, "2,3"), (52, "n1", 0, "1")]
moved = (qemu(1, "n1", 10, 40), qemu(2, "n2", 60))
check("a move between members", round_of(*moved, quorum=ALL)[0] == 0)
check("S2: elsewhere while the old host is lost and not off", "S2" in round_of(*moved, quorum=LOST)[1])
check("S2: after it was off", round_of(*moved, quorum=LOST, events=[(55, "dead n1")])[0] == 0)
check("S2: off long before does not count", "S2" in round_of(*moved, quorum=LOST, events=[(5, "dead n1")])[1])
check("S1 in a round", "S1" in round_of(qemu(1, "n1", 10), qemu(2, "n2", 60), quorum=ALL)[1])
check("S3: a start without quorum", "S3" in round_of(qemu(1, "n1", 300), quorum=LOST)[1])
check("S3: a fence without quorum", "S3" in round_of(off(1, "n1", 300), quorum=LOST)[1])
check("S3: a fence by the majority", round_of(off(1, "n2", 300), quorum=LOST)[0] == 0)
check("S3: a node that never was quorate", "S3" in round_of(off(1, "n2", 300), quorum=[])[1])

check("all agree", not agree({"web1": [("n1", 5)]}))
check("a digest differs", agree({"web1": [("n1", 5)]}, n3=status("n3", digest="b")))
check("a node is behind", agree({"web1": [("n1", 5)]}, n3=status("n3", seq=6)))
check("a node does not answer", agree({"web1": [("n1", 5)]}, n3=None))
check("a node is frozen", agree({"web1": [("n1", 5)]}, n3=status("n3", phase="frozen")))
check("said to run and is not there", agree({}))
check("runs elsewhere than said", agree({"web1": [("n2", 5)]}))
check("runs twice", agree({"web1": [("n1", 5), ("n2", 6)]}))
check("a qemu nobody knows", agree({"web1": [("n1", 5)], "web9": [("n2", 6)]}))
check("still on its way", agree({}, **{n: status(n, state="starting") for n in ("n1", "n2", "n3")}))


def samples(*lines):
    with tempfile.TemporaryDirectory() as folder:
        keys = ("t", "node", "epoch", "seq", "digest")
        write(folder + "/samples", (json.dumps(dict(zip(keys, l))) + "\n" for l in lines))
        return said(judge.cmd_samples, folder + "/samples", "0")[0]


check("S4: equal states", samples((1, "n1", 1, 5, "a"), (2, "n2", 1, 5, "a"), (3, "n2", 1, 6, "b")) == 0)
check("S4: one place, two states", samples((1, "n1", 1, 5, "a"), (2, "n2", 1, 5, "b")) == 1)
check("S4: another epoch is another place", samples((1, "n1", 1, 5, "a"), (2, "n2", 2, 5, "b")) == 0)
check("a kill noticed in time", judge.is_late([(4, 1)] * 5) == (False, ""))
check("one noticed late, with a quick bare watcher beside", judge.is_late([(9, 4.9)] * 5)[0])
check("the machine was late: excused, and said", judge.is_late([(9, 6)] * 5)[0] is False and judge.is_late([(9, 6)] * 5)[1] != "")
check("the machine was late, and we far more", judge.is_late([(12, 6)] * 5)[0])
print("%d checks, %d failed" % (count, failed))
sys.exit(failed > 0)
