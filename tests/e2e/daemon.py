# SPDX-License-Identifier: MIT
"""What the tests of the running daemon share: start it, ask it, read what its recorder wrote."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time

BUILD = os.environ["TACHO_BUILDDIR"]
TACHO = os.path.join(BUILD, "tacho")
PATIENCE = 20  # seconds until something that must happen is called missing


def fail(text):
    print("FAIL: " + text)
    sys.exit(1)


def check(truth, text):
    if not truth:
        fail(text)


def wait_for(what, condition, patience=PATIENCE):
    """The first true value of condition(), or the end of the test."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    return fail("waited %d s for: %s" % (patience, what))


class Daemon:
    """A daemon in a folder of its own; `with` ends it whatever happens."""

    def __init__(self, conf, **environment):
        self.folder = tempfile.mkdtemp(prefix="tacho-e2e-")
        self.control = self.path("control")
        self.process = None
        self.environment = dict(os.environ, TACHO_PLUGIN_PATH=BUILD + "/tests/modules/.libs",
                                **environment)
        self.write_conf(conf)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        subprocess.run(["rm", "-rf", self.folder], check=False)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        """Replaces a file at once, so that nobody reads half of it."""
        with open(self.path(name + ".new"), "w", encoding="utf-8") as file:
            file.write(text)
        os.rename(self.path(name + ".new"), self.path(name))

    def write_conf(self, conf):
        head = 'host = "node"; control = "%s"; state_dir = "%s";\n' % (self.control,
                                                                       self.path("state"))
        self.write("tacho.conf", head + conf.replace("@", self.folder + "/"))

    def start(self):
        with open(self.path("stderr"), "ab") as errors:
            self.process = subprocess.Popen([TACHO, "run", "-c", self.path("tacho.conf")],
                                            stdout=subprocess.PIPE, stderr=errors, text=True,
                                            env=self.environment)
        line = self.process.stdout.readline()
        check(line.startswith("tacho "), "the daemon did not start: " + self.log())
        return line

    def log(self):
        with open(self.path("stderr"), encoding="utf-8") as file:
            return file.read()

    def run(self, *words):
        return subprocess.run([TACHO, *words], capture_output=True, text=True, check=False,
                              env=dict(self.environment, TACHO_CONTROL=self.control))

    def call(self, instance, command, *arguments):
        done = self.run("call", instance, command, *arguments)
        check(done.returncode == 0, "call %s %s: %s" % (instance, command, done.stderr))
        return json.loads(done.stdout)

    def status(self):
        return self.call("tacho", "status")

    def instance(self, name):
        return next(i for i in self.status()["instances"] if i["name"] == name)

    def state(self, name):
        return self.instance(name)["state"]

    def events(self, kind):
        return [event for event in self.call("tacho", "events") if event_type(event) == kind]

    def stop(self, how=signal.SIGTERM):
        """Seconds until the daemon had ended, which must be well."""
        begin = time.monotonic()
        self.process.send_signal(how)
        status = self.process.wait(PATIENCE)
        check(status == 0, "the daemon ended with %d: %s" % (status, self.log()))
        return time.monotonic() - begin

    def records(self, source=None, name="record"):
        """What the recorder wrote so far, whole lines only; without events when source is given."""
        try:
            with open(self.path(name), encoding="utf-8") as file:
                lines = file.read().split("\n")[:-1]
        except FileNotFoundError:
            return []
        batches = [json.loads(line) for line in lines]
        if source:
            batches = [b for b in batches if b["source"] == source and event_type(b) is None]
        return batches


def event_type(batch):
    for entity in batch["entities"]:
        if "event.type" in entity["values"]:
            return entity["values"]["event.type"]
    return None


def check_no_gap(batches, what):
    numbers = [batch["seq"] for batch in batches]
    for before, after in zip(numbers, numbers[1:]):
        check(after == before + 1, "%s: %d follows %d" % (what, after, before))
