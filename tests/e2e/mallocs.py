#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""The steady state takes nothing from the heap: proc every 20 ms into a log, self-metrics included."""

import os
import struct
import sys
import time

from daemon import BUILD, TACHO, Daemon, check, wait_for

CONF = """
self = { interval = "100ms"; };
providers = ( { plugin = "proc"; interval = "20ms"; } );
sinks = ( { plugin = "msgpack"; path = "@log"; sync = "1s"; } );
"""
WINDOW = 3  # seconds
TRIES = 6   # a new process or device on the machine makes a batch larger than any before


def sanitized():
    with open(TACHO, "rb") as file:
        text = file.read()
    return b"__asan_init" in text or b"__tsan_init" in text


if sanitized():
    print("skipped: sanitizers bring an allocator of their own")
    sys.exit(77)

with Daemon(CONF) as daemon:
    daemon.write("mallocs", "\0" * 16)

    def count():
        with open(daemon.path("mallocs"), "rb") as file:
            return struct.unpack("<Q", file.read(8))[0]

    daemon.environment.update(LD_PRELOAD=BUILD + "/tests/modules/.libs/mallocs.so",
                              TACHO_MALLOCS=daemon.path("mallocs"))
    daemon.start()
    check(count() > 100, "nothing is counted")
    wait_for("data", lambda: daemon.instance("proc")["calls"] > 50)
    taken = []
    while len(taken) < TRIES and 0 not in taken:
        before, calls = count(), daemon.instance("proc")["calls"]
        time.sleep(0.3)  # the thread that answered us is gone
        before = count()
        time.sleep(WINDOW)
        taken.append(count() - before)
        check(daemon.instance("proc")["calls"] >= calls + 50, "too few calls in the window")
    memory = daemon.status()["memory"]
    daemon.stop()
    print("taken from the heap in %d s: %s; resident %.1f MiB" % (WINDOW, taken, memory / 2**20))
    check(0 in taken, "the steady state takes memory: %s" % taken)
