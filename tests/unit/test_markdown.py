"""Tests of the Markdown files: partial changes, edits by hand in between, atomic writes."""

from __future__ import annotations

import asyncio
import resource
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from memory.errors import MemoryRefused
from memory.files.markdown import GROWTH_LIMIT, MarkdownFiles, write_atomically
from memory.ledger.page import appending, replacing

OWNER = "telegram:12345"
NOON = datetime(2026, 2, 7, 12, 0, tzinfo=UTC)


def open_files(root: Path, zone: str = "UTC") -> MarkdownFiles:
    return MarkdownFiles(root, lambda _: ZoneInfo(zone), recent_days=7, max_memory_size=1000)


@pytest.fixture
def files(tmp_path: Path) -> MarkdownFiles:
    """Return the Markdown files of a fresh installation with a MEMORY.md of at most 4,000 bytes."""
    return open_files(tmp_path / "memory")


@pytest.fixture
def memory_md(files: MarkdownFiles) -> Path:
    """Create the owner's folder and return the path of its MEMORY.md, which doesn't exist."""
    files.get_folder(OWNER).mkdir(parents=True)
    return files.get_folder(OWNER) / "MEMORY.md"


@contextmanager
def disk_full_after(size: int) -> Iterator[None]:
    """Prevent files from growing over `size` bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def test_appended_text_is_on_lines_of_its_own(files: MarkdownFiles, memory_md: Path) -> None:
    assert (await files.change_long_term(OWNER, appending("- Likes tea\n")))[1] == "- Likes tea\n"
    assert (await files.change_long_term(OWNER, appending("\n- Lives in Lviv")))[1] == "- Likes tea\n- Lives in Lviv\n"
    assert memory_md.read_text() == await files.read_long_term(OWNER) == "- Likes tea\n- Lives in Lviv\n"


async def test_memory_is_empty_before_anything_is_remembered(files: MarkdownFiles) -> None:
    assert await files.read_long_term(OWNER) == ""
    assert (await files.read(OWNER, NOON)).to_context() == ""
    assert await files.count_notes(OWNER, NOON) == (0, 0)


async def test_replacing_a_part_keeps_the_rest(files: MarkdownFiles, memory_md: Path) -> None:
    memory_md.write_text("# Olena\n\n- Likes tea\n- Lives in Lviv\n")
    assert (await files.change_long_term(OWNER, replacing("tea", "coffee")))[
        1
    ] == "# Olena\n\n- Likes coffee\n- Lives in Lviv\n"


@pytest.mark.parametrize(
    ("text", "part", "left"),
    [
        # A whole line, at the beginning, in the middle and at the end of the file.
        ("a\nb\nc\n", "a", "b\nc\n"),
        ("a\nb\nc\n", "b", "a\nc\n"),
        ("a\nb\nc\n", "c", "a\nb\n"),
        ("a\nb\nc", "c", "a\nb\n"),
        ("a", "a", ""),
        # A line with its line break, or with the one before it.
        ("a\nb\nc\n", "b\n", "a\nc\n"),
        ("a\nb\nc\n", "\nb", "a\nc\n"),
        # Several lines.
        ("a\nb\nc\nd\n", "b\nc", "a\nd\n"),
        # A part of a line leaves the line.
        ("a\n- likes tea, milk\nc\n", ", milk", "a\n- likes tea\nc\n"),
        ("a\nx b\nc\n", "x ", "a\nb\nc\n"),
        ("a\nb x\nc\n", " x", "a\nb\nc\n"),
        # A line with only blanks left is removed.
        ("a\n  b \nc\n", "b", "a\nc\n"),
        # Empty lines around it stay.
        ("a\n\nb\n\nc\n", "b", "a\n\n\nc\n"),
        ("a\n\nb\n\nc\n", "b\n", "a\n\n\nc\n"),
        ("a\nb\n\nc\n", "b\n", "a\n\nc\n"),
        ("a\n\nb", "b", "a\n\n"),
    ],
)
async def test_deleting_a_part_removes_only_the_emptied_line(
    files: MarkdownFiles, memory_md: Path, text: str, part: str, left: str
) -> None:
    memory_md.write_text(text)
    assert (await files.change_long_term(OWNER, replacing(part, "")))[1] == left
    assert memory_md.read_text() == left


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ("coffee", '"coffee" doesn\'t appear in MEMORY.md'),
        ("tea", '"tea" appears 2 times in MEMORY.md'),
        ("", '"" doesn\'t appear'),
        (" \n", '"" doesn\'t appear'),
        ("word " * 100, f'"{"word " * 12}..." doesn\'t appear'),
    ],
)
async def test_part_not_found_exactly_once_is_refused_by_name(
    files: MarkdownFiles, memory_md: Path, part: str, said: str
) -> None:
    memory_md.write_text("- green tea\n- black tea\n")
    for replacement in ("", "water"):
        with pytest.raises(MemoryRefused) as refused:
            await files.change_long_term(OWNER, replacing(part, replacement))
        assert said in str(refused.value)
        assert "\n" not in str(refused.value)
    assert memory_md.read_text() == "- green tea\n- black tea\n"


async def test_edit_by_hand_between_calls_is_read_and_kept(files: MarkdownFiles, memory_md: Path) -> None:
    await files.change_long_term(OWNER, appending("- Likes tea"))
    memory_md.write_text("- Likes coffee\n- Hates noise")
    assert (await files.read(OWNER, NOON)).long_term == "- Likes coffee\n- Hates noise"
    assert (await files.change_long_term(OWNER, appending("- Sings")))[1] == "- Likes coffee\n- Hates noise\n- Sings\n"


async def test_failed_write_leaves_the_former_file_and_no_others(files: MarkdownFiles, memory_md: Path) -> None:
    await files.change_long_term(OWNER, appending("- Likes tea"))
    before = sorted(memory_md.parent.iterdir())
    with disk_full_after(1000), pytest.raises(OSError, match="too large"):
        await files.change_long_term(OWNER, appending("x" * 2000))
    assert memory_md.read_text() == "- Likes tea\n"
    assert sorted(memory_md.parent.iterdir()) == before
    assert (await files.change_long_term(OWNER, appending("- Sings")))[1] == "- Likes tea\n- Sings\n"


async def test_memory_over_its_size_limit_may_only_shrink(files: MarkdownFiles, memory_md: Path) -> None:
    cap = 1000 * GROWTH_LIMIT
    await files.change_long_term(OWNER, appending("x" * (cap - 1)))
    with pytest.raises(
        MemoryRefused, match=f"would grow to {cap + 2} bytes, and the limit is {cap}: remove something first"
    ):
        await files.change_long_term(OWNER, appending("y"))
    memory_md.write_text("first\n" + "ї" * cap)  # A person may write more.
    with pytest.raises(MemoryRefused, match="would grow"):
        await files.change_long_term(OWNER, appending("y"))
    assert (await files.change_long_term(OWNER, replacing("first\n", "")))[1] == "ї" * cap


async def test_byte_order_mark_is_not_part_of_the_text(files: MarkdownFiles, memory_md: Path) -> None:
    memory_md.write_bytes(b"\xef\xbb\xbf- Likes tea\r\n- Sings\r\n")
    assert await files.read_long_term(OWNER) == "- Likes tea\n- Sings\n"
    assert (await files.change_long_term(OWNER, replacing("- Likes tea\n- Sings", "- Dances")))[1] == "- Dances\n"


async def test_invalid_utf8_is_shown_and_survives_a_change(files: MarkdownFiles, memory_md: Path) -> None:
    memory_md.write_bytes("- Любить чай\n".encode("cp1251"))
    assert (await files.read_long_term(OWNER)).startswith("- \ufffd")
    _, shown = await files.change_long_term(OWNER, appending("- Співає"))
    assert shown.endswith("\n- Співає\n")
    assert shown.encode()
    assert memory_md.read_bytes() == "- Любить чай\n".encode("cp1251") + "- Співає\n".encode()


async def test_lone_surrogate_is_written_as_replacement_character(files: MarkdownFiles) -> None:
    assert (await files.change_long_term(OWNER, appending("- Draws \ud83d\ude00 \udc80")))[
        1
    ] == "- Draws \U0001f600 \ufffd\n"
    assert (await files.change_long_term(OWNER, replacing("Draws", "Paints \ud83d")))[
        1
    ] == "- Paints \ufffd \U0001f600 \ufffd\n"
    await files.append_today(OWNER, NOON, "half \ud83d")
    assert (await files.read(OWNER, NOON)).today == "half \ufffd\n"


async def test_symbolic_link_stays_a_link_and_keeps_its_mode(
    files: MarkdownFiles, memory_md: Path, tmp_path: Path
) -> None:
    vault = tmp_path / "vault.md"
    vault.write_text("- Likes tea\n")
    vault.chmod(0o644)
    memory_md.symlink_to(vault)
    await files.change_long_term(OWNER, appending("- Sings"))
    assert memory_md.is_symlink()
    assert vault.read_text() == "- Likes tea\n- Sings\n"
    assert stat.S_IMODE(vault.stat().st_mode) == 0o644


async def test_new_file_is_private_to_its_owner(files: MarkdownFiles) -> None:
    await files.change_long_term(OWNER, appending("- Likes tea"))
    assert stat.S_IMODE((files.get_folder(OWNER) / "MEMORY.md").stat().st_mode) == 0o600
    assert stat.S_IMODE(files.get_folder(OWNER).stat().st_mode) == 0o700


async def test_concurrent_appends_of_tasks_and_programs_lose_nothing(tmp_path: Path) -> None:
    one, other = open_files(tmp_path), open_files(tmp_path)
    await asyncio.gather(
        *(
            files.change_long_term(OWNER, appending(f"- {name} {n}"))
            for name, files in (("a", one), ("b", other))
            for n in range(20)
        )
    )
    lines = (await one.read_long_term(OWNER)).splitlines()
    assert sorted(lines) == sorted(f"- {name} {n}" for name in "ab" for n in range(20))


async def test_readers_never_see_a_partial_file(files: MarkdownFiles, memory_md: Path) -> None:
    old, new = "old\n" * 900, "new\n" * 900
    write_atomically(memory_md, old)

    def write() -> None:
        for _ in range(20):
            write_atomically(memory_md, new)
            write_atomically(memory_md, old)

    writing = asyncio.create_task(asyncio.to_thread(write))
    seen = set()
    while not writing.done():
        seen.add(await files.read_long_term(OWNER))
    await writing
    assert seen <= {old, new}


async def test_notes_are_appended_to_the_day_in_the_chats_zone(tmp_path: Path) -> None:
    kyiv = open_files(tmp_path, "Europe/Kyiv")
    await kyiv.append_today(OWNER, datetime(2026, 2, 7, 21, 59, tzinfo=UTC), "[23:59] late")
    await kyiv.append_today(OWNER, datetime(2026, 2, 7, 22, 0, tzinfo=UTC), "[00:00] early")
    folder = kyiv.get_folder(OWNER)
    assert (folder / "2026-02-07.md").read_text() == "[23:59] late\n"
    assert (folder / "2026-02-08.md").read_text() == "[00:00] early\n"
    memory = await kyiv.read(OWNER, datetime(2026, 2, 7, 22, 30, tzinfo=UTC))
    assert memory.to_context() == ("## Recent Context\n### 2026-02-07\n[23:59] late\n\n## Today's Notes\n[00:00] early")


async def test_recent_days_are_the_last_seven_newest_first(files: MarkdownFiles) -> None:
    for day in (7, 6, 4, 1):
        await files.append_today(OWNER, NOON.replace(day=day), f"note of {day}")
    await files.append_today(OWNER, datetime(2026, 1, 31, 12, 0, tzinfo=UTC), "seven days ago")
    await files.append_today(OWNER, datetime(2026, 1, 30, 12, 0, tzinfo=UTC), "eight days ago")
    memory = await files.read(OWNER, NOON)
    assert [day.isoformat() for day, _ in memory.recent] == ["2026-02-06", "2026-02-04", "2026-02-01", "2026-01-31"]
    assert await files.count_notes(OWNER, NOON) == (1, 4)


async def test_note_after_an_edit_by_hand_starts_a_new_line(files: MarkdownFiles) -> None:
    await files.append_today(OWNER, NOON, "[12:00] one")
    note = files.get_folder(OWNER) / "2026-02-07.md"
    note.write_text("[12:00] corrected")
    await files.append_today(OWNER, NOON, "[12:01] two")
    assert note.read_text() == "[12:00] corrected\n[12:01] two\n"


async def test_concurrent_notes_are_whole_lines(files: MarkdownFiles) -> None:
    await asyncio.gather(*(files.append_today(OWNER, NOON, f"{n} " + "x" * 500) for n in range(40)))
    lines = (await files.read(OWNER, NOON)).today.splitlines()
    assert sorted(int(line.split()[0]) for line in lines) == list(range(40))
    assert {len(line.split()[1]) for line in lines} == {500}


@pytest.mark.parametrize("other", ["telegram:1_2", "telegram:1%2F2", "telegram:1"])
async def test_owners_never_share_a_folder(files: MarkdownFiles, other: str) -> None:
    await files.change_long_term("telegram:1/2", appending("private"))
    assert await files.read_long_term(other) == ""
    assert files.get_folder("telegram:1/2").parent == files.get_folder(other).parent


async def test_owner_can_not_escape_the_root(files: MarkdownFiles, tmp_path: Path) -> None:
    await files.change_long_term("console:../../../etc", appending("inside"))
    assert [p.name for p in tmp_path.iterdir()] == ["memory"]
    assert len(list((tmp_path / "memory").iterdir())) == 1
