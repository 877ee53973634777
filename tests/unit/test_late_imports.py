"""Tests of imports that are avoided: rich, and types of the OpenAI SDK that are not used."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.models.sdk_types import PACKAGES

ROOT = Path(__file__).parents[2]
UNUSED = """
import sys
import pipeline
import openai
client = openai.AsyncOpenAI(api_key="a-key", base_url="http://127.0.0.1:9/v1")
client.chat.completions, client.embeddings, client.audio.transcriptions, client.models
assert "openai.types.responses.response" not in sys.modules
assert len([name for name in sys.modules if name.startswith("openai.types.")]) < 150
"""
ALL = """
import importlib
import pipeline
from pipeline.models.sdk_types import read_origins
from pathlib import Path
package = importlib.import_module({name!r})
names = read_origins(Path(package.__file__))
assert len(names) > 30
for name in names:
    assert getattr(package, name) is not None, name
    assert getattr(package, name) is getattr(importlib.import_module(f"{{package.__name__}}.{{names[name]}}"), name)
importlib.reload(package)
assert set(names) <= set(vars(package)), set(names) - set(vars(package))
"""
UNKNOWN = """
import pipeline
from openai import types
try:
    types.no_such_name
except AttributeError:
    assert "Batch" in vars(types)
else:
    raise AssertionError
"""


RICH = """
import sys
from bot.cli.start import import_telegram, load_settings_with_logging
load_settings_with_logging()
import_telegram()
import bot.app, bot.telegram.service
assert not {"rich", "pygments", "cryptography"} & set(sys.modules)
import rich.console, cryptography
"""


def run(code: str) -> None:
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603  # our own code
    assert done.returncode == 0, done.stderr


def test_types_of_apis_that_are_not_called_are_not_imported() -> None:
    run(UNUSED)


@pytest.mark.parametrize("name", PACKAGES)
def test_every_type_is_the_one_that_the_package_imports(name: str) -> None:
    run(ALL.format(name=name))


def test_unknown_name_imports_the_whole_package() -> None:
    run(UNKNOWN)


def test_running_bot_imports_neither_rich_nor_cryptography() -> None:
    run(RICH)
