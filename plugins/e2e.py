#!/usr/bin/python3
"""The examples of plugins/README.md: each is built from the text as it stands there, with warnings as errors; the
whole plugins are loaded, and run together in one daemon."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

TACHO = os.path.join(os.environ["TACHO_BUILDDIR"], "tacho")
SOURCE = os.environ["TACHO_SRCDIR"]
FLAGS = ["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Werror", "-I."]
CONFIG = """
control = "{folder}/control";
state_dir = "{folder}/state";
providers = ( {{ plugin = "files"; interval = "50ms"; }} );
sinks = ( {{ plugin = "lines"; }} );
services = ( {{ plugin = "sources"; }} );
"""


def check(good, what):
    if not good:
        sys.exit(f"FAIL: {what}")


def run(*command):
    out = subprocess.run(command, capture_output=True, text=True, timeout=60)
    check(out.returncode == 0, f"{' '.join(command)}: {out.stdout}{out.stderr}")
    return out.stdout


def examples():
    """File name to text: blocks of the same name belong together."""
    with open(os.path.join(SOURCE, "plugins/README.md"), encoding="utf-8") as file:
        text = file.read()
    found = {}
    for name, body in re.findall(r"^```c (\S+)\n(.*?)^```$", text, re.M | re.S):
        found[name] = found.get(name, "") + body
    check("```c\n" not in text, "an example without a name is not tested")
    return found


def build(name, text, compiler):
    whole = "tacho_plugin_v1" in text
    if not whole:
        text = "#include <tacho/plugin.h>\n" + text
    with open(name, "w", encoding="utf-8") as file:
        file.write(text)
    if whole:
        run(*compiler, *FLAGS, "-fPIC", "-shared", "-fvisibility=hidden", "-Wl,-z,defs", "-o", name[:-1] + "so", name)
        run(TACHO, "plugin", "show", "./" + name[:-1] + "so")
    else:
        run(*compiler, *FLAGS, "-Wno-unused-function", "-fsyntax-only", name)


def ask(control):
    """What the service answers, or nothing while it cannot."""
    out = subprocess.run([TACHO, "call", "sources", "count"], env=dict(os.environ, TACHO_CONTROL=control),
                         capture_output=True, text=True, timeout=30)
    return json.loads(out.stdout) if out.returncode == 0 else {}


def run_all(folder):
    """The three plugins in one daemon: the sink prints what the provider saw, the service counts."""
    with open("tacho.conf", "w", encoding="utf-8") as file:
        file.write(CONFIG.format(folder=folder))
    os.environ["TACHO_PLUGIN_PATH"] = folder
    with open("out", "w", encoding="utf-8") as out, subprocess.Popen(
            [TACHO, "run", "-q", "-c", "tacho.conf"], stdout=out) as daemon:
        end = time.monotonic() + 20
        while time.monotonic() < end and daemon.poll() is None:
            time.sleep(0.1)
            if ask(f"{folder}/control").get("count", 0) >= 1 and os.path.getsize("out") > 0:
                break
        count = ask(f"{folder}/control").get("count", 0)
        daemon.send_signal(signal.SIGTERM)
        try:
            check(daemon.wait(timeout=10) == 0, f"the daemon ended with {daemon.returncode}")
        except subprocess.TimeoutExpired:
            daemon.kill()
            sys.exit("FAIL: the daemon did not stop")
    check(count >= 1, "the service counts no source")
    with open("out", encoding="utf-8") as file:
        seen = [json.loads(line) for line in file]
    values = [batch["entities"][0]["values"] for batch in seen if batch["source"] == "files"]
    check(values and values[0]["files.open"] > 0 and values[0]["files.limit"] > 0, f"values {values[:1]}")
    return len(values)


def main():
    compiler = (os.environ.get("CC") or "cc").split()
    if not shutil.which(compiler[0]):
        print("no C compiler")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.mkdir("tacho")
        shutil.copy(os.path.join(SOURCE, "core/plugin.h"), "tacho/plugin.h")
        found = examples()
        check({"files.c", "event.c", "lines.c", "sources.c"} <= set(found), f"only {sorted(found)}")
        for name, text in found.items():
            build(name, text, compiler)
        print(f"{len(found)} examples built, {run_all(folder)} readings")
        os.chdir("/")


main()
