"""Run the tests without each of the features, and without any.

`python -m tests.trials.without_features [--quick] [NAME ...]`

For each feature, a temporary clone of the repository loses the feature's folder, its lines in the registry and its
tests, and runs all other tests. `--quick` leaves out the slow tests and those of contracts. Uncommitted changes are not
in the clone.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[2]
REGISTRY = Path("bot", "features", "registry.py")
NONE = "none"
"""The name of the run without any feature, which runs the kernel's tests."""
IMPORT = re.compile(r"^from bot\.features\.(\w+)\.feature import (\w+)\n", re.MULTILINE)
QUICK = ("-m", "not slow", "tests/features", "tests/unit", "tests/e2e")
KERNEL = ("tests/unit", "tests/e2e")


def list_features() -> list[str]:
    return [match[1] for match in IMPORT.finditer((ROOT / REGISTRY).read_text(encoding="utf-8"))]


def remove_feature(clone: Path, name: str) -> None:
    """Delete a feature, its tests, and its lines in the registry."""
    registry = clone / REGISTRY
    text = registry.read_text(encoding="utf-8")
    kind = next(match[2] for match in IMPORT.finditer(text) if match[1] == name)
    text = re.sub(rf"^(?:from .* import |    ){kind},?\n", "", text, flags=re.MULTILINE)
    registry.write_text(text, encoding="utf-8")
    shutil.rmtree(clone / "bot" / "features" / name)
    shutil.rmtree(clone / "tests" / "features" / name, ignore_errors=True)


def run_tests(clone: Path, *arguments: str) -> tuple[int, int, list[str]]:
    """Return the number of passed tests, the number of skipped ones, and the names of those that failed."""
    report = clone / "report.xml"
    command = [sys.executable, "-m", "pytest", "--numprocesses", "auto", "--dist", "loadfile", f"--junitxml={report}"]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPATH"] = str(clone)  # Before the installed package, also in child processes.
    done = subprocess.run(  # noqa: S603  # our own words
        [*command, *arguments], cwd=clone, env=environment, capture_output=True, text=True, check=False
    )
    if not report.exists():
        raise SystemExit(done.stdout + done.stderr)
    cases = list(ElementTree.parse(report).iter("testcase"))  # noqa: S314  # pytest has written it
    failed = [case for case in cases if case.find("failure") is not None or case.find("error") is not None]
    skipped = sum(case.find("skipped") is not None for case in cases)
    names = [f"{case.get('classname', '')}::{case.get('name')}" for case in failed]
    return len(cases) - len(failed) - skipped, skipped, names


def try_without(names: Sequence[str], *arguments: str) -> tuple[int, int, list[str]]:
    """Run the tests in a clone without these features."""
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder) / "clone"
        git = shutil.which("git") or "git"
        subprocess.run([git, "clone", "--quiet", "--local", str(ROOT), str(clone)], check=True)  # noqa: S603  # the same
        for name in names:
            remove_feature(clone, name)
        return run_tests(clone, *arguments)


def main() -> None:
    """Print a row for each run, with the tests that failed below it. Exit with 1 if there are any."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"a feature, or {NONE}; by default all of them")
    parser.add_argument("--quick", action="store_true", help="only tests/features and the kernel's fast tests")
    options = parser.parse_args()
    features, has_failed = list_features(), False
    print(f"{'without':<14} {'passed':>6} {'skipped':>7} {'failed':>6}", flush=True)
    for name in options.names or [*features, NONE]:
        arguments: tuple[str, ...] = QUICK if options.quick else ()
        if name == NONE:
            arguments = (*QUICK[:2], *KERNEL) if options.quick else KERNEL
        passed, skipped, failed = try_without(features if name == NONE else [name], *arguments)
        print(f"{name:<14} {passed:>6} {skipped:>7} {len(failed):>6}", flush=True)
        for test in failed:
            print(f"  {test}", flush=True)
        has_failed = has_failed or bool(failed)
    raise SystemExit(has_failed)


if __name__ == "__main__":
    main()
