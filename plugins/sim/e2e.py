#!/usr/bin/python3
"""Simulated GPUs through the daemon into a log: marked as simulated everywhere, the same again with the
same seed, faults as events, and all of it also from a child process."""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

TACHO = os.path.join(os.environ["TACHO_BUILDDIR"], "tacho")
EVENTS = ["xid", "gpu_lost", "throttle_start", "gpu_back", "throttle_stop"]
CONFIG = """
control = "{folder}/control";
state_dir = "{folder}/state";
host = "node";
providers = (
  {{ plugin = "sim"; interval = "20ms"; gpus = 3; profile = ( "h100", "rtx4090" ); seed = {seed}; isolate = {isolate};
     faults = ( "xid:79:0@100ms", "lost:1@140ms+200ms", "throttle:2@200ms+200ms" ); }}
);
sinks = ( {{ plugin = "msgpack"; path = "{folder}/log"; }} );
"""


def check(good, what):
    if not good:
        sys.exit(f"FAIL: {what}")


def batches_of(log):
    """What the log has now; empty while there is none."""
    if not os.path.isdir(log):
        return []
    out = subprocess.run([TACHO, "log", "cat", "--source", "sim", log], capture_output=True, text=True, timeout=30)
    return [json.loads(line) for line in out.stdout.splitlines()]


def run(seed, isolate="false"):
    """The batches of the source sim of a run that lasts until its last fault is in the log."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "tacho.conf")
        with open(path, "w", encoding="utf-8") as file:
            file.write(CONFIG.format(folder=folder, seed=seed, isolate=isolate))
        with subprocess.Popen([TACHO, "run", "-q", "-c", path], stderr=subprocess.PIPE, text=True) as daemon:
            end = time.monotonic() + 20
            seen = []
            while time.monotonic() < end and daemon.poll() is None and len(events_of(seen)) < len(EVENTS):
                time.sleep(0.2)
                seen = batches_of(os.path.join(folder, "log"))
            daemon.send_signal(signal.SIGTERM)
            try:
                _, complaints = daemon.communicate(timeout=10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                sys.exit("FAIL: the daemon did not stop")
            check(daemon.returncode == 0, f"the daemon ended with {daemon.returncode}: {complaints}")
        return batches_of(os.path.join(folder, "log"))


def events_of(batches):
    return [batch["entities"][0]["values"] for batch in batches if batch.get("event")]


def check_marks(batches):
    for batch in batches:
        check(batch["simulated"] is True, f"batch {batch['seq']} does not say that it is simulated")
        for entity in batch["entities"]:
            if entity["kind"] == "gpu":
                labels = entity["labels"]
                check(labels["simulated"] == "true", "a GPU without the label")
                check(labels["name"].endswith("(simulated)"), f"a GPU called {labels['name']}")
                check(entity["key"].startswith("GPU-SIM-"), f"a GPU with the key {entity['key']}")


def check_faults(batches):
    types = [event["event.type"] for event in events_of(batches)]
    check(types == EVENTS, f"events {types}")
    check(events_of(batches)[0]["gpu.xid"] == 79, "the XID is not in its event")
    failed = [gpu for batch in batches if not batch.get("event") for gpu in batch["entities"]
              if gpu["kind"] == "gpu" and gpu["values"].get("gpu.status") == "failed"]
    check(len(failed) == 10, f"lost in {len(failed)} readings, not in 10")
    for gpu in failed:
        check(gpu["labels"]["index"] == "1", "another GPU is lost")
        check(list(gpu["values"]) == ["gpu.status"], "a lost GPU has values")
        check(set(gpu["absent"].values()) == {"lost"}, "values are absent for another reason")


def same(first, second):
    """Whether two runs show the same as far as both go."""
    strip = [[(batch["seq"], batch["entities"]) for batch in run_] for run_ in (first, second)]
    length = min(len(strip[0]), len(strip[1]))
    check(length > 20, f"only {length} batches to compare")
    return strip[0][:length] == strip[1][:length]


def main():
    first = run(5)
    check_marks(first)
    check_faults(first)
    check(same(first, run(5)), "the same seed gave other values")
    check(not same(first, run(6)), "another seed gave the same values")
    child = run(5, "true")
    check_marks(child)
    check(same(first, child), "a child process gave other values")
    print(f"{len(first)} batches, all marked; same seed, same values, in a child too")


main()
