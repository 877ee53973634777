"""Tests of hostile files: each is refused with a sentence, within limits of memory and time."""

from __future__ import annotations

import asyncio
import io
import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.features.imports.pages import PageReader
from bot.features.imports.source import write_temporarily
from bot.kernel import App
from config.json_stream import (
    CHUNK_BYTES,
    MAX_DEPTH,
    MAX_KEY_BYTES,
    MAX_NUMBER_BYTES,
    MAX_STRING_BYTES,
    MAX_VALUE_BYTES,
    MAX_VALUE_ITEMS,
    BoundedJson,
    TooComplex,
    parse_values,
)
from memory.errors import MnemeError
from tests.features.imports.test_import import export_contents, run_import
from tests.support.hostile_files import create_hostile_imports

ROOT = Path(__file__).parents[2]
LIMIT_MB = 330
"""Maximum memory of an import, including the program itself."""
MAX_SECONDS = 110


async def test_hostile_imports_end_in_a_sentence_within_bounds(tmp_path: Path) -> None:
    files = create_hostile_imports()
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    child = await asyncio.create_subprocess_exec(
        *(
            sys.executable,
            "-m",
            "tests.features.imports.import_child",
            str(LIMIT_MB),
            *(str(tmp_path / n) for n in files),
        ),
        stdout=asyncio.subprocess.PIPE,
        cwd=ROOT,
    )
    async with asyncio.timeout(MAX_SECONDS):
        printed, _ = await child.communicate()
    answers = {row["file"]: row["answer"] for row in map(json.loads, printed.splitlines())}
    assert child.returncode == 0, f"it ended at {[*files][len(answers) :][:1]}"
    refused = {name for name, answer in answers.items() if "nothing was imported" in answer}
    # These are readable. Texts that are too long in them are cut or left out.
    assert set(files) - refused == {
        *("citations.json", "deep_line.jsonl", "list_memory.jsonl", "lone_surrogates.json", "long_name.jsonl"),
        *("formatted.html", "nested.html", "notes.md", "omitted.txt", "passwords.txt", "section.md", "tags.json"),
    }


async def test_hostile_imports_change_nothing(app: App, tmp_path: Path) -> None:
    before = await export_contents(app, tmp_path / "before")
    files = create_hostile_imports()
    for name in ("nested.json", "long_key.json", "many_nested.zip", "far_dates.json"):
        (tmp_path / name).write_bytes(files[name])
        with pytest.raises(MnemeError, match="nothing was imported"):
            await run_import(app, tmp_path / name)
    assert await export_contents(app, tmp_path / "after") == before


@pytest.mark.parametrize(
    "document",
    [
        "[" * (MAX_DEPTH + 1),
        '{"a":' * (MAX_DEPTH + 1),
        json.dumps({"k" * (MAX_KEY_BYTES + 1): 1}),
        json.dumps([{"a": 1}, {'k"\\' * MAX_KEY_BYTES: 1}]),
        json.dumps(["x" * (MAX_STRING_BYTES + 1)]),
        f"[{'1' * (MAX_NUMBER_BYTES + 1)}]",
        f"[1.{'1' * 9_000}]",
        json.dumps([[0] * MAX_VALUE_ITEMS]),
        json.dumps([["x" * (MAX_VALUE_BYTES // 4)] * 5]),
    ],
    ids=["depth", "objects", "key", "escaped", "string", "number", "fraction", "items", "bytes"],
)
def test_json_beyond_a_limit_is_refused(document: str) -> None:
    with pytest.raises(TooComplex):
        list(parse_values(io.BytesIO(document.encode()), "item"))


def test_page_beyond_the_limits_of_the_child_is_refused() -> None:
    pages = PageReader()
    pages.read("telegram", "<p>")
    child = pages._child  # noqa: SLF001  # Its process is killed.
    assert child is not None
    child.process.kill()
    with pytest.raises(TooComplex):
        pages.read("telegram", "<p>")
    pages.close()


LEAVES = st.none() | st.booleans() | st.integers(-(2**62), 2**62) | st.text() | st.sampled_from(['"', "\\", '":', "[{"])


@given(
    value=st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20),
    size=st.integers(1, CHUNK_BYTES),
    ascii_only=st.booleans(),
)
def test_json_within_the_limits_passes_unchanged(value: object, size: int, ascii_only: bool) -> None:
    document = json.dumps(value, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    bounded = BoundedJson(io.BytesIO(document))
    assert b"".join(iter(lambda: bounded.read(size), b"")) == document


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("x." + "a" * 5000, "x"),
        ("x.js\0on", "x.json"),
        ("../../x.json", "x.json"),
        ("x.JSON", "x.json"),
        ("", "sent"),
        ("x.exe", "x"),
        ("WhatsApp Chat with Family.txt", "WhatsApp Chat with Family.txt"),
        ("a" * 500 + ".txt", "a" * 60 + ".txt"),
        ('<|>?*":.txt', "sent.txt"),
    ],
)
async def test_sent_name_keeps_only_its_words_and_a_known_extension(name: str, written: str) -> None:
    async with write_temporarily(name, b"{}") as path:
        assert path.name == written
        assert path.read_bytes() == b"{}"
