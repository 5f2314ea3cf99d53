#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""GPUs of the fake library through the daemon, in a child process as by default: one that hangs, one that is
lost, the driver released, and a machine without any. TACHO_ROUNDS is for how many seconds the GPU hangs."""

import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.environ["TACHO_SRCDIR"], "tests/e2e"))
from daemon import BUILD, Daemon, check, check_no_gap, wait_for  # noqa: E402

LIBRARY = BUILD + "/plugins/nvml/fake/.libs/nvidia-ml.so"
HANG_S = int(os.environ.get("TACHO_ROUNDS", "3"))
INTERVAL_S = 0.2
GPUS = 8
HUNG = 3
CONF = """
providers = (
  { plugin = "nvml"; interval = "%dms"; library = "%s"; },
  { plugin = "proc"; interval = "200ms"; processes = 0; }
);
sinks = ( { plugin = "recorder"; path = "@record"; } );
"""


def gpus_of(batch):
    return [entity for entity in batch["entities"] if entity["kind"] == "gpu"]


def statuses(batch):
    return [gpu["values"]["gpu.status"] for gpu in gpus_of(batch)]


def value(gpu, metric):
    """What JSON has for a value: a number or text, or an object that says why it is absent."""
    return gpu["values"].get(metric)


def usage(pid):
    """Threads, descriptors and resident KiB of a process."""
    with open("/proc/%d/status" % pid, encoding="utf-8") as file:
        fields = dict(line.split(":", 1) for line in file)
    return (int(fields["Threads"]), len(os.listdir("/proc/%d/fd" % pid)),
            int(fields["VmRSS"].split()[0]))


def newest(daemon):
    return daemon.records("nvml")[-1]


def begin(daemon):
    daemon.start()
    wait_for("eight good GPUs",
             lambda: daemon.records("nvml") and statuses(newest(daemon)) == ["ok"] * GPUS)
    child = daemon.instance("nvml")["child"]
    check(child > 0, "nvml does not run in a child")
    wait_for("some ticks", lambda: len(daemon.records("nvml")) > 10)
    return child


def hang(daemon, child):
    """The other seven go on; the one is stuck within two intervals; nothing grows."""
    before = usage(child)
    count = len(daemon.records("nvml"))
    daemon.write("fake", "gpus %d\nhang nvmlDeviceGetUtilizationRates 3600 %d\n" % (GPUS, HUNG))
    changed_ns = time.time_ns()
    wait_for("the status stuck", lambda: statuses(newest(daemon))[HUNG] == "stuck")
    time.sleep(HANG_S)
    after = usage(child)
    batches = daemon.records("nvml")[count:]
    late = [b for b in batches if b["time_ns"] > changed_ns + 2 * INTERVAL_S * 1e9]
    check(len(late) >= HANG_S / INTERVAL_S / 2, "only %d ticks in %d s" % (len(late), HANG_S))
    for batch in late:
        expected = ["stuck" if i == HUNG else "ok" for i in range(GPUS)]
        check(statuses(batch) == expected, "statuses %s" % statuses(batch))
        for index, gpu in enumerate(gpus_of(batch)):
            fresh = value(gpu, "gpu.utilization") == 40
            check(fresh == (index != HUNG), "GPU %d: %s" % (index, value(gpu, "gpu.utilization")))
    check_no_gap(daemon.records("nvml"), "nvml")
    check(daemon.instance("nvml")["child"] == child, "the child was replaced")
    check(after[:2] == before[:2], "threads and descriptors %s, then %s" % (before[:2], after[:2]))
    check(after[2] < before[2] + 2048, "memory grew from %d to %d KiB" % (before[2], after[2]))
    print("hung for %d s: %d ticks; threads %d, descriptors %d, RSS %d to %d KiB" %
          (HANG_S, len(late), after[0], after[1], before[2], after[2]))
    daemon.write("fake", "gpus %d\n" % GPUS)
    wait_for("the GPU to be back", lambda: statuses(newest(daemon)) == ["ok"] * GPUS)


def lose(daemon):
    key = gpus_of(newest(daemon))[5]["key"]
    daemon.write("fake", "gpus %d\nlose 5\n" % GPUS)
    wait_for("the status failed", lambda: statuses(newest(daemon))[5] == "failed")
    gpus = gpus_of(newest(daemon))
    check(len(gpus) == GPUS and gpus[5]["key"] == key, "the lost GPU is not under its UUID")
    check(statuses(newest(daemon)).count("ok") == GPUS - 1, "the others do not go on")
    daemon.write("fake", "gpus %d\n" % GPUS)
    wait_for("the GPU to be back", lambda: statuses(newest(daemon)) == ["ok"] * GPUS)


def mapped(child):
    with open("/proc/%d/maps" % child, encoding="utf-8") as file:
        return LIBRARY in file.read()


def release(daemon, child):
    """Released, the library is not even mapped; resumed, it is, and so are the GPUs."""
    check(mapped(child), "the library is not mapped")
    check(daemon.call("nvml", "release")["released"] is True, "not released")
    check(not mapped(child), "the library is still mapped")
    count = len(daemon.records("nvml"))
    time.sleep(3 * INTERVAL_S)
    check(len(daemon.records("nvml")) <= count + 1, "data although released")
    daemon.call("nvml", "resume")
    wait_for("data again", lambda: len(daemon.records("nvml")) > count + 2)


def capabilities(daemon):
    report = daemon.call("nvml", "capabilities")
    check(len(report["gpus"]) == GPUS, "capabilities of %d GPUs" % len(report["gpus"]))
    fan = report["gpus"][0]["metrics"]["gpu.fan"]
    check(fan["available"] is False and fan["reason"] == "unsupported", json.dumps(fan))


def without_driver():
    """One clear line, not one for each tick, and the host's metrics go on."""
    with Daemon(CONF % (100, "/nowhere/libnvidia-ml.so.1")) as daemon:
        daemon.start()
        wait_for("the host's metrics", lambda: len(daemon.records("proc")) > 10)
        nvml = daemon.instance("nvml")
        check("/nowhere/libnvidia-ml.so.1" in nvml["problem"], "problem: %s" % nvml["problem"])
        check(daemon.log().count("cannot load the NVML library") == 1, "log: " + daemon.log())
        check(not daemon.records("nvml"), "data without a driver")
        print("without a driver: %s: %s" % (nvml["state"], nvml["problem"]))
        daemon.stop()


def main():
    with Daemon(CONF % (INTERVAL_S * 1000, LIBRARY)) as daemon:
        daemon.environment["FAKE_NVML"] = daemon.path("fake")
        daemon.write("fake", "gpus %d\n" % GPUS)
        child = begin(daemon)
        hang(daemon, child)
        lose(daemon)
        release(daemon, child)
        capabilities(daemon)
        check(daemon.stop() < 2, "the daemon took its time to stop")
    without_driver()


main()
