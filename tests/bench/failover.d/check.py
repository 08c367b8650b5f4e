#!/usr/bin/env python3
"""Checks that analyse.py and verdict.py can say no: made-up observations in, expected judgement out.

A bench whose judge cannot fail proves nothing. Last line: "NN checks, N failed".
"""
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
MS = 1000000
T0 = 1000 * MS
count = failed = 0


def check(what, condition):
    global count, failed
    count += 1
    failed += not condition
    print(("ok   " if condition else "FAIL ") + what)


def process(pid, node, cmd, start, end=None, code=0):
    yield {"ev": "exec", "t": start, "pid": pid, "node": node, "cmd": cmd}
    if end is not None:
        yield {"ev": "exit", "t": end, "pid": pid, "code": code}


def qemu(pid, node, start, end=None):
    return list(process(pid, node, "/usr/bin/qemu-system-x86_64 -name guest=vm1,debug", start, end, 9))


def at(ms):
    return T0 + ms * MS


def analyse(fault, events, proc, after=("n2 20 vm1",), own=(), guest=2600, before=(), watchdog=""):
    with tempfile.TemporaryDirectory() as work:
        state = os.path.join(work, "state")
        os.makedirs(os.path.join(state, "cg", "r"))
        files = {
            "proc": "".join(json.dumps(e) + "\n" for e in sorted(proc, key=lambda e: e["t"])),
            "qemus": "".join("before %s\n" % l for l in before) + "".join("after %s\n" % l for l in after),
            "quorum": "%d n2 nodes quorate=-1 members=2,3\n" % at(2000),
            "log": "", "marks": "", "watchdog": watchdog, "cpu": "0 0\n0\n",
            "own": "".join("%s %s\n" % (n, json.dumps(e)) for n, e in own),
            "guest": "%d guest GUEST-UP\n" % at(guest) if guest else "",
            "state/events": "".join("%d %s\n" % e for e in events),
            "state/cg/r/cpu.stat": "usage_usec 0\n",
        }
        for name, text in files.items():
            with open(os.path.join(work, name), "w") as f:
                f.write(text)
        out = subprocess.run([sys.executable, HERE + "/analyse.py", work, state, "r", str(T0), "n1",
                              "holdfast", "1", fault, "0.1"], capture_output=True, text=True, check=True)
        return json.loads(out.stdout)


def verdict(runs):
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as f:
        f.write("".join(json.dumps(r) + "\n" for r in runs))
        f.flush()
        out = subprocess.run([sys.executable, HERE + "/verdict.py", f.name], capture_output=True, text=True)
        return out.returncode, out.stdout.strip().splitlines()[-1] + out.stderr


W5 = {"timeout_ms": 5000, "lease_ms": 3000, "safe_ms": 14130}


def run(product, fault, qemu_ms, ok=True, view_to_fence=3.0, proof_to_start=2.0, view_to_proof=None, watchdog=None):
    own = {"view_to_fence": view_to_fence, "proof_to_start": proof_to_start, "view_to_proof": view_to_proof}
    own = {k: v for k, v in own.items() if v is not None and product == "holdfast"}
    return {"product": product, "fault": fault, "run": 1, "token": "1000", "consensus": "1200",
            "cpu_others_pct": 1, "ms": {"qemu_exec": qemu_ms, "view": 2200.0}, "watchdog": watchdog, "own_ms": own, "ok": ok,
            "bad": [] if ok else ["two at once for 5.0 ms"]}


CUT = [(at(1), "power off n1"), (at(30), "dead n1")]
AGENT = list(process(15, "n2", "/usr/bin/python3 /usr/sbin/fence_ipmilan", at(2010), at(2200)))
GOOD = qemu(10, "n1", at(-9000), at(20)) + AGENT + qemu(20, "n2", at(2300))

r = analyse("powercut", CUT, GOOD)
check("a clean recovery is good", r["ok"])
check("the fault is the rig's stamp, not the bench's", r["ms"]["qemu_exec"] == 2299.0)
check("view, fence start and proof are found",
      (r["ms"]["view"], r["ms"]["fence_exec"], r["ms"]["proof"]) == (1999.0, 2009.0, 2199.0))
r = analyse("powercut", CUT, qemu(10, "n1", at(-9000), at(2310)) + AGENT + qemu(20, "n2", at(2300)))
check("a start 10 ms before the old one's end is bad", not r["ok"] and r["double_run_ms"] == 10)
r = analyse("powercut", CUT, GOOD + qemu(21, "n3", at(2400), at(2450)))
check("a second start that gave up is bad", not r["ok"] and r["double_run_ms"] > 0)
r = analyse("powercut", CUT, AGENT + qemu(20, "n2", at(2300)), before=["n1 10 vm1"])
check("an old one whose end nobody saw is bad", not r["ok"])
r = analyse("powercut", CUT, GOOD, after=("n2 20 vm1", "n3 30 vm1"))
check("two at the end are bad", not r["ok"])
r = analyse("powercut", CUT, GOOD, guest=None)
check("a guest that never came up is bad", not r["ok"])
r = analyse("powercut", CUT, GOOD + [{"ev": "overrun", "t": at(100)}])
check("an observer that lost events is bad", not r["ok"])
r = analyse("hang", [(at(1), "pause n1")], GOOD)
check("a hung host that kept its power is bad", not r["ok"])
r = analyse("qemukill", [], qemu(10, "n1", at(-9000), at(3)) + qemu(20, "n1", at(40)), after=("n1 20 vm1",))
check("a killed qemu counts from its end", r["ok"] and r["ms"]["qemu_exec"] == 37)


def change(ms, name, now, **more):
    return dict(kind="change", monotonic_ns=at(0) + int(ms * MS), name=name, now=now, **more)


def progress(ms, what, name):
    return dict(kind="progress", monotonic_ns=at(0) + int(ms * MS), name=name, progress=what)


OWN = [("n3", change(1990, "n1", "lost")), ("n2", change(2001, "n1", "lost")),
       ("n2", progress(2004.5, "fence-running", "n1")), ("n3", change(2199, "n1", "dead")),
       ("n2", change(2200, "n1", "dead")), ("n2", progress(2202, "start-requested", "vm1"))]
r = analyse("powercut", CUT, GOOD, own=OWN)
check("own steps are taken on the node that acted", r["own_ms"] == {"view_to_fence": 3.5, "proof_to_start": 2.0})

ALL = [run("floor", "powercut", 2400), run("floor", "hang", 2400), run("holdfast", "powercut", 2540),
       run("holdfast", "hang", 2500), run("holdfast", "qemukill", 70)]
code, line = verdict(ALL)
check("all within budget passes", code == 0 and line.startswith("verdict: PASS"))
for what, bad in (("slow after a power cut", run("holdfast", "powercut", 2560)),
                  ("slow after a hang", run("holdfast", "hang", 2560)),
                  ("slow after a kill", run("holdfast", "qemukill", 81)),
                  ("a double run", run("holdfast", "hang", 2500, ok=False))):
    others = [x for x in ALL if (x["product"], x["fault"]) != ("holdfast", bad["fault"])]
    code, line = verdict(others + [bad])
    check(what + " fails", code == 1 and line.startswith("verdict: FAIL"))
for key in ("view_to_fence", "proof_to_start"):
    for value in (10.1, None):
        runs = [run("floor", "powercut", 2400), run("holdfast", "powercut", 2400, **{key: value})]
        code, line = verdict(runs)
        check("%s of %s fails" % (key, value), code == 1)
def watchdog_time(qemu_ms, view_to_proof=14131.0, **more):
    return verdict([run("holdfast", "powercut-ac", qemu_ms, view_to_proof=view_to_proof, **dict({"watchdog": W5}, **more))])


code, line = watchdog_time(2200 + 14130 + 100)
check("watchdog time is judged without a floor", code == 0 and line.startswith("verdict: PASS"))
code, line = watchdog_time(2200 + 14130 + 151)
check("151 ms after T_safe is late", code == 1 and "MISSED" in line)
code, line = watchdog_time(2200 + 14129)
check("a qemu before T_safe fails", code == 1)
code, line = watchdog_time(2200 + 14230, view_to_proof=14129.9)
check("a proof before T_safe fails", code == 1)
code, line = watchdog_time(2200 + 14230, view_to_proof=None)
check("a proof that nobody stamped fails", code == 1)
code, line = watchdog_time(2200 + 14230, watchdog=dict(W5, safe_ms=14129))
check("an attested T_safe below the arithmetic fails", code == 1)
r = analyse("powercut-ac", CUT, GOOD, own=OWN)
check("a dead BMC without a word on the watchdog is bad", not r["ok"])
r = analyse("powercut-ac", CUT, GOOD, own=OWN, watchdog="5000 3000 14130\n")
check("the wait begins when the last survivor knows", r["ok"] and r["own_ms"]["view_to_proof"] == 198.0)
code, line = verdict(ALL + [{"product": "holdfast", "run": 2, "broke_off": True}])
check("a run that broke off fails", code == 1)
code, line = verdict([run("floor", "powercut", 2400)])
check("nothing to judge is not a pass", code == 3)
print("%d checks, %d failed" % (count, failed))
sys.exit(failed > 0)
