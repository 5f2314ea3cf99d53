#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""OpenMetrics pages as others read them: Prometheus' own Python parser, and promtool.

promtool knows the older text format only, in which a counter's description carries the name of its
samples, so "x" becomes "x_total" there for it.
"""
import os
import re
import shutil
import subprocess
import sys

PRINT = os.path.join(os.environ["TACHO_BUILDDIR"], "tests/core/print_samples")
PAGES = [["openmetrics"]] + [["random", str(seed)] for seed in range(20)]
SKIP = 77


def page(arguments):
    return subprocess.run([PRINT] + arguments, check=True, capture_output=True).stdout.decode()


def check_parser(parse):
    seen = 0
    for arguments in PAGES:
        series = set()
        for family in parse(page(arguments)):
            for sample in family.samples:
                key = (sample.name, tuple(sorted(sample.labels.items())))
                assert key not in series, f"{arguments}: twice: {key}"
                series.add(key)
        seen += len(series)
    print(f"parser: {seen} series in {len(PAGES)} pages")
    assert seen > 1000


def check_fixed(parse):
    samples = {}
    for family in parse(page(["openmetrics"])):
        for sample in family.samples:
            samples.setdefault(sample.name, []).append(sample)
    ratio = samples["tacho_gpu_utilization_ratio"][0]
    assert ratio.value == 0.975 and ratio.labels["gpu"] == "0", ratio
    assert samples["tacho_gpu_energy_joules_total"][0].value == 123456789.012
    process = samples["tacho_gpu_process_memory_bytes"][0].labels
    assert process["command"] == 'train "run\\7"\n\u00fc \ufffd', process
    assert process["uuid"].startswith("GPU-") and process["process"] == "4711", process
    assert "tacho_gpu_fan_ratio" not in samples, "absent is not zero"
    assert sum(s.value for s in samples["tacho_gpu_throttle"]) == 2


def as_text_format(text):
    counters = set(re.findall(r"^# TYPE (\S+) counter$", text, re.M))
    return re.sub(r"^# (TYPE|HELP|UNIT) (\S+)",
                  lambda m: m[0] + "_total" if m[2] in counters else m[0], text, flags=re.M)


def check_promtool():
    run = subprocess.run(["promtool", "check", "metrics"], input=as_text_format(page(["openmetrics"])),
                         text=True, capture_output=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    print("promtool: no problem in the fixed page")


def main():
    ran = False
    try:
        from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse
        check_parser(parse)
        check_fixed(parse)
        ran = True
    except ImportError:
        print("skipped: python3-prometheus-client is not installed")
    if shutil.which("promtool"):
        check_promtool()
        ran = True
    else:
        print("skipped: promtool is not installed")
    return 0 if ran else SKIP


if __name__ == "__main__":
    sys.exit(main())
