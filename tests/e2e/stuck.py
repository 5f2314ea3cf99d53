#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""A call that does not return: said at once, nobody else waits, and it is over when it returns."""

import time

from daemon import Daemon, check, check_no_gap, event_type, wait_for

CONF = """
self = { interval = "100ms"; };
providers = (
  { plugin = "flaky"; name = "bad"; file = "@bad"; interval = "50ms"; deadline = "100ms"; },
  { plugin = "flaky"; name = "soft"; file = "@soft"; interval = "50ms"; deadline = "100ms"; },
  { plugin = "flaky"; name = "good"; interval = "20ms"; }
);
sinks = ( { plugin = "recorder"; path = "@record"; } );
services = ( { plugin = "flaky"; name = "desk"; file = "@desk"; deadline = "200ms"; } );
"""


def stuck_since(daemon, name):
    """Time of the stuck event of an instance, as the recorder saw it."""
    for batch in daemon.records():
        if event_type(batch) == "stuck" and batch["entities"][0]["key"] == name:
            return batch["time_ns"]
    return None


def hang(daemon):
    daemon.write("bad", "collect hang")
    at = wait_for("the event", lambda: stuck_since(daemon, "bad"))
    last = daemon.records("bad")[-1]["time_ns"]
    print("told %.0f ms after the last good reading" % ((at - last) / 1e6))
    check(daemon.state("bad") == "stuck", "state while stuck")
    check("collect has not returned" in daemon.instance("bad")["problem"], "problem while stuck")
    calls = daemon.instance("bad")["calls"]
    before = len(daemon.records("good"))
    wait_for("the others to go on", lambda: len(daemon.records("good")) > before + 20)
    check(daemon.instance("bad")["calls"] == calls, "a second call began")
    check(daemon.log().count("bad: collect has not returned") == 1, "log: " + daemon.log())


def recover(daemon):
    before = len(daemon.records("bad"))
    daemon.write("bad", "collect ok")
    wait_for("data again", lambda: len(daemon.records("bad")) > before + 3)
    check(daemon.state("bad") == "ok", "state after it returned")
    check(len(daemon.events("unstuck")) >= 1, "no event that it returned")
    check(daemon.instance("bad")["stuck"] == 1, "count of stuck calls")
    check_no_gap(daemon.records("bad"), "bad")


def cancel(daemon):
    """A plugin that listens to cancel is back by itself."""
    daemon.write("soft", "collect wait")
    wait_for("a cancelled call", lambda: daemon.instance("soft")["stuck"] >= 1)
    wait_for("another", lambda: daemon.instance("soft")["stuck"] >= 2)
    daemon.write("soft", "collect ok")
    wait_for("recovery", lambda: daemon.state("soft") == "ok")


def service(daemon):
    daemon.write("desk", "call hang")
    done = daemon.run("call", "desk", "echo")
    check(done.returncode == 75 and "did not answer" in done.stderr, "hanging: " + done.stderr)
    done = daemon.run("call", "desk", "echo")
    check(done.returncode == 75 and "was busy" in done.stderr, "busy: " + done.stderr)
    check(daemon.state("desk") == "stuck", "state of the service")
    daemon.write("desk", "call ok")
    wait_for("the service", lambda: daemon.run("call", "desk", "echo").returncode == 0)


with Daemon(CONF) as daemon:
    daemon.start()
    wait_for("data", lambda: len(daemon.records("bad")) > 3)
    hang(daemon)
    recover(daemon)
    cancel(daemon)
    service(daemon)
    check_no_gap(daemon.records("good"), "good")
    daemon.write("bad", "collect hang")
    daemon.write("desk", "consume hang")
    wait_for("both to hang", lambda: daemon.state("bad") == daemon.state("desk") == "stuck")
    begin = time.monotonic()
    taken = daemon.stop()
    check("left behind" in daemon.log(), "nobody said that a call was left behind")
    check_no_gap(daemon.records("good"), "good")
    print("stopped within %.3f s although two calls hang" % taken)
