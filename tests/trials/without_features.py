"""Run the tests without each of the features, and without any.

`python -m tests.trials.without_features [--quick] [--halves | NAME ...]`

For each feature, a temporary clone of the repository loses the feature's folder, its lines in the registry and its
tests, and runs all other tests. `--quick` leaves out the slow tests and those of contracts. Uncommitted changes are not
in the clone.

`--halves` takes a third of the time: six runs are without half of the features, and one without any. For any two
features, the first is missing in a run that has the second. So a test that needs a feature that isn't its own fails.
"""

from __future__ import annotations

import argparse
import itertools
import math
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
NOT_SLOW = ("-m", "not slow")
KERNEL = ("tests/unit", "tests/e2e")
QUICK_FOLDERS = ("tests/features", *KERNEL)


def list_features() -> list[str]:
    return [match[1] for match in IMPORT.finditer((ROOT / REGISTRY).read_text(encoding="utf-8"))]


def choose_halves(names: Sequence[str]) -> list[list[str]]:
    """Return groups of names, so that for any two names a group contains the first without the second.

    Each name is in another half of the groups, so none is in all groups of another one (Sperner's theorem).
    """
    number = next(number for number in itertools.count(2) if math.comb(number, number // 2) >= len(names))
    chosen = dict(zip(names, itertools.combinations(range(number), number // 2), strict=False))
    return [[name for name in names if group in chosen[name]] for group in range(number)]


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
    parser.add_argument("--halves", action="store_true", help="fewer runs, each without half of the features")
    options = parser.parse_args()
    if options.halves and options.names:
        parser.error("--halves takes no names")
    features, has_failed = list_features(), False
    names = options.names or [*features, NONE]
    runs = [features if name == NONE else [name] for name in names]
    if options.halves:
        runs = [*choose_halves(features), features]
    print(f"{'passed':>6} {'skipped':>7} {'failed':>6} without", flush=True)
    for missing in runs:
        is_kernel = missing == features
        folders = KERNEL if is_kernel else QUICK_FOLDERS if options.quick else ()
        passed, skipped, failed = try_without(missing, *(NOT_SLOW if options.quick else ()), *folders)
        print(f"{passed:>6} {skipped:>7} {len(failed):>6} {NONE if is_kernel else ' '.join(missing)}", flush=True)
        for test in failed:
            print(f"  {test}", flush=True)
        has_failed = has_failed or bool(failed)
    raise SystemExit(has_failed)


if __name__ == "__main__":
    main()
