"""Run the measurements of docs/measured.md and write that page.

    python -m benchmarks.measured --locomo PATH --nanobot PROGRAM    everything, about an hour and a half
    python -m benchmarks.measured --only capture cost                these sections; the others stay as they are

A section consists of a text, the command, and lines of the command's output, unchanged. It says when, where and with
which commit it was measured. `--locomo` is LoCoMo's JSON file, `--nanobot` the program in an environment of its own,
and `--plain` a Python that has only the packages of requirements.lock.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shlex
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "measured.md"
LOCOMO, NANOBOT, PLAIN, YEAR_DATA = "PATH", "NANOBOT", "PYTHON", "FOLDER"
"""Placeholders for paths of this machine, which the page doesn't show."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """A section of the page.

    Attributes:
        commands: modules of this package with their arguments. LOCOMO and the others are placeholders in them.
        lines: a regular expression, searched in each line of output. Lines without it are left out.
    """

    name: str
    title: str
    text: str
    commands: tuple[str, ...]
    lines: str = ""


MEASUREMENTS = (
    Measurement(
        "retrieval",
        "Finding the right messages",
        """\
LoCoMo (Maharana et al., ACL 2024) has long conversations and questions, with the messages that answer them. R@10 is the
share of those messages among the first ten results. BM25 and the cosine similarity rank the same messages. These are
the dialogues that the ranking was fitted to, which favours Mneme a little; [retrieval.md](retrieval.md) says more, and
how to get the data.

Published R@10 for LoCoMo, measured by others and perhaps counted in another way: 68.9 with OpenAI's
text-embedding-3-small and 76.3 with EvoEmbedding (both in arXiv 2606.21649).""",
        (f"locomo {LOCOMO} --peers --embedder",),
    ),
    Measurement(
        "languages",
        "Questions in other words and other languages",
        """\
Facts among 1,000 ordinary messages, and questions that share almost no word with them: the share of questions that find
their fact among the first ten results, for the half of the facts that the ranking was not fitted to. The goal was 65 in
each language. Of the multilingual embedding models that were found in a package registry,
`multilingual-e5-small` finds most ([decision 24](decisions/024-one-embedder-for-all-languages.md)). Others can be
measured with `--base-url` and `--model` at an embedding server.""",
        ("languages --embedder",),
    ),
    Measurement(
        "capture",
        "Noticing facts in single messages",
        """\
Sentences that were labelled by hand and never used for tuning. Precision is the share of captured sentences that state
a fact to keep: the rest are false notes. Recall is the share of such sentences that were captured at once. The others
are left to learning from the whole conversation.""",
        ("capture",),
        "precision|holdout",
    ),
    Measurement(
        "grounding",
        "Inventions of the model",
        """\
Facts as a capable model extracts them from conversations in seven languages, and inventions as a careless one does, all
with a message and its words as evidence. Only confirmed facts are used in prompts. The second opinion is always right
in the first table, missing in the second, and agrees to everything in the third, which is the worst case.""",
        ("grounding --look right", "grounding --look none", "grounding --look agrees"),
        r"^ +number |\ball\b",
    ),
    Measurement(
        "year",
        "A simulated year",
        """\
A person tells, changes and asks for things in two languages, 4,700 messages in a year. "right" is the share of
questions with the current fact in the request, "beside" with an outdated value next to it, "alone" with only an
outdated one. "stale" counts outdated values that are still current in memory, "repeats" is the share of a prompt that
repeats the previous one, so that providers bill it as cached. The scripted model makes no mistakes: this measures
memory, not a model. Then the real bot starts with this memory and answers 2,000 messages in one conversation, without a
restart.""",
        (f"year --keep {YEAR_DATA}", f"footprint --data {YEAR_DATA} --python {PLAIN}"),
    ),
    Measurement(
        "storm",
        "Kills, faults and power cuts",
        """\
The real bot is killed at random moments, 200 times, while people write, remember, undo, import and approve. Telegram
returns errors, loses answers and stalls, and what wasn't synced to disk is lost. All counts at the end should be 0.""",
        ("storm --kills 200 --faults --power-cut",),
    ),
    Measurement(
        "load",
        "Many chats at once",
        "100 chats write three messages each to a model that needs two seconds; some of them say /stop.",
        ("load --chats 100",),
    ),
    Measurement(
        "footprint",
        "Memory and processor",
        """\
The bot with only the packages of requirements.lock. A one-off turn (`mneme chat -m hello`) alternates with one of
nanobot, with the same scripted model.""",
        (f"footprint --python {PLAIN} --nanobot {NANOBOT}",),
    ),
    Measurement(
        "cost",
        "Cost of a message",
        """\
Dollars a month for 50 messages a day at list prices, computed from the tokens of requests with the whole memory and all
tools, with and without the provider's prompt cache.""",
        ("monthly_cost",),
    ),
)

HEAD = """\
# Measurements

Every figure here was printed by a command of this repository, which you can run yourself. This page is written by
`python -m benchmarks.measured`. Where the output has no unit, shares are in percent and times in milliseconds.

"""
TAIL = """\
## Not measured

Nothing above tells how well a hosted model answers, since that needs an account. Two commands measure it with your own
key: the first holds the conversations of a first day and says what works, the second asks LoCoMo's questions, has the
answers judged, and prints the share of right ones.

```sh
python -m benchmarks.live --model MODEL
python -m benchmarks.answers PATH --model MODEL --limit 100
```

Other memory systems publish such shares for LoCoMo. They can't be compared with each other, let alone with the figures
above, since answering model, judge and prompts differ: Mem0 reports 66.9 for itself and 66.0 for Zep (arXiv 2504.19413,
2025), Zep reports 75.1 for itself (its blog, 2025), and Letta 74.0 for an agent that searches in files (its blog,
2025). True Memory reports 93.0, and 61.4 for Mem0 with the same answering model (arXiv 2605.04897, 2026).

[comparison.md](comparison.md) compares features.
"""


def measure(measurement: Measurement, paths: Mapping[str, str]) -> str:
    """Run the commands of a measurement and return its section."""
    blocks = []
    for command in measurement.commands:
        shown = f"python -m benchmarks.{command}"
        print(f"Running {shown} ...", file=sys.stderr, flush=True)
        words = [paths.get(word, word) for word in command.split()]
        output = _run([sys.executable, "-m", f"benchmarks.{words[0]}", *words[1:]])
        blocks.append(f"```\n$ {shown}\n{_choose_lines(output, measurement.lines, paths)}\n```\n")
    commit = _run(["git", "rev-parse", "--short=8", "HEAD"]).strip()
    measured_on = f"Measured on {time.strftime('%Y-%m-%d')}, {_describe_machine()}, commit {commit}."
    return "\n".join((f"## {measurement.title}\n", f"{measurement.text}\n", *blocks, f"{measured_on}\n\n"))


def _run(command: Sequence[str]) -> str:
    done = subprocess.run(  # noqa: S603  # Our own commands
        command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False, env=os.environ | {"COLUMNS": "110"}
    )
    if done.returncode != 0:
        raise SystemExit(f"{shlex.join(command)} ended with status {done.returncode}.")
    return done.stdout


def _choose_lines(output: str, pattern: str, paths: Mapping[str, str]) -> str:
    """Return the lines with `pattern`, without paths of this machine."""
    for shown, path in paths.items():
        output = output.replace(path, shown)
    kept = [line.rstrip() for line in output.splitlines() if re.search(pattern, line)]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip("\n")


def _describe_machine() -> str:
    models = re.findall(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.MULTILINE)
    versions = f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}"
    return f"{os.cpu_count()} cores of {models[0] if models else platform.machine()}, {versions}"


def split_sections(page: str) -> dict[str, str]:
    """Return the sections of a page by title."""
    parts = re.split(r"^## (.+)\n", page, flags=re.MULTILINE)
    return {title: f"## {title}\n{text}" for title, text in zip(parts[1::2], parts[2::2], strict=True)}


def build_page(sections: Mapping[str, str]) -> str:
    """Return the page with the given sections, by title, in the order of the measurements."""
    existing = (sections[measurement.title] for measurement in MEASUREMENTS if measurement.title in sections)
    return HEAD + "".join(existing) + TAIL


def main() -> None:
    """Run the chosen measurements, and write the page after each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=[one.name for one in MEASUREMENTS], help="only these sections")
    parser.add_argument("--locomo", metavar="PATH", help="LoCoMo's JSON file")
    parser.add_argument("--nanobot", metavar="PROGRAM", help="nanobot's program")
    parser.add_argument("--plain", metavar="PYTHON", default=sys.executable, help="Python that runs the bot")
    arguments = parser.parse_args()
    chosen = [one for one in MEASUREMENTS if arguments.only is None or one.name in arguments.only]
    with tempfile.TemporaryDirectory() as folder:
        paths = {YEAR_DATA: str(Path(folder) / "data"), PLAIN: arguments.plain}
        paths |= {LOCOMO: arguments.locomo} if arguments.locomo else {}
        paths |= {NANOBOT: arguments.nanobot} if arguments.nanobot else {}
        needed = {word for one in chosen for command in one.commands for word in command.split()}
        for missing, option in ((LOCOMO, "--locomo"), (NANOBOT, "--nanobot")):
            if missing in needed and missing not in paths:
                parser.error(f"These measurements need {option}.")
        sections = split_sections(PAGE.read_text(encoding="utf-8")) if PAGE.exists() else {}
        for measurement in chosen:
            sections[measurement.title] = measure(measurement, paths)
            PAGE.write_text(build_page(sections), encoding="utf-8")


if __name__ == "__main__":
    main()
