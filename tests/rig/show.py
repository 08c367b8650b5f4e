#!/usr/bin/env python3
"""show.py: the demo's story. Starts a VM, cuts its host's power, shows the phases as they happen, then
the table. Times are the kernel's (process events) or the daemons' own stamps, all CLOCK_MONOTONIC, which
the nodes of the rig share. Whether the VM ever ran twice is read from process events, not asked of the
product."""
import argparse
import json
import os
import queue
import re
import subprocess
import sys
import threading
import time

TTY = sys.stdout.isatty()
COLOUR = TTY and not os.environ.get("NO_COLOR")
TARGETS = {  # ms; the budgets of the design at token 1000, consensus 1200
    "view": 2200, "fence": 10, "proof": 600, "start": 10, "qemu": 300,
}


def paint(code, text):
    return "\x1b[%sm%s\x1b[0m" % (code, text) if COLOUR else text


class Rig:
    def __init__(self, args):
        self.args = args
        self.env = dict(os.environ, RIG_NAME=args.name, RIG_STATE=args.state)
        self.children = []

    def run(self, *verb, check=True, timeout=60):
        done = subprocess.run([self.args.rig, *verb], env=self.env, text=True, timeout=timeout,
                              stdin=subprocess.DEVNULL, capture_output=True)
        if check and done.returncode:
            raise SystemExit("rig %s: %s%s" % (" ".join(verb), done.stdout, done.stderr))
        return done.stdout

    def follow(self, feed, tag, command):
        child = subprocess.Popen(command, env=self.env, text=True, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.children.append(child)

        def pump():
            for line in child.stdout:
                feed.put((tag, line))
        threading.Thread(target=pump, daemon=True).start()

    def end(self):
        for child in self.children:
            child.terminate()
        for child in self.children:
            try:
                child.wait(5)
            except subprocess.TimeoutExpired:
                child.kill()


class Truth:
    """Every life of the VM's qemu, from the kernel's process events."""

    def __init__(self, vm):
        self.match = re.compile(r"qemu-system\S* .*guest=%s," % re.escape(vm))
        self.alive, self.lives, self.edges, self.most, self.lost = {}, [], 0, 0, False

    def take(self, event):
        if event["ev"] == "overrun":
            self.lost = True
        elif event["ev"] == "exec" and self.match.search(event["cmd"]):
            self.alive[event["pid"]] = event["node"]
            self.lives.append((event["t"], event["node"]))
        elif event["ev"] == "exit" and event["pid"] in self.alive:
            del self.alive[event["pid"]]
        else:
            return
        self.edges += 1
        self.most = max(self.most, len(self.alive))


class Story:
    def __init__(self, vm, victim, t0):
        self.vm, self.victim, self.t0, self.marks, self.where = vm, victim, t0, {}, {}
        self.fence, self.to, self.beat = "?", "?", None

    def mark(self, name, t):
        if t >= self.t0 and name not in self.marks:
            self.marks[name] = t
            return True
        return False

    def event(self, node, e):
        t, kind, name = e["monotonic_ns"], e.get("kind"), e.get("name")
        if kind == "change" and e["subject"] == "node" and name == self.victim:
            if e["now"] in ("lost", "fencing"):
                self.mark("view", t)
            if e["now"] == "dead":
                self.mark("proof", t)
        if kind == "progress" and name == self.vm and e.get("progress") == "start-requested":
            if self.mark("start", t):
                self.to = e.get("node") or node

    def process(self, e):
        if e["ev"] != "exec" or e["node"] == self.victim:
            return
        found = re.search(r"(?:^|[/ ])(fence_\w+)", e["cmd"])
        if found and "view" in self.marks and self.mark("fence", e["t"]):
            self.fence = found.group(1)

    def console(self, line):
        if "GUEST-UP" in line and "qemu" in self.marks:
            self.beat = self.beat or time.monotonic_ns()


PHASES = ("view", "fence", "proof", "start", "qemu")
WORDS = {
    "view": "view change: {s.victim} lost", "fence": "fence {s.victim}: {s.fence} off",
    "proof": "proof: the BMC reads off", "start": "start {s.vm} requested on {s.to}",
    "qemu": "qemu running",
}


def line(story, name, last_ms):
    at = (story.marks[name] - story.t0) / 1e6
    bar = "█" * max(1, round((at - last_ms) / 60)) if at - last_ms >= 30 else "▏"
    text = WORDS[name].format(s=story)
    print("   ├ %-38s %-37s %s" % (text, bar[:37], "%7.3f s  %s" % (
        at / 1e3, paint("2", "+%.0f ms" % (at - last_ms)))), flush=True)
    return at


def table(story, truth):
    print("\n %-34s %10s %10s" % ("phase", "target", "this run"))
    last, good = 0.0, True
    for name in PHASES:
        at = (story.marks[name] - story.t0) / 1e6
        took, target = at - last, TARGETS[name]
        late = took > target
        row = " %-34s %7d ms %7.0f ms" % (WORDS[name].format(s=story), target, took)
        print(row + (paint("33", "   over its target") if late else ""))
        last = at
    print(" %-34s %7d ms %7.0f ms" % ("power cut to qemu running", sum(TARGETS.values()), last))
    print("\n %s ran on %d node%s at most, at every one of %d starts and ends seen by the kernel" % (
        story.vm, truth.most, "" if truth.most == 1 else "s", truth.edges))
    if truth.lost:
        print(" ✗ the process watch lost events: nothing is proved by it")
        good = False
    if truth.most != 1:
        print(" ✗ it ran twice")
        good = False
    return good


def qemus(rig, vm):
    return [l.split()[0] for l in rig.run("qemus").splitlines() if l.split()[2] == vm]


def wait_for(feed, deadline, take, until, what):
    while not until():
        try:
            take(*feed.get(timeout=max(0.01, deadline - time.monotonic())))
        except queue.Empty:
            pass
        if time.monotonic() > deadline and not until():
            print(" ✗ waited in vain for: %s" % what)
            return False
    return True


def start(rig, feed, vm, take):
    began = time.monotonic()
    rig.run("exec", "n1", "holdfast", "vm", "add", vm, "/shared/%s.xml" % vm)
    rig.run("exec", "n1", "holdfast", "arm")
    up = []
    if not wait_for(feed, time.monotonic() + 30,
                    lambda tag, text: (take(tag, text), up.append(1) if tag == "guest" and "GUEST-UP" in text
                                       else None), lambda: bool(up), "the guest's first word"):
        return None
    where = qemus(rig, vm)
    if len(where) != 1:
        print(" ✗ %s has %d qemu processes" % (vm, len(where)))
        return None
    print(" ✔ %-72s %6.1f s" % ("%s running on %s, first word from the guest" % (vm, where[0]),
                               time.monotonic() - began), flush=True)
    return where[0]


def recover(rig, feed, story, truth, take):
    last, shown = 0.0, 0

    def see(tag, text):
        nonlocal last, shown
        take(tag, text)
        if tag == "proc":
            e = json.loads(text)
            story.process(e)
            if truth.lives and truth.lives[-1][0] > story.t0:
                story.mark("qemu", truth.lives[-1][0])
        elif tag in ("n1", "n2", "n3"):
            try:
                e = json.loads(text)
            except ValueError:
                return
            if "monotonic_ns" in e:
                story.event(tag, e)
        elif tag == "guest":
            story.console(text)
        while shown < len(PHASES) and all(p in story.marks for p in PHASES[:shown + 1]):
            last = line(story, PHASES[shown], last)
            shown += 1

    return wait_for(feed, time.monotonic() + 60, see, lambda: shown == len(PHASES) and story.beat,
                    "the next phase after %s" % (PHASES[shown - 1] if shown else "the power cut"))


def main():
    parser = argparse.ArgumentParser()
    for name in ("rig", "name", "state", "vm", "log"):
        parser.add_argument("--" + name, required=True)
    args = parser.parse_args()
    rig, feed, truth = Rig(args), queue.Queue(), Truth(args.vm)
    raw = open(os.path.join(args.log, "seen"), "w")

    def take(tag, text):
        raw.write("%s %s" % (tag, text))
        if tag == "proc":
            truth.take(json.loads(text))
    try:
        rig.follow(feed, "proc", [os.path.join(args.state, "rig", "rigtool"), "procwatch", "/" + args.name])
        for n in ("n1", "n2", "n3"):
            rig.follow(feed, n, [args.rig, "exec", n, "holdfast", "events", "--json", "-f"])
        rig.follow(feed, "guest", ["tail", "-n0", "-F", "%s/shared/console/%s.log" % (args.state, args.vm)])
        victim = start(rig, feed, args.vm, take)
        if not victim:
            return 1
        t0 = time.monotonic_ns()
        story = Story(args.vm, victim, t0)
        print(paint("1", "\n ⚡ power cut: %s and everything in it%s0.000 s" % (victim, " " * 47)), flush=True)
        rig.run("poweroff", victim)
        if not recover(rig, feed, story, truth, take):
            return 1
        print(" ✔ back after %.2f s on %s, and the guest speaks" % (
            (story.marks["qemu"] - t0) / 1e9, ", ".join(qemus(rig, args.vm))), flush=True)
        good = table(story, truth)
        where = qemus(rig, args.vm)
        if len(where) != 1 or where[0] == victim:
            print(" ✗ %s is on: %s" % (args.vm, ", ".join(where) or "no node"))
            good = False
        print("\n" + rig.run("exec", where[0] if where else "n1", "holdfast", "status"))
        return 0 if good else 1
    finally:
        raw.close()
        rig.end()


if __name__ == "__main__":
    sys.exit(main())
