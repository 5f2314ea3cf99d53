#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""Isolated plugins that crash, hang, exit and leave processes behind: the daemon goes on at its
cadence, says what happened, comes back when the plugin does, and keeps nothing of them."""

import os
import time

from daemon import Daemon, check, check_no_gap, wait_for

BAD = {
    "crash": ("segfault", "ended by signal 11 (Segmentation fault)"),
    "quit": ("exit", "ended with exit code 3"),
    "loop": ("loop", "did not answer 'collect'"),
    "leave": ("leave", "ended with exit code 4"),
}
CONF = """
providers = (
  { plugin = "crash"; name = "good"; interval = "20ms"; isolate = true; },
%s
);
sinks = ( { plugin = "recorder"; path = "@record"; } );
""" % ",\n".join(
    '  { plugin = "crash"; name = "%s"; interval = "100ms"; deadline = "100ms"; isolate = true; '
    'behaviour = "%s"; at = 4; unless = "@well"; }' % (name, what[0]) for name, what in BAD.items())

# Under a sanitizer too a crash is to end by its signal, and an exit at once.
QUIET = {name: os.environ.get(name, "") + ":handle_segv=0:" + more for name, more in (
    ("ASAN_OPTIONS", ""), ("TSAN_OPTIONS", "atexit_sleep_ms=0"))}


def processes():
    """pid -> (parent, group, state) of all that run now."""
    found = {}
    for name in os.listdir("/proc"):
        try:
            with open("/proc/%d/stat" % int(name), encoding="utf-8", errors="replace") as file:
                fields = file.read().rpartition(")")[2].split()
            found[int(name)] = (int(fields[1]), int(fields[2]), fields[0])
        except (ValueError, OSError):
            pass
    return found


def children(daemon):
    return {pid: what for pid, what in processes().items() if what[0] == daemon.process.pid}


def descriptors(daemon):
    return len(os.listdir("/proc/%d/fd" % daemon.process.pid))


def misbehave(daemon):
    """Each says what happened; whole groups of children are remembered."""
    groups = set()
    left = dict(BAD)

    def look():
        groups.update(children(daemon))
        log = daemon.log()
        for name, (_, text) in BAD.items():
            if any(" %s: " % name in line and text in line for line in log.splitlines()):
                left.pop(name, None)
        return not left

    wait_for("all to be told of", look)
    return groups


def come_back(daemon):
    daemon.write("well", "")
    for name in BAD:
        wait_for(name + " to work again", lambda n=name: daemon.state(n) == "ok")
        before = len(daemon.records(name))
        wait_for("data of " + name, lambda n=name, b=before: len(daemon.records(n)) > b + 5)
        check_no_gap(daemon.records(name), name)


def no_leftovers(daemon, groups):
    """One child for each instance, no ended one unreaped, nobody in the groups of the former."""
    def clean():
        now = children(daemon)
        if any(state == "Z" for _, _, state in now.values()) or len(now) != len(BAD) + 1:
            return False
        return not [p for p, (_, group, state) in processes().items()
                    if group in groups - set(now) and state != "Z"]

    wait_for("nothing to be left of former children", clean)


def cadence(daemon):
    """The good one never waited for the bad ones: all its readings are there."""
    batches = daemon.records("good")
    check_no_gap(batches, "good")
    spent_s = (batches[-1]["time_ns"] - batches[0]["time_ns"]) / 1e9
    print("good: %d readings in %.1f s, one each 20 ms" % (len(batches), spent_s))
    check(len(batches) > 0.5 * spent_s / 0.02, "the good one lost its cadence")


def long_run():
    with Daemon(CONF, **QUIET) as daemon:
        daemon.start()
        groups = misbehave(daemon)
        first = descriptors(daemon)
        rounds = int(os.environ.get("TACHO_ROUNDS", "5"))
        wait_for("%d crashes" % rounds, lambda: groups.update(children(daemon)) or
                 daemon.log().count("signal 11") >= rounds, 10 + rounds)
        come_back(daemon)
        no_leftovers(daemon, groups)
        check(descriptors(daemon) <= first + 8, "descriptors: %d, then %d" %
              (first, descriptors(daemon)))
        cadence(daemon)
        check(daemon.stop() < 2, "stopping took 2 s")
        time.sleep(0.3)
        check(not [p for p, (_, group, state) in processes().items()
                   if group in groups and state != "Z"], "processes outlive the daemon")


STUBBORN = """
providers = (
  { plugin = "crash"; name = "deaf"; interval = "100ms"; isolate = true; behaviour = "stubborn";
    at = 2; unless = "@well"; },
  { plugin = "crash"; name = "good"; interval = "20ms"; isolate = true; }
);
sinks = ( { plugin = "recorder"; path = "@record"; } );
"""


def abandoned():
    """A child that cannot be ended is named, not doubled, and taken leave of."""
    with Daemon(STUBBORN, **QUIET) as daemon:
        daemon.start()
        wait_for("the child to be abandoned", lambda: "is still alive" in daemon.log())
        check(len(children(daemon)) == 2, "a second child was started beside the stuck one")
        daemon.write("well", "")
        wait_for("it to work again", lambda: daemon.state("deaf") == "ok")
        wait_for("two children", lambda: len(children(daemon)) == 2)
        check_no_gap(daemon.records("good"), "good")
        check(daemon.stop() < 2, "stopping took 2 s")


def stop_while_stuck():
    """Stopping does not wait for a child that does not answer; the child leaves by itself."""
    with Daemon(STUBBORN, **QUIET) as daemon:
        daemon.start()
        wait_for("it to be stuck", lambda: "deaf: " in daemon.log())
        pids = set(children(daemon))
        took = daemon.stop()
        print("stopped in %.2f s with a stuck child" % took)
        check(took < 2, "stopping took %.2f s" % took)
        wait_for("the children to leave", lambda: not [
            p for p, (_, _, state) in processes().items() if p in pids and state != "Z"])


long_run()
abandoned()
stop_while_stuck()
