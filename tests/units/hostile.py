#!/usr/bin/env python3
"""hostile.py SOCKET SECONDS: what members of the lowest role, gone bad, do to the admin door.

Seven users at once, each with its own way: a crowd that connects and stays, half-open clients,
garbage, records that are too long, readers that never read, a flood of orders, and descriptors that
nobody asked for. Meanwhile root asks for the status ten times a second over one connection and by
new ones, and each answer is timed. Prints one line of figures as JSON; exit 1 if root was not served.
Needs root, and a group `holdfast` that may open the door."""
import errno
import grp
import json
import os
import random
import select
import signal
import socket
import struct
import sys
import time

STATUS, EVENTS, ORDER = 1, 2, 5
DISARM = 9
VERSION = 2


def request(verb, tail=b"", after=0, follow=0):
    return struct.pack("<BBBBQB", VERSION, verb, 0, 0, after, follow) + tail


def connect(path):
    one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK)
    try:
        one.connect(path)
    except OSError:
        one.close()
        return None
    return one


def send(one, record):
    """False: it is gone."""
    try:
        one.send(record)
        return True
    except OSError as error:
        return error.errno == errno.EAGAIN


# ---- seven ways ----


def crowd(path):
    """A thousand connections, kept as long as they let it."""
    held = []
    while True:
        one = connect(path)
        if one is not None:
            held.append(one)
        if len(held) == 1000:
            for old in held:
                old.close()
            held = []


def half_open(path):
    held = []
    while True:
        one = connect(path)
        if one is not None:
            send(one, request(STATUS)[:3])  # decodes to nothing
            held.append(one)
        held = held[-8:]
        time.sleep(0.01)


def garbage(path):
    chance = random.Random(1)
    while True:
        one = connect(path)
        if one is not None:
            for _ in range(4):
                if not send(one, chance.randbytes(chance.randint(1, 3000))):
                    break
            one.close()


def oversized(path):
    while True:
        one = connect(path)
        if one is not None:
            send(one, b"\x01" * 100000)
            one.close()


def never_reads(path):
    held = []
    while True:
        one = connect(path)
        if one is not None:
            send(one, request(EVENTS, follow=1) if len(held) % 2 else request(STATUS))
            held.append(one)
        held = held[-8:]
        time.sleep(0.01)


def orders(path):
    tail = struct.pack("<BIBB", DISARM, 0, 0, 0)
    while True:
        one = connect(path)
        while one is not None:
            if not send(one, request(ORDER, tail)):
                break
            select.select([one], [], [], 0.05)
            try:
                if not one.recv(65536):
                    break
            except BlockingIOError:
                pass
            except OSError:
                break
        if one is not None:
            one.close()


def descriptors(path):
    held = [os.open("/dev/null", os.O_RDONLY) for _ in range(200)]
    while True:
        one = connect(path)
        if one is not None:
            try:
                socket.send_fds(one, [request(STATUS)], held)
            except OSError:
                pass
            one.close()


WAYS = (crowd, half_open, garbage, oversized, never_reads, orders, descriptors)
FIRST_UID = 4001


def attack(path):
    """Process ids, one a way."""
    pids = []
    group = grp.getgrnam("holdfast").gr_gid
    for number, way in enumerate(WAYS):
        pid = os.fork()
        if pid == 0:
            try:
                os.setgroups([group])
                os.setresgid(4000, 4000, 4000)
                os.setresuid(*[FIRST_UID + number] * 3)
                way(path)
            finally:
                os._exit(1)
        pids.append(pid)
    return pids


# ---- root, meanwhile ----


def answer(one, within_s):
    """Bytes of a whole answer; raises what goes wrong."""
    count, deadline = 0, time.monotonic() + within_s
    while True:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([one], [], [], left)[0]:
            raise TimeoutError("no answer in time")
        record = one.recv(1 << 17)
        if len(record) < 3:
            raise ConnectionError("it closed the connection")
        count += len(record) - 3
        if record[2] == 0:
            return count


def asked(one):
    began = time.monotonic()
    one.send(request(STATUS))
    answer(one, 5.0)
    return time.monotonic() - began


def let_in(path):
    """As the command does: while more are waiting than the door lets wait, try again."""
    until = time.monotonic() + 5.0
    while time.monotonic() < until:
        one = connect(path)
        if one is not None:
            return one
        time.sleep(0.01)
    raise TimeoutError("not let in")


def came_new(path):
    began = time.monotonic()
    one = let_in(path)
    one.send(request(STATUS))
    answer(one, 5.0)
    one.close()
    return time.monotonic() - began


def watch(path, seconds):
    kept, times, new = let_in(path), [], []
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        times.append(asked(kept))
        new.append(came_new(path))
        time.sleep(0.1)
    kept.close()
    return times, new


def figures(values):
    values = sorted(values)
    return {"count": len(values), "median_ms": round(values[len(values) // 2] * 1000, 1),
            "max_ms": round(values[-1] * 1000, 1)}


def run(path, seconds):
    """(figures, None) or (None, what went wrong)."""
    pids = attack(path)
    try:
        times, new = watch(path, seconds)
        return {"kept": figures(times), "new": figures(new)}, None
    except (OSError, TimeoutError, ConnectionError) as error:
        return None, f"{error!r}"
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def main():
    if len(sys.argv) != 3:
        print(__doc__)
        return 2
    told, wrong = run(sys.argv[1], float(sys.argv[2]))
    print(json.dumps(told) if told else wrong)
    return 0 if told else 1


if __name__ == "__main__":
    sys.exit(main())
