#!/usr/bin/env python3
"""stall.py FILE MICROSECONDS EVERY_S SECONDS PID...: stops one process at a time, each for so long.

Every EVERY_S seconds (a fifth more or less, the same series each time) the next process in turn gets
SIGSTOP and, after MICROSECONDS, SIGCONT. FILE gets a line "stopped_ns continued_ns turn" of each; ends
after SECONDS with exit 0, or at once with 1 when a process is gone. Nothing stays stopped.
"""
import os
import random
import signal
import sys
import time


def main():
    path, microseconds, every, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4])
    pids = [int(p) for p in sys.argv[5:]]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:                               # late to wake it is a longer stall than was meant
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(98))
    except OSError:
        pass
    draw = random.Random(1)
    end = time.monotonic() + seconds
    turn = 0
    with open(path, "w") as out:
        while True:
            wait = every * draw.uniform(0.8, 1.2)
            if time.monotonic() + wait + microseconds / 1e6 > end:
                time.sleep(max(0.0, end - time.monotonic()))
                return 0
            time.sleep(wait)
            pid = pids[turn % len(pids)]
            try:
                os.kill(pid, signal.SIGSTOP)
                stopped = time.monotonic_ns()
                try:
                    time.sleep(microseconds / 1e6)
                finally:
                    os.kill(pid, signal.SIGCONT)
            except ProcessLookupError:
                return 1
            out.write("%d %d %d\n" % (stopped, time.monotonic_ns(), turn % len(pids)))
            out.flush()
            turn += 1


sys.exit(main())
