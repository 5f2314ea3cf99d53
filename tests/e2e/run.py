#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""The daemon starts, tells the truth about itself, and ends when told to."""

import os
import signal
import socket

from daemon import Daemon, check, check_no_gap, wait_for

CONF = """
self = { interval = "200ms"; };
providers = ( { plugin = "flaky"; interval = "20ms"; } );
sinks = ( { plugin = "recorder"; path = "@record"; } );
services = ( { plugin = "flaky"; name = "desk"; } );
"""


def value(batch, kind, name):
    return next(e["values"][name] for e in batch["entities"] if e["kind"] == kind)


def check_self(daemon):
    """The self-metrics against what the operating system and the record say."""
    batch = wait_for("self-metrics", lambda: daemon.records("self"))[-1]
    pid = daemon.process.pid
    with open("/proc/%d/status" % pid, encoding="ascii") as file:
        rss = next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmRSS"))
    memory = value(batch, "host", "self.memory")
    check(rss / 2 < memory < rss * 2, "self.memory is %d, VmRSS %d" % (memory, rss))
    descriptors = value(batch, "host", "self.descriptors")
    there = len(os.listdir("/proc/%d/fd" % pid))
    check(abs(descriptors - there) <= 3, "self.descriptors %d, there are %d" % (descriptors, there))
    threads = value(batch, "host", "self.threads")
    there = len(os.listdir("/proc/%d/task" % pid))
    check(abs(threads - there) <= 3, "self.threads is %d, there are %d" % (threads, there))
    check(value(batch, "host", "self.config.generation") == 1, "generation")
    names = {e["key"]: e["values"] for e in batch["entities"] if e["kind"] == "instance"}
    check(set(names) == {"flaky", "recorder", "desk"}, "instances are %s" % sorted(names))
    check(names["flaky"]["instance.state"] == "ok", "state of flaky")
    lateness = names["flaky"]["instance.lateness"]
    check(lateness["count"] > 0 and lateness["p99"] >= lateness["p50"] > 0, "lateness")
    check(names["flaky"]["instance.calls"] <= daemon.instance("flaky")["calls"], "calls")
    check(names["recorder"]["instance.queue.capacity"] > 0, "capacity of the queue")


def check_commands(daemon):
    sources = {batch["source"] for batch in daemon.call("tacho", "snapshot")}
    check(sources == {"flaky", "self"}, "snapshot holds %s" % sources)
    page = daemon.call("tacho", "metrics", "source=flaky")
    check("flaky_collected" in page and page.endswith("# EOF\n"), "OpenMetrics page: " + page)
    history = daemon.call("tacho", "history", "kind=flaky", "key=flaky", "metric=flaky.collected")
    numbers = [point[1] for point in history]
    check(numbers == sorted(numbers) and len(set(numbers)) == len(numbers), "history")
    check(daemon.call("desk", "echo", "a=1") == {"a": 1}, "echo of a service")
    check(daemon.call("flaky", "echo", "b=x") == {"b": "x"}, "echo of a provider")
    for words in (("nobody", "x"), ("tacho", "x"), ("recorder", "x")):
        done = daemon.run("call", *words)
        check(done.returncode == 69, "call %s %s gave %d" % (*words, done.returncode))
    done = daemon.run("status")
    check(done.returncode == 0 and "recorder" in done.stdout, "status: " + done.stdout)


def check_notify(daemon, listener):
    words = []
    listener.settimeout(10)
    while "READY=1" not in words:
        words += listener.recv(4096).decode().split("\n")
    while "WATCHDOG=1" not in words:
        words += listener.recv(4096).decode().split("\n")
    daemon.process.send_signal(signal.SIGHUP)
    while "RELOADING=1" not in words:
        words += listener.recv(4096).decode().split("\n")
    check(any(word.startswith("MONOTONIC_USEC=") for word in words), "no MONOTONIC_USEC")


with Daemon(CONF) as daemon:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    listener.bind(daemon.path("notify"))
    daemon.environment.update(NOTIFY_SOCKET=daemon.path("notify"), WATCHDOG_USEC="900000")
    line = daemon.start()
    check("flaky every 20ms, recorder" in line, "first line: " + line)
    wait_for("data", lambda: len(daemon.records("flaky")) > 20)
    check_self(daemon)
    check_commands(daemon)
    check_notify(daemon, listener)
    first = daemon.status()["session"]
    taken = daemon.stop()
    calls = daemon.records("flaky")
    check_no_gap(calls, "flaky")
    check(calls[0]["seq"] == 0 and calls[0]["session"] == first, "the first batch")
    check(daemon.run("status").returncode == 69, "status without a daemon")

    daemon.start()
    check(daemon.status()["session"] == first + 1, "the session number does not grow by one")
    daemon.call("tacho", "stop")
    check(daemon.process.wait(20) == 0, "stop by command")
    print("stopped within %.3f s" % taken)
