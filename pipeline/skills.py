"""Skills: folders with a SKILL.md that says how something is done, in the open form of agentskills.io.

Their names and descriptions stand in the prompt; the rest is read by a tool, as text by others. Nothing in a skill is
ever run. A skill comes here by the hand of the bot's owner alone: put into the folder, sent as a zip file and agreed
to, or written out of a workflow that the bot has learned.
"""

from __future__ import annotations

import asyncio
import io
import shutil
import tempfile
import unicodedata
import zipfile
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from config.texts import _, in_line
from memory.errors import MnemeError
from memory.text.validity import valid_text, visible_text
from memory.transfer.archive import BROKEN_ZIP, count_entries, is_plain, stays_inside

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

FOLDER = "skills"
"""Under the data directory."""
SKILL_FILE = "SKILL.md"
LONGEST_NAME, LONGEST_DESCRIPTION = 64, 1024
"""Characters, as the specification has them."""
MAX_MATTER_CHARS = 6_000
MAX_MATTER_DEPTH = 6
"""The size of the front matter of a SKILL.md. The specification asks for some hundred characters."""
PROMPT_TOKENS = 200
"""What the names and descriptions of all skills may cost in each request."""
PROMPT_HEADER = "# Skills\nBefore you do what one of them is for, read it with skill_read:"
SHORTER = (LONGEST_DESCRIPTION, 240, 120, 60)
"""Characters of a description that are shown, tried in this order until all skills fit."""
LARGEST_FILE = 256_000
"""Bytes of a text that is read."""
LARGEST_ZIP, MOST_FILES = 4_000_000, 100
"""Bytes of a skill's zip file, and of all that is in it; and how many files that may be."""
_MAX_ENTRIES = 10_000
"""Entries of a zip file that is opened to look for a skill, with those that other programs add."""
_FENCE = "---"
_BROKEN = (*BROKEN_ZIP, ValueError)


class SkillRefused(MnemeError):
    """Something is no skill that can be kept or read: the sentence says why."""


@dataclass(frozen=True, slots=True)
class Skill:
    name: str
    description: str


@dataclass(frozen=True, slots=True)
class SkillPackage:
    """A skill in a zip file. files: their bytes, by their names inside of the skill's folder."""

    skill: Skill
    files: dict[str, bytes]

    @property
    def size(self) -> int:
        return sum(map(len, self.files.values()))


class Skills:
    """The skills of this installation, in one folder. What is changed there by hand holds from the next message on."""

    def __init__(self, data_directory: Path) -> None:
        self._root = data_directory / FOLDER
        self._read: dict[tuple[Path, int, int], Skill | str] = {}

    async def all(self) -> list[Skill]:
        return [skill for skill in (await asyncio.to_thread(self.look)).values() if isinstance(skill, Skill)]

    def look(self) -> dict[str, Skill | str]:
        """Return the skill in each folder, or why there is none. Blocking; files that have changed are read again."""
        try:
            folders = sorted(path for path in self._root.iterdir() if path.is_dir() and not path.name.startswith("."))
        except OSError:  # most installations have none
            return {}
        found: dict[str, Skill | str] = {}
        read: dict[tuple[Path, int, int], Skill | str] = {}
        for folder in folders:
            try:
                state = (folder / SKILL_FILE).stat()
                key = (folder, state.st_mtime_ns, state.st_size)
                # a refused one is not parsed again with each message either
                read[key] = found[folder.name] = self._read.get(key) or _skill_or_reason(folder)
            except OSError:
                found[folder.name] = _("it has no {file} that can be read", file=SKILL_FILE)
        self._read = read
        return found

    async def text(self, name: str, file: str = SKILL_FILE) -> str:
        """A text file of a skill, and which others there are. Raises SkillRefused."""
        return await asyncio.to_thread(self._text, name.strip(), file.strip() or SKILL_FILE)

    def _text(self, name: str, file: str) -> str:
        usable = [found.name for found in self.look().values() if isinstance(found, Skill)]
        if name not in usable:
            raise SkillRefused(f"there is no skill {name[:80]!r}; there are: {', '.join(usable) or 'none'}")
        folder = (self._root / name).resolve()
        path = (folder / file).resolve() if stays_inside(file) else None
        # a link inside of a skill leads nowhere else either
        if path is None or not path.is_relative_to(folder) or not path.is_file():
            raise SkillRefused(f"the skill {name} has no file {file[:80]!r}; it has: {', '.join(_names(folder))}")
        with path.open("rb") as opened:
            content = opened.read(LARGEST_FILE + 1)
        if len(content) > LARGEST_FILE or b"\0" in content:
            raise SkillRefused(f"{file} is no text, or too long to be read")
        text = valid_text(content.decode("utf-8", "replace"))
        others = [other for other in _names(folder) if other not in (file, SKILL_FILE)]
        return f"{text.rstrip()}\n\n[other files: {', '.join(others)}]" if others else text.rstrip()

    async def keep(self, package: SkillPackage) -> None:
        """Keep a skill, whole or not at all. Raises SkillRefused where there is one of its name."""
        await asyncio.to_thread(self._keep, package)

    def _keep(self, package: SkillPackage) -> None:
        target = self._root / package.skill.name
        try:
            self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
            if target.exists():
                raise SkillRefused(
                    _("There is a skill {name} already: `mneme skills remove {name}` makes room.", name=target.name)
                )
            with tempfile.TemporaryDirectory(dir=self._root, prefix=".new-") as stage:
                made = Path(stage) / target.name
                for name, content in package.files.items():
                    path = made / name
                    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                    path.write_bytes(content)
                    path.chmod(0o600)
                # in one step, so that half a skill is never seen
                made.rename(target)
        except OSError as error:
            raise SkillRefused(
                _("The skill {name} can't be written: {reason}.", name=target.name, reason=error.strerror or error)
            ) from error

    def remove(self, name: str) -> None:
        """Remove a skill. Blocking. Raises SkillRefused where there is none of that name."""
        if name not in self.look():
            raise SkillRefused(f"There is no skill {name!r}: see `mneme skills list`.")
        path = self._root / name
        if path.is_symlink():  # what it leads to is somebody else's
            path.unlink()
        else:
            shutil.rmtree(path)


def skill_prompt(skills: Sequence[Skill], tokens: Callable[[str], int]) -> tuple[str, list[str]]:
    """What the prompt says of skills within PROMPT_TOKENS, and the names of those that it has no room for."""
    if not skills:
        return "", []
    # descriptions are cut before a skill is left out
    for characters in SHORTER:
        lines = [f"- {skill.name}: {in_line(skill.description, characters)}" for skill in skills]
        if tokens("\n".join([PROMPT_HEADER, *lines])) <= PROMPT_TOKENS:
            return "\n".join([PROMPT_HEADER, *lines]), []
    shown = [PROMPT_HEADER]
    left_out: list[str] = []
    for skill, line in zip(skills, lines, strict=True):
        if tokens("\n".join([*shown, line])) <= PROMPT_TOKENS:
            shown.append(line)
        else:
            left_out.append(skill.name)
    return "\n".join(shown), left_out


def is_zip(content: bytes) -> bool:
    return content.startswith(b"PK\x03\x04")


def read_package(content: bytes) -> SkillPackage | None:
    """The skill in a zip file, at its top or in its one folder; None without SKILL.md. Raises SkillRefused."""
    try:
        if count_entries(io.BytesIO(content)) > _MAX_ENTRIES:
            return None
        archive = zipfile.ZipFile(io.BytesIO(content))
    except _BROKEN:  # it may be anything, such as a damaged document of an office program
        return None
    try:
        with archive:
            entries = [entry for entry in archive.infolist() if not _is_clutter(entry)]
            places = [PurePosixPath(e.filename).parent for e in entries if PurePosixPath(e.filename).name == SKILL_FILE]
            place = min(places, key=lambda path: len(path.parts), default=None)
            if place is None or len(place.parts) > 1:
                return None
            _require_plain(entries, content)
            files = _unpacked(archive, entries, place)
    except _BROKEN as error:
        raise SkillRefused(_("This zip file is damaged or locked, so nothing of it was kept.")) from error
    return SkillPackage(read_skill(files[SKILL_FILE].decode("utf-8", "replace")), files)


def _require_plain(entries: Sequence[zipfile.ZipInfo], content: bytes) -> None:
    for entry in entries:
        if not (stays_inside(entry.filename) and is_plain(entry)):
            raise SkillRefused(_("A file in this zip file is a link or leads elsewhere, so nothing of it was kept."))
    # where case makes no difference, two such names are one file
    names = {entry.filename.casefold() for entry in entries}
    unpacked = sum(entry.file_size for entry in entries)
    if len(entries) > MOST_FILES or len(names) < len(entries) or max(len(content), unpacked) > LARGEST_ZIP:
        raise SkillRefused(
            _(
                "A skill has at most {files} files and {size} MB, so nothing of this zip file was kept.",
                files=MOST_FILES,
                size=LARGEST_ZIP // 1_000_000,
            )
        )


def _unpacked(archive: zipfile.ZipFile, entries: Sequence[zipfile.ZipInfo], place: PurePosixPath) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    for entry in entries:
        path = PurePosixPath(entry.filename)
        if not path.is_relative_to(place):
            continue
        with archive.open(entry) as opened:  # what unpacks to more than it claims is no zip file, says the library
            files[path.relative_to(place).as_posix()] = opened.read(LARGEST_ZIP + 1)
    return files


def _is_clutter(entry: zipfile.ZipInfo) -> bool:
    """Whether it is a folder, or what macOS adds to each zip file."""
    return entry.is_dir() or entry.filename.startswith("__MACOSX/") or entry.filename.endswith(".DS_Store")


def read_skill(text: str) -> Skill:
    """Read the skill that a SKILL.md describes. Raises SkillRefused if its front matter breaks the specification."""
    # no more than the front matter is cut into lines: the file may have a hundred thousand
    lines = text[: MAX_MATTER_CHARS + 2 * LONGEST_NAME].removeprefix("\ufeff").splitlines()
    closing = next((at for at, line in enumerate(lines) if at and line.rstrip() == _FENCE), 0)
    if not lines or lines[0].rstrip() != _FENCE or not closing:
        raise SkillRefused(
            _("{file} does not begin with its name and description between lines of ---.", file=SKILL_FILE)
        )
    matter = _front_matter("\n".join(lines[1:closing]))
    name, description = matter.get("name"), matter.get("description")
    if not isinstance(name, str) or not is_name(name):
        shown = visible_text(name[:LONGEST_NAME]) if isinstance(name, str) else type(name).__name__
        raise SkillRefused(
            _(
                "The name of a skill has up to {n} small letters, digits and single hyphens, and {name!r} is none.",
                n=LONGEST_NAME,
                name=shown,
            )
        )
    plain = " ".join(visible_text(description).split()) if isinstance(description, str) else ""
    if not 0 < len(plain) <= LONGEST_DESCRIPTION:
        raise SkillRefused(_("The description of a skill has 1 to {n} characters.", n=LONGEST_DESCRIPTION))
    return Skill(unicodedata.normalize("NFKC", name), plain)


def _front_matter(text: str) -> dict[str, object]:
    """Parse front matter: a mapping of texts, lists and mappings. Raises SkillRefused if it is anything else.

    A text stays one, whatever it looks like: a number of 6,000 digits is no number here. Anchors are refused before
    the parser repeats what an alias stands for, and so is deep nesting.
    """
    import yaml  # needs its tenth of a second only if there are skills

    try:
        depth = 0
        # events come one by one, so that the parser is stopped at the first that is refused
        for event in yaml.parse(text, Loader=yaml.BaseLoader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > MAX_MATTER_DEPTH or getattr(event, "anchor", None) is not None:
                raise SkillRefused(_("The first lines of {file} can't be read.", file=SKILL_FILE))
        matter = yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506  # it makes texts, lists and mappings only
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
        raise SkillRefused(_("The first lines of {file} can't be read.", file=SKILL_FILE)) from error
    return matter if isinstance(matter, dict) else {}


def is_name(name: str) -> bool:
    plain = unicodedata.normalize("NFKC", name)
    parts = plain.split("-")
    return len(plain) <= LONGEST_NAME and plain == plain.lower() and all(part.isalnum() for part in parts)


def package_of(name: str, description: str, body: str) -> SkillPackage:
    """A skill of one text. name: anything, of which a name is made. Raises SkillRefused."""
    import yaml

    parts = "".join(c if c.isalnum() else " " for c in unicodedata.normalize("NFKC", name).lower()).split()
    plain = "-".join(parts)[:LONGEST_NAME].strip("-")
    matter = {"name": plain, "description": in_line(description, LONGEST_DESCRIPTION - 1)}
    front = yaml.safe_dump(matter, allow_unicode=True, sort_keys=False, width=1 << 16)
    text = f"{_FENCE}\n{front}{_FENCE}\n\n{body.strip()}\n"
    return SkillPackage(read_skill(text), {SKILL_FILE: text.encode()})


def _skill_or_reason(folder: Path) -> Skill | str:
    try:
        return _skill_in(folder)
    except SkillRefused as error:
        return str(error)


def _skill_in(folder: Path) -> Skill:
    with (folder / SKILL_FILE).open("rb") as file:
        skill = read_skill(file.read(LARGEST_FILE).decode("utf-8", "replace"))
    if skill.name != unicodedata.normalize("NFKC", folder.name):
        raise SkillRefused(_("its folder has to be called {name}", name=skill.name))
    return skill


def _names(folder: Path) -> list[str]:
    files = islice((path for path in folder.rglob("*") if path.is_file()), MOST_FILES)
    # a name on disk may be any bytes
    return sorted(visible_text(path.relative_to(folder).as_posix()) for path in files)
