#!/usr/bin/python3
"""The subcommands of `tacho log` on a whole log, on a damaged one, and on one in use."""
import csv
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

build = Path(os.environ["TACHO_BUILDDIR"])
writer = build / "tests" / "storewriter"
tacho = build / "tacho"
base = Path(tempfile.mkdtemp(prefix="tacho-log-"))
BATCHES, CPUS, START = 400, 2, 1700000000


def fail(text):
    print(f"FAIL: {text}")
    sys.exit(1)


def expect(condition, text):
    if not condition:
        fail(text)


def log(*arguments, status=0):
    done = subprocess.run([tacho, "log", *map(str, arguments)], capture_output=True, text=True, timeout=60)
    expect(done.returncode == status,
           f"tacho log {arguments}: status {done.returncode}, expected {status}\n{done.stdout}{done.stderr}")
    return done.stdout


def write(folder, *settings):
    subprocess.run([writer, "write", folder, "1", str(BATCHES), f"cpus={CPUS}", "segment=20000", *settings],
                   check=True, stdout=subprocess.DEVNULL, timeout=60)


def check_whole(folder):
    rows = json.loads(log("ls", "--json", folder))
    expect(len(rows) > 3 and all(row["sealed"] for row in rows), f"ls: {rows}")
    expect(sum(row["frames"] for row in rows) == BATCHES, "ls: the batches do not add up")
    expect(len(log("ls", folder).splitlines()) == len(rows) + 1, "ls: lines")
    stat = json.loads(log("stat", "--json", folder))
    expect(stat["batches"] == BATCHES and stat["damaged_places"] == 0, f"stat: {stat}")
    expect([(s["source"], s["first_seq"], s["last_seq"], s["missing"]) for s in stat["sources"]]
           == [("test", 1, BATCHES, 0)], f"stat: {stat['sources']}")
    expect("400" in log("stat", folder), "stat")
    expect(json.loads(log("verify", "--json", folder))["ok"], "verify")
    log("verify", folder)


def check_export(folder):
    batches = [json.loads(line) for line in log("cat", folder).splitlines()]
    expect([b["seq"] for b in batches] == list(range(1, BATCHES + 1)), "cat: not every batch once")
    part = log("cat", "--from", f"@{START + 100}", "--to", f"@{START + 200}", "--source", "te*", folder)
    expect([json.loads(line)["seq"] for line in part.splitlines()] == list(range(100, 200)), "cat: time range")
    expect(log("cat", "--source", "other", folder) == "", "cat: source")
    one = json.loads(log("cat", "--metric", "test.count*", "--to", f"@{START + 2}", folder))
    values = [entity["values"] for entity in one["entities"] if entity["kind"] == "cpu"]
    expect(len(values) == CPUS and all(sorted(v) == [f"test.count{i}" for i in range(4)] for v in values),
           f"cat --metric: {one}")

    output = base / "out.csv"
    log("export", "--format", "csv", "--metric", "test.number", "-o", output, folder)
    rows = list(csv.DictReader(io.StringIO(output.read_text())))
    expect([int(row["value"]) for row in rows] == list(range(1, BATCHES + 1)), "csv: numbers")
    expect(rows[0]["metric"] == "test.number" and rows[0]["kind"] == "host", f"csv: {rows[0]}")
    absent = list(csv.DictReader(io.StringIO(log("export", "--format", "csv", "--metric", "test.absent", folder))))
    expect(absent[0]["value"] == "" and absent[0]["absent"] == "unsupported", f"csv: {absent[0]}")
    check_openmetrics(folder)


def check_openmetrics(folder):
    page = log("export", "--format", "openmetrics", "--to", f"@{START + 50}", folder)
    lines = page.splitlines()
    expect(lines[-1] == "# EOF", "openmetrics: no end")
    series = {}
    families = []
    for line in lines[:-1]:
        if line.startswith("# TYPE "):
            families.append(line.split()[2])
        elif not line.startswith("#"):
            name, rest = line.rsplit("} ", 1)
            series.setdefault(name, []).append(float(rest.split()[1]))
    expect(len(families) == len(set(families)), "openmetrics: a family comes twice")
    expect(all(times == sorted(times) and len(times) == len(set(times)) for times in series.values()),
           "openmetrics: times of a series do not grow")
    numbers = [times for name, times in series.items() if name.startswith("tacho_test_number_total{")]
    expect(numbers == [[float(START + i) for i in range(1, 50)]], f"openmetrics: {numbers}")
    if shutil.which("promtool"):
        (base / "page").write_text(page)
        done = subprocess.run(["promtool", "tsdb", "create-blocks-from", "openmetrics", base / "page", base / "tsdb"],
                              capture_output=True, text=True, timeout=60)
        expect(done.returncode == 0, f"promtool: {done.stderr}")


def check_damaged(folder):
    victim = sorted(folder.glob("*.msgpack"))[1]
    data = bytearray(victim.read_bytes())
    data[len(data) // 2] ^= 0x10
    victim.write_bytes(data)
    found = json.loads(log("verify", "--json", folder, status=1))
    expect(not found["ok"] and all(p["segment"] == victim.name or "missing" in p["problem"] for p in found["problems"]),
           f"verify: {found}")
    expect(victim.name in log("verify", folder, status=1), "verify: does not name the segment")
    expect(json.loads(log("stat", "--json", folder))["damaged_places"] == 1, "stat: damage")
    before = log("cat", folder)

    log("repair", folder, status=2)
    copy = base / "repaired"
    log("repair", "-o", copy, folder)
    log("verify", copy)
    expect(log("cat", copy) == before, "repair: the copy lost or changed a batch")
    gaps = json.loads(log("stat", "--json", copy))["gaps"]
    expect([gap["reason"] for gap in gaps] == ["damaged"], f"repair: {gaps}")
    expect(bytes(data) == victim.read_bytes(), "repair -o changed the original")

    log("repair", "--in-place", folder)
    log("verify", folder)
    expect(log("cat", folder) == before, "repair in place lost or changed a batch")
    expect(Path(f"{victim}.damaged").read_bytes() == bytes(data), "repair: no copy of the damaged segment")


def check_torn(folder):
    last = sorted(folder.glob("*.msgpack"))[-1]
    cut = base / "cut.msgpack"
    cut.write_bytes(last.read_bytes()[:-10])
    expect("ends within a frame" in log("verify", cut, status=1), "verify: torn end")


def check_in_use():
    folder = base / "live"
    process = subprocess.Popen([writer, "write", folder, "1", "100000000", "every=1", "pause_us=500"],
                               stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 20
        while not list(folder.glob("*.msgpack")) and time.monotonic() < deadline:
            time.sleep(0.05)
        log("verify", folder)
        expect(json.loads(log("stat", "--json", folder))["being_written"], "stat: being written")
        log("repair", "--in-place", folder, status=75)
        follow = subprocess.Popen([tacho, "log", "cat", "-f", folder], stdout=subprocess.PIPE, text=True)
        seen = [json.loads(follow.stdout.readline())["seq"] for _ in range(2000)]
        follow.terminate()
        follow.communicate(timeout=20)
        expect(seen == list(range(1, 2001)), "cat -f: not every batch once")
    finally:
        process.terminate()
        process.wait(timeout=20)


def main():
    log("ls", base / "nowhere", status=69)
    log("cat", status=2)
    log("cat", "--from", "noon", base, status=2)
    log("export", "--format", "xml", base, status=2)
    log("nonsense", base, status=2)
    for name in ("ls", "cat", "stat", "verify", "repair", "export"):
        expect(log(name, "--help").startswith("usage: tacho log " + name), f"{name} --help")
    for compress in (0, 1):
        folder = base / f"log{compress}"
        write(folder, f"compress={compress}")
        check_whole(folder)
        check_torn(folder)
        check_export(folder)
        if compress == 0:
            check_damaged(folder)
    check_in_use()
    print("ls, cat, stat, verify, repair and export do what they say")


try:
    main()
finally:
    shutil.rmtree(base, ignore_errors=True)
