"""Tests of the check of the embedded model's engine before a download."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from bot.cli.main import main
from bot.features.local_model.engine import EmbeddedModelError, check_engine

LIBGOMP = "libgomp.so.1: cannot open shared object file: No such file or directory"


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the path of a fake engine module that the child process imports instead of the real one."""
    package = tmp_path / "packages" / "xllamacpp.py"
    package.parent.mkdir()
    monkeypatch.setenv("PYTHONPATH", str(package.parent))
    return package


def read_engine_error() -> str:
    with pytest.raises(EmbeddedModelError) as raised:
        check_engine()
    return str(raised.value)


def test_real_engine_loads() -> None:
    check_engine()


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        (LIBGOMP, "The embedded model needs libgomp1: run apt-get install libgomp1, then try again."),
        ("libfoo-x.so.3.2: cannot open shared object file: No such file", "needs the shared library libfoo-x.so.3.2: "),
        ("no init function", "engine can't be loaded (ImportError: no init function): connect a model server with "),
    ],
)
def test_missing_library_is_reported_with_a_remedy(engine: Path, said: str, sentence: str) -> None:
    engine.write_text(f"raise ImportError({said!r})")
    assert sentence in read_engine_error()


def test_processor_that_can_not_run_the_engine_is_reported(engine: Path) -> None:
    engine.write_text("import os, signal; os.kill(os.getpid(), signal.SIGILL)")
    assert read_engine_error().startswith(
        "This machine's processor lacks instructions that the embedded model's engine needs"
    )


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lists what the processor can do")
def test_missing_processor_instructions_are_named_in_advance(
    engine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.write_text("def get_system_info(): return 'CPU : SSE3 = 1 | AVX = 1 | AVX2 = 1 | F16C = 0 | FMA = 1 |'")
    old = tmp_path / "cpuinfo"
    old.write_text("processor\t: 0\nflags\t\t: fpu sse2 ssse3 avx fma\n")
    monkeypatch.setattr("bot.features.local_model.engine._CPU_INFO", old)
    assert "processor lacks AVX2 that" in read_engine_error()


def test_pull_without_a_working_engine_fetches_nothing(
    engine: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    engine.write_text(f"raise ImportError({LIBGOMP!r})")
    monkeypatch.setattr("sys.argv", ["mneme", "model", "pull", "smollm2-135m"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
    assert capsys.readouterr().err == (
        "mneme: The embedded model needs libgomp1: run apt-get install libgomp1, then try again.\n"
    )
    assert not (Path(os.environ["XDG_CACHE_HOME"]) / "mneme" / "models").exists()
