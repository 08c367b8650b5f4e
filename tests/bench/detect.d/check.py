#!/usr/bin/env python3
"""Checks that detect's judges can say no: made-up observations in, expected judgement out.

Last line: "NN checks, N failed".
"""
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
S = 10**9
T0 = 1000 * S
count = failed = 0


def check(what, condition):
    global count, failed
    count += 1
    failed += not condition
    print(("ok   " if condition else "FAIL ") + what)


def nodes(s, node, members):
    return "%d %s nodes quorate=-1 members=%s" % (T0 + int(s * S), node, members)


def quorum(s, node, quorate):
    return "%d %s quorum quorate=%d members=1" % (T0 + int(s * S), node, quorate)


def all_nodes(s, members, who=("n1", "n2", "n3")):
    return [nodes(s + i / 1000, n, members) for i, n in enumerate(who)]


def analyse(verb, seen, *args, readback=(1000, 1200), busy=99, **more):
    with tempfile.TemporaryDirectory() as work:
        files = {"quorum": "\n".join(all_nodes(-9, "1,2,3") + list(seen)) + "\n",
                 "readback": "%d\n%d\n" % readback, "cpu0": "0 0 0\n", "cpu1": "%d %d 0\n" % (busy, 100 - busy),
                 "events": "%d power off n3\n" % (T0 + 1000)}
        files.update(more)
        for name, text in files.items():
            with open(os.path.join(work, name), "w") as f:
                f.write(text)
        args = [work if a == "WORK" else a for a in args]
        if verb == "cut":
            args.insert(1, os.path.join(work, "events"))
        out = subprocess.run([sys.executable, HERE + "/analyse.py", verb] + args, capture_output=True,
                             text=True, check=True)
        return json.loads(out.stdout)


def cut(seen, **more):
    return analyse("cut", seen, "WORK", "1000/1200", "3", "n3", str(T0), **more)


def watch(seen, condition="busy", **more):
    return analyse("watch", seen, "WORK", condition, "1000/1200", str(T0), str(T0 + 60 * S), "1", "3", **more)


r = cut(all_nodes(2.1, "1,2", ("n1", "n2")))
check("a cut that both survivors saw is good", r["ok"] and (r["first_ms"], r["last_ms"]) == (2100, 2101))
r = cut([nodes(2.1, "n1", "1,2")])
check("a cut that one survivor saw is bad", not r["ok"])
r = cut(all_nodes(2.1, "1,2", ("n1", "n2")) + [nodes(2.5, "n1", "1")])
check("a cut that cost a survivor is bad", not r["ok"])
r = cut(all_nodes(2.1, "1,2", ("n1", "n2")), readback=(1000, 500))
check("corosync at other timeouts is bad", not r["ok"])
r = cut(all_nodes(2.1, "1,2", ("n1", "n2")), events="")
check("a cut that the rig did not make is bad", not r["ok"])

r = watch([])
check("nothing seen is no change", r["ok"] and (r["lost"], r["anew"]) == (0, 0))
r = watch(all_nodes(5, "1,2", ("n1", "n2")) + [quorum(5.1, "n3", 0), nodes(5.1, "n3", "3")] + all_nodes(6, "1,2,3"))
check("a lost and found node is one incident",
      (r["lost"], r["lost_by_quorate"], r["anew"]) == (1, 1, 0) and r["incidents"][0]["without_quorum"] == ["n3"])
r = watch([nodes(5, "n3", "3")] + all_nodes(6, "1,2,3"))
check("a view of one node only is a change", r["lost"] == 1)
r = watch([nodes(5, "n3", "3"), quorum(5, "n3", 0)] + all_nodes(6, "1,2,3"))
check("a node that misses the others and has no quorum shoots nobody", (r["lost"], r["lost_by_quorate"]) == (1, 0))
r = watch(all_nodes(5, "1,2,3"))
check("the same members in a new ring are a change of their own kind", (r["lost"], r["anew"]) == (0, 1))
r = watch(all_nodes(5, "1,2") + all_nodes(6, "1,2,3") + all_nodes(9, "1,2") + all_nodes(10, "1,2,3"))
check("two losses that are apart are two incidents", r["lost"] == 2)
r = watch([nodes(5, "n1", "1,2"), nodes(50, "n1", "1,2,3")])
check("however long it lasts, it is one incident", r["lost"] == 1)
r = watch([], busy=80)
check("idle cores are not busy ones", not r["ok"])
r = watch([], bad="a corosync ended\n")
check("a complaint is kept", not r["ok"])
check("stalls that never came are bad", not watch([], "stall")["ok"])
STALLS = "".join("%d %d 0\n" % (T0 + k * S, T0 + k * S + int(0.801 * S)) for k in range(5))
check("stalls of 0.8 x token are good", watch([], "stall", stalls=STALLS)["ok"])
check("a stall of 0.9 x token is bad",
      not watch([], "stall", stalls=STALLS + "%d %d 0\n" % (T0, T0 + int(0.9 * S)))["ok"])
check("loss of 5 % is good", watch([], "loss", loss="50 950\n")["ok"])
check("loss that never came is bad", not watch([], "loss", loss="0 950\n")["ok"])


def verdict(runs):
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as f:
        f.write("".join(json.dumps(r) + "\n" for r in runs))
        f.flush()
        out = subprocess.run([sys.executable, HERE + "/verdict.py", f.name], capture_output=True, text=True)
        return out.returncode, out.stdout.strip().splitlines()[-1] + out.stderr


def watched(pair, condition, lost=0, anew=0, ok=True):
    return {"part": "watch", "condition": condition, "pair": pair, "seconds": 1800, "batch": 1, "rigs_beside": 3,
            "lost": lost, "lost_by_quorate": lost, "anew": anew, "cpu_busy_pct": 20, "cpu_rig_pct": 3, "ok": ok, "bad": [] if ok else ["x"]}


def of(pair, ms, **changed):
    runs = [{"part": "cut", "pair": pair, "run": 1, "first_ms": ms, "last_ms": ms, "ok": True, "bad": []}]
    for c in ("control", "busy", "stall", "loss"):
        runs.append(watched(pair, c, **changed.get(c, {})))
    return runs


SAFE = of("1000/1200", 2100)
code, line = verdict(SAFE + of("500/200", 680))
check("the quickest clean pair is named", code == 0 and "fast profile: 500/200," in line)
for condition in ("control", "busy", "stall", "loss"):
    code, line = verdict(SAFE + of("500/200", 680, **{condition: {"lost": 1}}))
    check("a live node lost under %s and it is not" % condition, code == 0 and "1000/1200," in line)
code, line = verdict(SAFE + of("500/200", 680, stall={"anew": 300}))
check("rings formed anew are told", code == 0 and "500/200," in line and "300 rings formed anew" in line)
code, line = verdict(SAFE + of("500/200", 680, control={"anew": 1}))
check("in peace not even that may be", code == 0 and "1000/1200," in line)
code, line = verdict(of("500/200", 680, busy={"lost": 1}))
check("no clean pair is a failure", code == 1 and "NONE" in line)
code, line = verdict(SAFE + of("500/200", 680, loss={"ok": False}))
check("a run that is not judged is said", code == 3 and "1000/1200," in line)
code, line = verdict([r for r in SAFE if r.get("condition") != "stall"])
check("a condition that is missing is no pass", code == 3 and "NONE" in line)
code, line = verdict(SAFE + [{"part": "watch", "condition": "busy", "pair": "1000/1200", "broke_off": True}])
check("a run that broke off is said", code == 3)
print("%d checks, %d failed" % (count, failed))
sys.exit(failed > 0)
