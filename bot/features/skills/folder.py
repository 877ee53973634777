"""Skills: folders with a SKILL.md that explains how to do something, in the open format of agentskills.io.

The prompt lists their names and descriptions. The model reads the rest with a tool, as foreign text. Nothing in a skill
is ever executed. Only the bot's owner can add a skill: by putting it into the folder, by sending a zip file and
confirming it, or by exporting a workflow that the bot has learned.
"""

from __future__ import annotations

import asyncio
import io
import shutil
import tempfile
import unicodedata
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePosixPath

from config.texts import _, shorten_to_line
from memory.errors import MnemeError
from memory.text.validity import escape_invisible, replace_invalid
from memory.transfer.archive import BROKEN_ZIP, count_entries, is_plain, stays_inside

FOLDER = "skills"
SKILL_FILE = "SKILL.md"
MAX_NAME_CHARS, MAX_DESCRIPTION_CHARS = 64, 1024
"""Limits of the specification."""
MAX_MATTER_CHARS = 6_000
MAX_MATTER_DEPTH = 6
"""Limits of the front matter of a SKILL.md. The specification needs a few hundred characters."""
MAX_PROMPT_TOKENS = 200
PROMPT_HEADER = "# Skills\nBefore you do what one of them is for, read it with skill_read:"
DESCRIPTION_LIMITS = (MAX_DESCRIPTION_CHARS, 240, 120, 60)
"""Maximum description lengths in characters, tried in this order until all skills fit into the prompt."""
MAX_FILE_BYTES = 256_000
MAX_PACKAGE_BYTES, MAX_FILES = 4_000_000, 100
"""Limits for a skill's zip file, both packed and unpacked."""
_MAX_ENTRIES = 10_000
"""A zip file with more entries is not searched for a skill. Includes entries such as those that macOS adds."""
_FENCE = "---"
_BROKEN = (*BROKEN_ZIP, ValueError)


class SkillRefused(MnemeError):
    """Raised with the reason why a skill can't be stored or read."""


@dataclass(frozen=True, slots=True)
class Skill:
    name: str
    description: str


@dataclass(frozen=True, slots=True)
class SkillPackage:
    """A skill in a zip file, with the content of each file by its path in the skill's folder."""

    skill: Skill
    files: dict[str, bytes]

    @property
    def size(self) -> int:
        return sum(map(len, self.files.values()))


class Skills:
    """The skills of this installation, in one folder. Manual changes take effect with the next message."""

    def __init__(self, data_directory: Path) -> None:
        self._root = data_directory / FOLDER
        self._read: dict[tuple[Path, int, int], Skill | str] = {}

    async def list(self) -> list[Skill]:
        return [skill for skill in (await asyncio.to_thread(self.scan)).values() if isinstance(skill, Skill)]

    def scan(self) -> dict[str, Skill | str]:
        """Return the skill in each folder, or the reason why it has none. Reads changed files again. Blocking."""
        try:
            folders = sorted(path for path in self._root.iterdir() if path.is_dir() and not path.name.startswith("."))
        except OSError:  # Most installations have no such folder.
            return {}
        found: dict[str, Skill | str] = {}
        read: dict[tuple[Path, int, int], Skill | str] = {}
        for folder in folders:
            try:
                state = (folder / SKILL_FILE).stat()
                key = (folder, state.st_mtime_ns, state.st_size)
                # The reason is cached too, so that a broken skill isn't parsed for each message.
                read[key] = found[folder.name] = self._read.get(key) or _try_read_skill(folder)
            except OSError:
                found[folder.name] = _("it has no readable {file}", file=SKILL_FILE)
        self._read = read
        return found

    async def read_text(self, name: str, file: str = SKILL_FILE) -> str:
        """Return the text of a skill's file, followed by the names of its other files. Raises SkillRefused."""
        return await asyncio.to_thread(self._read_text, name.strip(), file.strip() or SKILL_FILE)

    def _read_text(self, name: str, file: str) -> str:
        usable = [found.name for found in self.scan().values() if isinstance(found, Skill)]
        if name not in usable:
            raise SkillRefused(f"there is no skill {name[:80]!r}; there are: {', '.join(usable) or 'none'}")
        folder = (self._root / name).resolve()
        path = (folder / file).resolve() if stays_inside(file) else None
        # The path is resolved, so a symlink can't lead out of the skill's folder either.
        if path is None or not path.is_relative_to(folder) or not path.is_file():
            raise SkillRefused(f"the skill {name} has no file {file[:80]!r}; it has: {', '.join(_list_files(folder))}")
        with path.open("rb") as opened:
            content = opened.read(MAX_FILE_BYTES + 1)
        if len(content) > MAX_FILE_BYTES or b"\0" in content:
            raise SkillRefused(f"{file} isn't a text file, or is too long")
        text = replace_invalid(content.decode("utf-8", "replace"))
        others = [other for other in _list_files(folder) if other not in (file, SKILL_FILE)]
        return f"{text.rstrip()}\n\n[other files: {', '.join(others)}]" if others else text.rstrip()

    async def store(self, package: SkillPackage) -> None:
        """Store a skill atomically. Raises SkillRefused if a skill with its name exists."""
        await asyncio.to_thread(self._store, package)

    def _store(self, package: SkillPackage) -> None:
        target = self._root / package.skill.name
        try:
            self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
            if target.exists():
                raise SkillRefused(
                    _(
                        "There is already a skill called {name}: remove it first with `mneme skills remove {name}`.",
                        name=target.name,
                    )
                )
            with tempfile.TemporaryDirectory(dir=self._root, prefix=".new-") as stage:
                made = Path(stage) / target.name
                for name, content in package.files.items():
                    path = made / name
                    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                    path.write_bytes(content)
                    path.chmod(0o600)
                made.rename(target)
        except OSError as error:
            raise SkillRefused(
                _("The skill {name} can't be written: {reason}.", name=target.name, reason=error.strerror or error)
            ) from error

    def remove(self, name: str) -> None:
        """Remove a skill. Blocking. Raises SkillRefused if no skill has that name."""
        if name not in self.scan():
            raise SkillRefused(f"There is no skill {name!r}: see `mneme skills list`.")
        path = self._root / name
        if path.is_symlink():  # The target of the link is not Mneme's to delete.
            path.unlink()
        else:
            shutil.rmtree(path)


def build_skill_prompt(skills: Sequence[Skill], tokens: Callable[[str], int]) -> tuple[str, list[str]]:
    """Return the list of skills for the prompt, and the names of those that don't fit into MAX_PROMPT_TOKENS."""
    if not skills:
        return "", []
    # Shorten all descriptions before leaving out a skill.
    for characters in DESCRIPTION_LIMITS:
        lines = [f"- {skill.name}: {shorten_to_line(skill.description, characters)}" for skill in skills]
        if tokens("\n".join([PROMPT_HEADER, *lines])) <= MAX_PROMPT_TOKENS:
            return "\n".join([PROMPT_HEADER, *lines]), []
    shown = [PROMPT_HEADER]
    left_out: list[str] = []
    for skill, line in zip(skills, lines, strict=True):
        if tokens("\n".join([*shown, line])) <= MAX_PROMPT_TOKENS:
            shown.append(line)
        else:
            left_out.append(skill.name)
    return "\n".join(shown), left_out


def is_zip(content: bytes) -> bool:
    return content.startswith(b"PK\x03\x04")


def read_package(content: bytes) -> SkillPackage | None:
    """Read the skill in a zip file, either at the top or in a folder. Return None if it has no SKILL.md.

    Raises SkillRefused if the skill breaks a rule.
    """
    try:
        if count_entries(io.BytesIO(content)) > _MAX_ENTRIES:
            return None
        archive = zipfile.ZipFile(io.BytesIO(content))
    except _BROKEN:  # It may be any file, such as a damaged office document.
        return None
    try:
        with archive:
            entries = [entry for entry in archive.infolist() if not _is_clutter(entry)]
            places = [PurePosixPath(e.filename).parent for e in entries if PurePosixPath(e.filename).name == SKILL_FILE]
            place = min(places, key=lambda path: len(path.parts), default=None)
            if place is None or len(place.parts) > 1:
                return None
            _require_plain(entries, content)
            files = _unpack(archive, entries, place)
    except _BROKEN as error:
        raise SkillRefused(_("This zip file is damaged or has a password, so nothing was saved.")) from error
    return SkillPackage(read_skill(files[SKILL_FILE].decode("utf-8", "replace")), files)


def _require_plain(entries: Sequence[zipfile.ZipInfo], content: bytes) -> None:
    for entry in entries:
        if not (stays_inside(entry.filename) and is_plain(entry)):
            raise SkillRefused(_("A file in this zip file is a link or points outside of it, so nothing was saved."))
    # On some file systems, names that differ only in case are the same file.
    names = {entry.filename.casefold() for entry in entries}
    unpacked = sum(entry.file_size for entry in entries)
    if len(entries) > MAX_FILES or len(names) < len(entries) or max(len(content), unpacked) > MAX_PACKAGE_BYTES:
        raise SkillRefused(
            _(
                "A skill can have at most {files} files and {size} MB, so nothing in this zip file was saved.",
                files=MAX_FILES,
                size=MAX_PACKAGE_BYTES // 1_000_000,
            )
        )


def _unpack(archive: zipfile.ZipFile, entries: Sequence[zipfile.ZipInfo], place: PurePosixPath) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    for entry in entries:
        path = PurePosixPath(entry.filename)
        if not path.is_relative_to(place):
            continue
        with archive.open(entry) as opened:  # The library refuses an entry that is larger than it claims.
            files[path.relative_to(place).as_posix()] = opened.read(MAX_PACKAGE_BYTES + 1)
    return files


def _is_clutter(entry: zipfile.ZipInfo) -> bool:
    return entry.is_dir() or entry.filename.startswith("__MACOSX/") or entry.filename.endswith(".DS_Store")


def read_skill(text: str) -> Skill:
    """Parse the front matter of a SKILL.md. Raises SkillRefused if it breaks the specification."""
    # Split only the beginning, since the file may have a hundred thousand lines.
    lines = text[: MAX_MATTER_CHARS + 2 * MAX_NAME_CHARS].removeprefix("\ufeff").splitlines()
    closing = next((at for at, line in enumerate(lines) if at and line.rstrip() == _FENCE), 0)
    if not lines or lines[0].rstrip() != _FENCE or not closing:
        raise SkillRefused(_("{file} must begin with its name and description between lines of ---.", file=SKILL_FILE))
    matter = _parse_front_matter("\n".join(lines[1:closing]))
    name, description = matter.get("name"), matter.get("description")
    if not isinstance(name, str) or not is_name(name):
        shown = escape_invisible(name[:MAX_NAME_CHARS]) if isinstance(name, str) else type(name).__name__
        raise SkillRefused(
            _(
                "The name of a skill can have up to {n} lowercase letters, digits and single hyphens, and {name!r}"
                " doesn't fit that.",
                n=MAX_NAME_CHARS,
                name=shown,
            )
        )
    plain = " ".join(escape_invisible(description).split()) if isinstance(description, str) else ""
    if not 0 < len(plain) <= MAX_DESCRIPTION_CHARS:
        raise SkillRefused(_("The description of a skill must have 1 to {n} characters.", n=MAX_DESCRIPTION_CHARS))
    return Skill(unicodedata.normalize("NFKC", name), plain)


def _parse_front_matter(text: str) -> dict[str, object]:
    """Parse front matter into strings, lists and mappings. Raises SkillRefused if that is impossible.

    Scalars stay strings, so a number of 6,000 digits is never converted. Anchors are refused before the parser can
    expand an alias, and deep nesting is refused too.
    """
    import yaml  # The import takes a tenth of a second, and most installations have no skills.

    try:
        depth = 0
        # Events are parsed lazily, so the parser stops at the first refused one.
        for event in yaml.parse(text, Loader=yaml.BaseLoader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > MAX_MATTER_DEPTH or getattr(event, "anchor", None) is not None:
                raise SkillRefused(_("The first lines of {file} can't be read.", file=SKILL_FILE))
        matter = yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506  # BaseLoader creates only strings, lists and mappings.
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
        raise SkillRefused(_("The first lines of {file} can't be read.", file=SKILL_FILE)) from error
    return matter if isinstance(matter, dict) else {}


def is_name(name: str) -> bool:
    plain = unicodedata.normalize("NFKC", name)
    parts = plain.split("-")
    return len(plain) <= MAX_NAME_CHARS and plain == plain.lower() and all(part.isalnum() for part in parts)


def make_package(name: str, description: str, body: str) -> SkillPackage:
    """Create a skill with only a SKILL.md. `name` is converted to a valid name. Raises SkillRefused."""
    import yaml

    parts = "".join(c if c.isalnum() else " " for c in unicodedata.normalize("NFKC", name).lower()).split()
    plain = "-".join(parts)[:MAX_NAME_CHARS].strip("-")
    matter = {"name": plain, "description": shorten_to_line(description, MAX_DESCRIPTION_CHARS - 1)}
    front = yaml.safe_dump(matter, allow_unicode=True, sort_keys=False, width=1 << 16)
    text = f"{_FENCE}\n{front}{_FENCE}\n\n{body.strip()}\n"
    return SkillPackage(read_skill(text), {SKILL_FILE: text.encode()})


def _try_read_skill(folder: Path) -> Skill | str:
    try:
        return _read_skill_folder(folder)
    except SkillRefused as error:
        return str(error)


def _read_skill_folder(folder: Path) -> Skill:
    with (folder / SKILL_FILE).open("rb") as file:
        skill = read_skill(file.read(MAX_FILE_BYTES).decode("utf-8", "replace"))
    if skill.name != unicodedata.normalize("NFKC", folder.name):
        raise SkillRefused(_("its folder must be called {name}", name=skill.name))
    return skill


def _list_files(folder: Path) -> list[str]:
    files = islice((path for path in folder.rglob("*") if path.is_file()), MAX_FILES)
    # File names may be invalid UTF-8.
    return sorted(escape_invisible(path.relative_to(folder).as_posix()) for path in files)
