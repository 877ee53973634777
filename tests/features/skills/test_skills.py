"""Tests of skills: valid files, their prompt section, and accepted zip files."""

from __future__ import annotations

import io
import os
import stat
import sys
import zipfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.features.skills.folder import (
    MAX_PACKAGE_BYTES,
    MAX_PROMPT_TOKENS,
    Skill,
    SkillRefused,
    Skills,
    build_skill_prompt,
    make_package,
    read_package,
    read_skill,
)
from memory.text.tokens import TokenCounter
from tests.support.hostile_skills import create_hostile_skills, create_skill

TRAINS = """\
---
name: trains
description: >
  Looks up trains. Use it when
  the user travels.
---

# Trains
Ask where to.
"""


def create_zip(*files: tuple[str | zipfile.ZipInfo, str | bytes]) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files:
            archive.writestr(name, content)
    return held.getvalue()


def install_skill(root: Path, name: str, text: str, **others: str) -> Path:
    folder = root / "skills" / name
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(text)
    for other, content in others.items():
        (folder / other).write_text(content)
    return folder


def test_skill_in_the_open_format_is_read() -> None:
    assert read_skill(TRAINS) == Skill("trains", "Looks up trains. Use it when the user travels.")
    assert read_skill("\ufeff---\r\nname: 'a-1'\r\ndescription: \"x: y\"\r\nlicense: MIT\r\n---\r\n") == Skill(
        "a-1", "x: y"
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# Trains",
        "---\nname: trains\n---\n",
        "---\nname: Trains\ndescription: x\n---\n",
        "---\nname: tra--ins\ndescription: x\n---\n",
        "---\nname: -trains\ndescription: x\n---\n",
        "---\nname: ../trains\ndescription: x\n---\n",
        f"---\nname: {'t' * 65}\ndescription: x\n---\n",
        f"---\nname: trains\ndescription: {'x' * 1025}\n---\n",
        "---\nname: trains\ndescription: [x]\n---\n",
        "---\nname: trains\ndescription: 'x\n---\n",
        "---\n- name\n- description\n---\n",
        "---\nname: !!python/object/apply:os.system ['true']\ndescription: x\n---\n",
        "---\nname: trains\ndescription: x\n",
        f"---\nname: {'[' * 5000}\ndescription: x\n---\n",
    ],
)
def test_invalid_skill_is_refused_in_a_sentence(text: str) -> None:
    with pytest.raises(SkillRefused, match=r"\S+ \S+"):
        read_skill(text)


@pytest.mark.parametrize("name", create_hostile_skills())
def test_hostile_front_matter_is_refused_without_much_work(name: str) -> None:
    text, steps = create_hostile_skills()[name], 0

    def count(*_: object) -> None:
        nonlocal steps
        steps += 1

    sys.setprofile(count)
    try:
        with pytest.raises(SkillRefused, match=r"\S+ \S+"):
            read_skill(text)
    finally:
        sys.setprofile(None)
    assert steps < 300_000


def test_numbers_and_dates_in_front_matter_stay_texts() -> None:
    text = f"---\nname: 2026-01-02\ndescription: {'7' * 900}\nversion: {'9' * 4_500}\n---\n"
    assert read_skill(text) == Skill("2026-01-02", "7" * 900)


def test_description_with_hiding_characters_shows_their_codes() -> None:
    skill = read_skill('---\nname: trains\ndescription: "half \\ud83d, NUL \\0, \\u202eover"\n---\n')
    assert skill.description == "half \\ud83d, NUL \\u0000, \\u202eover"


async def test_refused_skill_is_parsed_once_until_it_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    skills, parsed = Skills(tmp_path), Counter[str]()

    def count(text: str) -> Skill:
        parsed[text] += 1
        return read_skill(text)

    monkeypatch.setattr("bot.features.skills.folder.read_skill", count)
    folder = install_skill(tmp_path, "trains", create_skill("a: *a"))
    for _ in range(3):
        assert await skills.list() == []
    assert parsed.total() == 1
    (folder / "SKILL.md").write_text(TRAINS)
    assert [skill.name for skill in await skills.list()] == ["trains"]


async def test_skill_file_with_an_undecodable_name_is_listed(tmp_path: Path) -> None:
    folder = install_skill(tmp_path, "trains", TRAINS)
    (folder / os.fsdecode(b"half-\xff.txt")).write_text("x")
    text = await Skills(tmp_path).read_text("trains")
    assert text.encode().decode() == text
    assert "half-" in text


@given(st.text())
def test_any_file_is_a_skill_or_refused(text: str) -> None:
    for whole in (text, f"---\n{text}\n---\n"):
        try:
            skill = read_skill(whole)
        except SkillRefused:
            continue
        assert skill.name
        assert "/" not in skill.name


@given(st.text(min_size=1), st.text(min_size=1), st.text())
def test_written_skill_is_read_unchanged(name: str, description: str, body: str) -> None:
    try:
        package = make_package(name, description, body)
    except SkillRefused:
        return
    assert read_skill(package.files["SKILL.md"].decode("utf-8", "replace")) == package.skill


async def test_edited_skill_is_used_at_once_and_invalid_explained(tmp_path: Path) -> None:
    skills = Skills(tmp_path)
    assert await skills.list() == []
    folder = install_skill(tmp_path, "trains", TRAINS)
    install_skill(tmp_path, "other", TRAINS)
    (tmp_path / "skills" / "empty").mkdir()
    assert [skill.name for skill in await skills.list()] == ["trains"]
    look = skills.scan()
    assert look["other"] == "its folder must be called trains"
    assert look["empty"] == "it has no readable SKILL.md"
    (folder / "SKILL.md").write_text(TRAINS.replace("Looks up", "Finds all"))
    (skill,) = await skills.list()
    assert skill.description.startswith("Finds all")


async def test_skill_text_includes_only_its_own_files(tmp_path: Path) -> None:
    skills = Skills(tmp_path)
    folder = install_skill(tmp_path, "trains", TRAINS, **{"routes.md": "Kyiv to Lviv"})
    (tmp_path / "secret").write_text("the key")
    (folder / "link.md").symlink_to(tmp_path / "secret")
    (folder / "run.bin").write_bytes(b"\0\1")
    text = await skills.read_text("trains")
    assert "Ask where to." in text
    assert "routes.md" in text
    assert await skills.read_text(" trains ", "routes.md") == "Kyiv to Lviv\n\n[other files: link.md, run.bin]"
    for name in ("../../secret", "link.md", "/etc/passwd", "run.bin", "nothing.md", "routes.md/..", "\0"):
        with pytest.raises(SkillRefused):
            await skills.read_text("trains", name)
    for name in ("..", "", "trains/..", "none"):
        with pytest.raises(SkillRefused):
            await skills.read_text(name)


def test_descriptions_are_cut_before_a_skill_is_left_out() -> None:
    count = TokenCounter().count
    few = [Skill(f"skill-{number}", "word " * 80) for number in range(4)]
    text, left_out = build_skill_prompt(few, count)
    assert left_out == []
    assert count(text) <= MAX_PROMPT_TOKENS
    assert all(skill.name in text for skill in few)
    many = [Skill(f"skill-{number:02}", "word " * 80) for number in range(40)]
    text, left_out = build_skill_prompt(many, count)
    assert count(text) <= MAX_PROMPT_TOKENS
    assert left_out == [skill.name for skill in many if skill.name not in text]
    assert build_skill_prompt([], count) == ("", [])


@pytest.mark.parametrize("place", ["", "trains/", "trains-main/"])
async def test_zip_file_becomes_a_folder(tmp_path: Path, place: str) -> None:
    skills = Skills(tmp_path)
    package = read_package(
        create_zip((f"{place}SKILL.md", TRAINS), (f"{place}ref/a.md", "A"), ("__MACOSX/x", "clutter"), ("ref/", ""))
    )
    assert package is not None
    assert sorted(package.files) == ["SKILL.md", "ref/a.md"]
    await skills.store(package)
    assert (tmp_path / "skills/trains/ref/a.md").read_text() == "A"
    assert stat.S_IMODE((tmp_path / "skills/trains/SKILL.md").stat().st_mode) == 0o600
    assert [skill.name for skill in await skills.list()] == ["trains"]
    with pytest.raises(SkillRefused, match="There is already a skill called trains"):
        await skills.store(package)
    assert [path.name for path in (tmp_path / "skills").iterdir()] == ["trains"]


def create_link(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name)
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    return entry


def create_locked_zip() -> bytes:
    content = bytearray(create_zip(("SKILL.md", TRAINS)))
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(mark) + offset] |= 1
    return bytes(content)


def create_lying_zip() -> bytes:
    """Return a zip file that declares a smaller size than it unpacks to."""
    content = create_zip(("SKILL.md", TRAINS), ("big", b"0" * 50_000_000))
    size = (50_000_000).to_bytes(4, "little")
    return content.replace(size, (10).to_bytes(4, "little"))


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (create_zip(("SKILL.md", TRAINS), ("../up.md", "x")), "points outside"),
        (create_zip(("SKILL.md", TRAINS), ("/etc/x", "x")), "points outside"),
        (create_zip(("SKILL.md", TRAINS), ("a\\..\\..\\x", "x")), "points outside"),
        (create_zip(("SKILL.md", TRAINS), (create_link("l"), "/etc/passwd")), "points outside"),
        (
            create_zip(("SKILL.md", TRAINS), ("bomb", b"0" * (MAX_PACKAGE_BYTES + 1))),
            "can have at most 100 files and 4 MB",
        ),
        (create_zip(("SKILL.md", TRAINS), *((f"{n}", "") for n in range(100))), "can have at most 100 files"),
        (create_zip(("SKILL.md", TRAINS), ("A.md", "a"), ("a.md", "b")), "at most"),
        (create_zip(("SKILL.md", "no front matter")), "must begin with its name"),
        (create_locked_zip(), "damaged or has a password"),
        (create_lying_zip(), "damaged or has a password"),
    ],
)
def test_harmful_zip_file_is_refused_in_a_sentence(content: bytes, why: str) -> None:
    with pytest.raises(SkillRefused, match=why):
        read_package(content)


def test_zip_file_without_a_skill_is_none() -> None:
    assert read_package(create_zip(("a.txt", "x"))) is None
    assert read_package(create_zip(("a/b/SKILL.md", TRAINS))) is None
    assert read_package(create_zip(("SKILL.md", TRAINS))[:-30]) is None
