#!/usr/bin/python3
"""Programs through the daemon into a log: one-shot and stream, one that fails and one that hangs; nothing of
them is left when the daemon has stopped."""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

TACHO = os.path.join(os.environ["TACHO_BUILDDIR"], "tacho")
CONFIG = """
control = "{folder}/control";
state_dir = "{folder}/state";
host = "node";
providers = (
  {{ plugin = "exec"; name = "once"; interval = "100ms"; command = ( "sh", "once" ); folder = "{folder}"; }},
  {{ plugin = "exec"; name = "stream"; interval = "100ms"; command = ( "sh", "stream" ); folder = "{folder}";
     mode = "stream"; restart = "50ms"; }},
  {{ plugin = "exec"; name = "broken"; interval = "100ms"; command = ( "sh", "broken" ); folder = "{folder}"; }},
  {{ plugin = "exec"; name = "slow"; interval = "200ms"; command = ( "sh", "slow" ); folder = "{folder}";
     timeout = "100ms"; }}
);
sinks = ( {{ plugin = "msgpack"; path = "{folder}/log"; }} );
"""
PROGRAMS = {
    "once": """echo '{"room.temperature": 21.5, "gpu.power": null}'""",
    "stream": """for n in 1 2 3; do echo "{\\"tick.count\\": $n}"; done; sleep 0.2""",
    "broken": "echo no sensor >&2; exit 3",
    "slow": "trap '' TERM; sleep 60 & echo $! >> pids; wait; wait",
}


def check(good, what):
    if not good:
        sys.exit(f"FAIL: {what}")


def batches_of(log, source):
    if not os.path.isdir(log):
        return []
    out = subprocess.run([TACHO, "log", "cat", "--source", source, log], capture_output=True, text=True, timeout=30)
    return [json.loads(line) for line in out.stdout.splitlines()]


def problems_of(control):
    """What each instance complains of now."""
    out = subprocess.run([TACHO, "status", "--json"], env=dict(os.environ, TACHO_CONTROL=control),
                         capture_output=True, text=True, timeout=30)
    return out.stdout


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_for(what, condition):
    end = time.monotonic() + 20
    while not condition():
        check(time.monotonic() < end, f"waited in vain for {what}")
        time.sleep(0.1)


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "tacho.conf")
        log = os.path.join(folder, "log")
        control = os.path.join(folder, "control")
        with open(path, "w", encoding="utf-8") as file:
            file.write(CONFIG.format(folder=folder))
        for name, text in PROGRAMS.items():
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(f"echo $$ >> pids\n{text}\n")
        with subprocess.Popen([TACHO, "run", "-q", "-c", path], stderr=subprocess.PIPE, text=True) as daemon:
            try:
                wait_for("readings of once", lambda: len(batches_of(log, "once")) >= 3)
                wait_for("a second run of stream", lambda: len(batches_of(log, "stream")) >= 6)
                wait_for("the end of broken", lambda: "exit code 3: no sensor" in problems_of(control))
                wait_for("the end of slow", lambda: "not done after 100 ms" in problems_of(control))
            finally:
                daemon.send_signal(signal.SIGTERM)
                try:
                    _, complaints = daemon.communicate(timeout=10)
                except subprocess.TimeoutExpired:
                    daemon.kill()
                    sys.exit("FAIL: the daemon did not stop")
            check(daemon.returncode == 0, f"the daemon ended with {daemon.returncode}: {complaints}")
            check("sh: no sensor" in complaints, f"standard error is not in the log: {complaints}")
        entity = batches_of(log, "once")[0]["entities"][0]
        check((entity["kind"], entity["key"]) == ("host", "node"), f"entity {entity}")
        check(entity["values"] == {"room.temperature": 21.5}, f"values {entity['values']}")
        check(entity["absent"] == {"gpu.power": "error"}, f"absent {entity['absent']}")
        counts = [batch["entities"][0]["values"]["tick.count"] for batch in batches_of(log, "stream")]
        check(counts[:6] == [1, 2, 3, 1, 2, 3], f"counts {counts}")
        with open(os.path.join(folder, "pids"), encoding="utf-8") as file:
            left = [pid for pid in file.read().split() if alive(pid)]
        check(not left, f"left running: {left}")
        print(f"{len(counts)} lines of a stream, nothing left running")


main()
