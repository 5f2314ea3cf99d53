#!/usr/bin/python3
"""Kills a log's writer again and again while it writes. Whatever was acknowledged is there, nothing in
it is wrong, and it always starts again. TACHO_ROUNDS sets how often."""
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

build = Path(os.environ["TACHO_BUILDDIR"])
writer = build / "tests" / "storewriter"
tacho = build / "tacho"
rounds = int(os.environ.get("TACHO_ROUNDS", "20"))
seed = int(os.environ.get("TACHO_SEED", str(random.randrange(1 << 30))))
random.seed(seed)


def fail(text):
    print(f"FAIL (seed {seed}): {text}")
    sys.exit(1)


def numbers(folder):
    out = subprocess.run([writer, "read", folder], capture_output=True, text=True, timeout=60)
    if out.returncode != 0:
        fail(f"reading: {out.stderr}")
    lines = out.stdout.split()
    if "bad" in lines:
        fail("a batch with wrong values was accepted")
    return [int(line) for line in lines]


def one_round(number, folder, first):
    """Writes until it is killed; returns what it acknowledged."""
    arguments = [f"sync={random.choice([0, 1, 2, 3])}", f"segment={random.choice([4096, 20000, 200000])}",
                 f"compress={random.choice([0, 1])}", f"every={random.choice([1, 1, 3, 50])}",
                 f"cpus={random.choice([1, 4, 16])}"]
    process = subprocess.Popen([writer, "write", folder, str(first), "100000000", *arguments],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    # Some die while they still open the log, others in the middle of a rotation or compression.
    time.sleep(random.choice([0.002, 0.01, random.uniform(0.01, 0.15)]))
    process.send_signal(signal.SIGKILL)
    out, err = process.communicate(timeout=30)
    if process.returncode != -signal.SIGKILL:
        fail(f"round {number}: the writer ended by itself with {process.returncode}: {err.decode()}")
    acks = [int(line.split()[1]) for line in out.decode().splitlines() if line.startswith("ack ")]
    return acks[-1] if acks else first - 1


def main():
    base = Path(tempfile.mkdtemp(prefix="tacho-kill-"))
    folder = base / "log"
    first = 1
    acknowledged = 0
    try:
        for number in range(rounds):
            acknowledged = max(acknowledged, one_round(number, folder, first))
            if not folder.exists():
                continue
            found = numbers(folder)
            if found != list(range(1, len(found) + 1)):
                fail(f"round {number}: the numbers have a hole or come twice")
            if len(found) < acknowledged:
                fail(f"round {number}: {acknowledged} were acknowledged, {len(found)} are there")
            first = len(found) + 1
        # It starts again, a fresh batch goes through, and the log is whole.
        done = subprocess.run([writer, "write", folder, str(first), "10"], capture_output=True,
                              text=True, timeout=60)
        if done.returncode != 0 or numbers(folder)[-1] != first + 9:
            fail(f"the last start: {done.stderr}")
        verified = subprocess.run([tacho, "log", "verify", folder], capture_output=True, text=True,
                                  timeout=120)
        if verified.returncode != 0:
            fail(verified.stdout)
        left = [entry.name for entry in folder.iterdir() if not entry.name.endswith(".msgpack")]
        if left:
            fail(f"left over: {left}")
        print(f"{rounds} rounds, {first + 9} batches, all acknowledged ones there; {verified.stdout.strip()}")
    finally:
        shutil.rmtree(base, ignore_errors=True)


main()
