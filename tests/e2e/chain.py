#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""A chain fails over, comes back, and never publishes twice."""

from daemon import Daemon, check, check_no_gap, wait_for

CONF = """
self = { interval = "100ms"; };
providers = (
  { plugin = "flaky"; name = "first"; file = "@first"; interval = "50ms"; deadline = "200ms"; chain = "c"; },
  { plugin = "flaky"; name = "second"; file = "@second"; interval = "50ms"; chain = "c"; },
  { plugin = "flaky"; name = "third"; interval = "50ms"; chain = "c"; }
);
sinks = ( { plugin = "recorder"; path = "@record"; } );
"""
NAMES = ("first", "second", "third")


def serving(daemon):
    states = [daemon.state(name) for name in NAMES]
    return NAMES[states.index("ok")] if "ok" in states else None


def sources(daemon):
    return {b["source"] for b in daemon.call("tacho", "snapshot")} - {"self"}


def switch(daemon, what, expected):
    """Does something and waits until the expected one serves, alone."""
    for name, mode in what.items():
        daemon.write(name, mode)
    wait_for("%s to serve" % expected, lambda: serving(daemon) == expected)
    count = len(daemon.records(expected))
    wait_for("data of " + expected, lambda: len(daemon.records(expected)) > count + 3)
    check(sources(daemon) == {expected}, "snapshot holds %s" % sources(daemon))


def check_one_at_a_time(daemon):
    """In the record each source has its stretches; readings of two are never interleaved for long."""
    order = [b["source"] for b in daemon.records() if b["source"] in NAMES]
    switches = sum(1 for a, b in zip(order, order[1:]) if a != b)
    told = len(daemon.events("failover"))
    check(switches == told, "%d switches in the data, %d events" % (switches, told))


with Daemon(CONF) as daemon:
    daemon.start()
    switch(daemon, {}, "first")
    check([daemon.state(n) for n in NAMES] == ["ok", "standby", "standby"], "states at first")
    switch(daemon, {"first": "collect retry"}, "second")
    check(daemon.state("first") == "failing" and daemon.state("third") == "standby", "states then")
    switch(daemon, {"second": "collect fatal"}, "third")
    switch(daemon, {"first": "collect ok"}, "first")
    wait_for("rest", lambda: daemon.state("second") == daemon.state("third") == "standby")
    switch(daemon, {"first": "collect hang", "second": "ok"}, "second")
    check(daemon.state("first") == "stuck", "the first is stuck")
    switch(daemon, {"first": "ok"}, "first")
    switch(daemon, {"first": "all fatal"}, "second")
    switch(daemon, {"first": "ok"}, "first")
    message = daemon.events("failover")[0]["entities"][0]["values"]["event.message"]
    check(message == "chain c: second serves instead of first, which failed: "
          "collect was told to be retry", "message: " + message)
    for name in NAMES:
        check_no_gap(daemon.records(name), name)
    check_one_at_a_time(daemon)
    daemon.stop()
