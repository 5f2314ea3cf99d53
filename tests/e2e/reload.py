#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""Reloads under load: what did not change goes on without a gap, and a bad file changes nothing.
TACHO_ROUNDS sets how many."""

import os
import signal

from daemon import Daemon, check, check_no_gap, wait_for

ROUNDS = int(os.environ.get("TACHO_ROUNDS", "15"))

CONF = """
self = { interval = "100ms"; };
providers = (
  { plugin = "flaky"; name = "steady"; interval = "5ms"; },
  { plugin = "flaky"; name = "changing"; interval = "%dms"; }%s
);
sinks = (
  { plugin = "recorder"; path = "@record"; queue = 5000; },
  { plugin = "recorder"; name = "moving"; path = "@moving%d"; queue = 5000; }
);
"""
EXTRA = ',\n  { plugin = "flaky"; name = "guest"; interval = "10ms"; }'


def conf_of(turn):
    return CONF % (6 + turn % 2, EXTRA if turn % 3 == 0 else "", turn % 2)


def reject(daemon):
    """A file with problems: said where, everything as before."""
    before = daemon.status()
    daemon.write_conf(conf_of(0) + '\nsinks = 3;\n')
    done = daemon.run("reload")
    check(done.returncode == 78 and "tacho.conf:" in done.stderr, "bad reload: " + done.stderr)
    daemon.write_conf('providers = ( { plugin = "flaky"; intervall = "1s"; } );')
    done = daemon.run("reload")
    check("did you mean" in done.stderr, "bad reload: " + done.stderr)
    after = daemon.status()
    check(after["rejected"] == before["rejected"] + 2, "count of rejected files")
    for key in ("hash", "generation"):
        check(after[key] == before[key], key + " changed by a bad file")
    check([i["name"] for i in after["instances"]] == [i["name"] for i in before["instances"]],
          "instances changed by a bad file")
    check(len(daemon.events("config_rejected")) == 2, "events of rejected files")


def signals(daemon):
    """Many at once are few reloads, but the last file is the one that counts."""
    for turn in range(20):
        daemon.write_conf(conf_of(turn))
        daemon.process.send_signal(signal.SIGHUP)
    daemon.write_conf(conf_of(7))
    daemon.process.send_signal(signal.SIGHUP)
    wanted = daemon.run("check", "--json", daemon.path("tacho.conf")).stdout
    wait_for("the last file", lambda: '"%s"' % daemon.status()["hash"] in wanted)


with Daemon(conf_of(1)) as daemon:
    daemon.start()
    wait_for("data", lambda: len(daemon.records("steady")) > 20)
    for turn in range(ROUNDS):
        daemon.write_conf(conf_of(turn))
        done = daemon.run("reload")
        check(done.returncode == 0, "reload %d: %s" % (turn, done.stderr))
        there = [i["name"] for i in daemon.status()["instances"]]
        check(("guest" in there) == (turn % 3 == 0), "instances are %s" % there)
    reject(daemon)
    signals(daemon)
    check(daemon.instance("steady")["restarts"] == 0, "steady was opened again")
    generation = daemon.status()["generation"]
    daemon.stop()
    steady = daemon.records("steady")
    check_no_gap(steady, "steady")
    collected = [b["entities"][0]["values"]["flaky.collected"] for b in steady]
    check(collected == list(range(1, len(collected) + 1)), "steady was opened again")
    for name in ("changing", "guest", "self"):
        numbers = [b["seq"] for b in daemon.records() if b["source"] == name]
        check(numbers == list(range(len(numbers))), "numbers of %s" % name)
    moved = sorted(b["seq"] for n in ("moving0", "moving1") for b in daemon.records("steady", n))
    check(moved == list(range(len(steady))), "a sink that moved has lost or doubled a batch")
    print("%d generations, %d batches of the unchanged instance" % (generation, len(steady)))
