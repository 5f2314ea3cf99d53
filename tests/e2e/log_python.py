#!/usr/bin/python3
"""The example reader of sinks/msgpack/README.md, as it stands there, on an open and on a compressed log;
and that every file of a log opens with a plain MessagePack reader."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import msgpack
except ImportError:
    print("python3-msgpack is not installed")
    sys.exit(77)

source = Path(os.environ["TACHO_SRCDIR"])
build = Path(os.environ["TACHO_BUILDDIR"])
writer = build / "tests" / "storewriter"
batches, cpus = 300, 3
base = Path(tempfile.mkdtemp(prefix="tacho-python-"))


def fail(text):
    print(f"FAIL: {text}")
    sys.exit(1)


def segments(folder):
    return sorted(folder.glob("*.msgpack"))


def check_plain(folder, kinds):
    """Every value of every file is a frame of six; says which kinds there are."""
    found = set()
    for path in segments(folder):
        with open(path, "rb") as file:
            for frame in msgpack.Unpacker(file):
                if len(frame) != 6 or frame[0] != msgpack.ExtType(0x54, b"ACHO"):
                    fail(f"{path.name}: {frame!r:.200} is no frame")
                found.add(frame[1])
    if found != kinds:
        fail(f"{folder.name}: kinds {found}, expected {kinds}")


def check_example(folder, reader):
    lines = []
    for path in segments(folder):
        done = subprocess.run([sys.executable, reader, path], capture_output=True, text=True, timeout=60)
        if done.returncode != 0:
            fail(f"the example on {path.name}: {done.stderr}")
        lines += done.stdout.splitlines()
    if len(lines) != batches * (1 + cpus):
        fail(f"{folder.name}: {len(lines)} lines, expected {batches * (1 + cpus)}")
    numbers = [int(found) for found in re.findall(r"'test\.number': (\d+)", "\n".join(lines))]
    if numbers != list(range(1, batches + 1)):
        fail(f"{folder.name}: the numbers are not 1 to {batches}")
    if "'test.gauge0': " not in lines[1]:
        fail(f"{folder.name}: unexpected line {lines[1]}")


def main():
    if not shutil.which("zstd"):
        print("the program zstd is not installed")
        sys.exit(77)
    text = (source / "sinks" / "msgpack" / "README.md").read_text()
    reader = base / "reader.py"
    reader.write_text(re.search(r"```python\n(.*?)```", text, re.S).group(1))
    for compress, kinds in ((0, {0, 1, 3, 5}), (1, {0, 2, 5})):
        folder = base / f"log{compress}"
        subprocess.run([writer, "write", folder, "1", str(batches), f"compress={compress}", f"cpus={cpus}",
                        "segment=30000"], check=True, stdout=subprocess.DEVNULL, timeout=60)
        check_plain(folder, kinds)
        check_example(folder, reader)
    print("the example reads plain and compressed logs")


try:
    main()
finally:
    shutil.rmtree(base, ignore_errors=True)
