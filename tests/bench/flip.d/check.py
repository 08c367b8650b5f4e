#!/usr/bin/env python3
"""Checks that verdict.py can say no: made-up flips in, expected judgement out.

A bench whose judge cannot fail proves nothing. Last line: "NN checks, N failed".
"""
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
count = failed = 0


def check(what, condition):
    global count, failed
    count += 1
    failed += not condition
    print(("ok   " if condition else "FAIL ") + what)


def verdict(flips):
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as f:
        f.write("".join(json.dumps(r) + "\n" for r in flips))
        f.flush()
        out = subprocess.run([sys.executable, HERE + "/verdict.py", f.name], capture_output=True, text=True)
        return out.returncode, out.stdout + out.stderr


def flip(way, fault, gap, ordered=None, **more):
    made = {"way": way, "fault": fault, "flip": 1, "from": "a", "bfd_ms": 10, "t0": 0, "gap_ms": gap, "lost": 3,
            "meter_ms": 1.1, "tcp": "alive", "never": False, "judged_ms": ordered, "ordered_ms": ordered,
            "outcome": "flipped" if ordered else None, "method": "guest" if ordered else None,
            "same_qemu": True, "load1": 0.1, "cpu_pct": 10}
    made.update(more)
    return made


GOOD = [flip("helper", "told", 10, 2.0), flip("holdfast", "told", 25, 2.1), flip("helper", "untold", 11, 2.2),
        flip("helper", "silent", 40, 33), flip("miimon20", "told", 15), flip("miimon100", "told", 60),
        flip("miimon100", "silent", 3000, never=True), flip("arp100", "silent", 260)]
code, text = verdict(GOOD)
last = text.strip().splitlines()[-1]
check("all within budget passes", code == 0 and last.startswith("verdict: PASS"))
check("an alternative that never notices is told so", "never" in text)
check("three figures are judged", last.count("<=") == 3)
for what, bad in (("a late order after a carrier loss", flip("helper", "untold", 11, 5.1)),
                  ("a late order without the helper", flip("holdfast", "told", 25, 5.1)),
                  ("a late order after a silent death", flip("helper", "silent", 40, 35.1)),
                  ("traffic that never came back", flip("helper", "told", 3000, 2.0, never=True)),
                  ("another qemu", flip("helper", "told", 10, 2.0, same_qemu=False)),
                  ("a broken TCP connection", flip("holdfast", "silent", 50, 33, tcp="ended")),
                  ("a flip that was told as failed", flip("helper", "told", 10, 2.0, outcome="failed")),
                  ("a flip nobody told of", flip("helper", "told", 10)),
                  ("a flip that broke off", {"way": "helper", "fault": "told", "flip": 2, "broke_off": True})):
    code, text = verdict(GOOD + [bad])
    check(what + " fails", code == 1 and text.strip().splitlines()[-1].startswith("verdict: FAIL"))
code, text = verdict([f for f in GOOD if (f["way"], f["fault"]) != ("helper", "told")] + [flip("helper", "told", 12.1, 2)])
check("a gap above a fifth of miimon 100's fails", code == 1 and "MISSED" in text)
many = [flip("helper", "told", 10, 2.0) for _ in range(99)] + [flip("miimon100", "told", 60)]
check("one late order in a hundred passes", verdict(many + [flip("helper", "told", 10, 9.0)])[0] == 0)
check("two in a hundred fail", verdict(many + [flip("helper", "told", 10, 9.0)] * 2)[0] == 1)
check("a guest that moved by itself needs no order", verdict(GOOD + [flip("helper", "told", 10, outcome="already")])[0] == 0)
check("nothing of ours is not judged", verdict([flip("miimon20", "told", 15)])[0] == 3)
check("a broken alternative is no failure of ours",
      verdict(GOOD + [{"way": "arp100", "fault": "told", "flip": 2, "broke_off": True}])[0] == 0)
print("%d checks, %d failed" % (count, failed))
sys.exit(failed != 0)
