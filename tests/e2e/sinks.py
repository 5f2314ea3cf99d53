#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""A sink that fails, hangs or is slow: nobody else notices, and what it drops is counted."""

from daemon import Daemon, check, check_no_gap, wait_for

CONF = """
self = { interval = "100ms"; };
providers = ( { plugin = "flaky"; name = "source"; interval = "10ms"; } );
sinks = (
  { plugin = "recorder"; path = "@record"; },
  { plugin = "flaky"; name = "bad"; file = "@bad"; queue = 8; deadline = "200ms"; filter = "source"; },
  { plugin = "flaky"; name = "late"; file = "@late"; queue = 8; filter = "source"; }
);
"""


def goes_on(daemon):
    count = len(daemon.records("source"))
    wait_for("the others to go on", lambda: len(daemon.records("source")) > count + 50)


with Daemon(CONF) as daemon:
    daemon.write("late", "open retry")
    daemon.start()
    wait_for("data", lambda: len(daemon.records("source")) > 20)
    check(daemon.state("late") == "failing", "a sink that cannot open")

    daemon.write("bad", "consume slow")
    wait_for("drops", lambda: daemon.instance("bad")["dropped"]["overflow"] > 10)
    goes_on(daemon)
    daemon.write("bad", "consume retry")
    wait_for("a failing sink", lambda: daemon.state("bad") == "failing")
    wait_for("a batch given up", lambda: daemon.instance("bad")["dropped"]["failed"] >= 1)
    goes_on(daemon)
    daemon.write("bad", "consume hang")
    wait_for("a stuck sink", lambda: daemon.state("bad") == "stuck")
    goes_on(daemon)
    daemon.write("bad", "consume fatal")
    wait_for("a sink that is closed", lambda: daemon.state("bad") == "failing")
    daemon.write("bad", "ok")
    wait_for("recovery", lambda: daemon.state("bad") == "ok")
    check(daemon.instance("bad")["restarts"] >= 1, "it was not opened again")
    daemon.write("late", "ok")
    wait_for("the sink that opens late", lambda: daemon.state("late") == "ok")

    told = daemon.records("self")[-1]
    values = {e["key"]: e["values"] for e in told["entities"]}
    check(values["bad"]["instance.dropped.overflow"] > 10, "self-metrics of the bad sink")
    check(values["recorder"]["instance.dropped.overflow"] == 0, "self-metrics of the good sink")
    check_no_gap(daemon.records("source"), "source")
    skipped = daemon.instance("source")["skipped"]
    daemon.write("bad", "consume slow")
    taken = daemon.stop()
    print("stopped within %.3f s; the source skipped %d slots" % (taken, skipped))
