#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The examples of core/FORMATS.md against what the encoders say about the same batch."""
import json
import os
import re
import subprocess
import sys

PRINT = os.path.join(os.environ["TACHO_BUILDDIR"], "tests/core/print_samples")
PAGE = os.path.join(os.environ["TACHO_SRCDIR"], "core/FORMATS.md")


def printed(name):
    return subprocess.run([PRINT, name], check=True, capture_output=True).stdout


def block(text, name):
    found = re.findall(rf"^```{name}\n(.*?)^```$", text, re.M | re.S)
    assert len(found) == 1, f"{name}: {len(found)} examples"
    return found[0]


def check_openmetrics(text):
    page = printed("openmetrics").decode().splitlines()
    at = -1
    for line in block(text, "openmetrics").splitlines():
        assert line in page, f"not on the page: {line}"
        assert page.index(line) > at, f"not in this order: {line}"
        at = page.index(line)


def check_rows(text):
    bytes_seen = bytearray()
    for line in block(text, "hex rows").splitlines():
        bytes_seen += bytes.fromhex(re.match(r"([0-9a-f]{2} ?)+(?= |$)", line)[0])
    assert bytes(bytes_seen) == printed("msgpack"), "the bytes of the rows differ"


def check_schema(text):
    try:
        import msgpack
    except ImportError:
        print("skipped: the schema, python3-msgpack is not installed")
        return
    wanted = json.loads(block(text, "json schema"))
    assert msgpack.unpackb(printed("schema")) == wanted, "the schema differs"
    rows = msgpack.unpackb(printed("msgpack"))
    assert rows[0] == wanted["id"] and len(rows[7]) == len(wanted["entities"])


def main():
    with open(PAGE, encoding="utf-8") as file:
        text = file.read()
    assert json.loads(block(text, "json batch")) == json.loads(printed("json")), "the JSON differs"
    check_openmetrics(text)
    check_rows(text)
    check_schema(text)
    print("FORMATS.md: all examples are what the encoders say")
    return 0


if __name__ == "__main__":
    sys.exit(main())
