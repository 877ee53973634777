"""Loads the settings from the environment and the settings file, and refuses wrong ones with one sentence."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator
from pathlib import Path

import platformdirs
from dotenv.parser import Binding, parse_stream
from pydantic import ValidationError

from config.errors import ConfigurationError
from config.groups import ENCODING, ENV_FILE, describe_invalid, list_groups, list_setting_names
from config.network import check_environment
from config.settings import Settings


def find_settings_file() -> Path:
    """Return the path of the settings file: MNEME_ENV_FILE, `.env` in the current folder, or else the user's own.

    The user's own is `$XDG_CONFIG_HOME/mneme/.env`, usually `~/.config/mneme/.env`.
    """
    if path := os.environ.get("MNEME_ENV_FILE"):
        return Path(path)
    user_file = platformdirs.user_config_path("mneme") / ENV_FILE
    return user_file if not ENV_FILE.exists() and user_file.exists() else ENV_FILE


def load_settings(env_file: Path | None = None, *, check_names: bool = True) -> Settings:
    """Load the settings from the environment and `env_file`, or `find_settings_file()` by default.

    The settings of the features that have been imported are checked too.

    Raises ConfigurationError for all wrong values, unknown names, and proxy or certificate variables that HTTP clients
    can't use.

    Args:
        check_names: whether to refuse unknown names.
    """
    env_file = env_file or find_settings_file()
    problems: list[str] = []
    try:
        check_environment()
    except ConfigurationError as error:
        problems += error.problems
    problems += _find_wrong_lines(env_file, check_names=check_names)
    settings = _read_groups(env_file, problems)
    if problems or settings is None:
        raise ConfigurationError(*problems)
    return settings


def _read_groups(env_file: Path, problems: list[str]) -> Settings | None:
    """Read the settings of the kernel and of the features, and add what is wrong to `problems`."""
    settings, source = None, {"_env_file": env_file}
    try:
        settings = Settings(**source)
    except ValidationError as error:
        # A setting that seems to be missing may be on a wrong line
        if not problems or error.errors()[0]["loc"]:
            problems += describe_invalid(error).problems
    for group in list_groups():
        if group is not Settings:
            try:
                _ = group(**source) if settings is None else settings.group(group)
            except ValidationError as error:
                problems += describe_invalid(error).problems
            except ConfigurationError as error:
                problems += error.problems
    return settings


def _find_wrong_lines(env_file: Path, *, check_names: bool) -> Iterator[str]:
    names = list_setting_names()
    for line in _read_lines(env_file):
        if line.error or (line.key is not None and line.value is None):
            yield f"Line {line.original.line} of {env_file} can't be read: write NAME=value."
        elif check_names and line.key is not None and line.key.upper() not in names:
            near = difflib.get_close_matches(line.key.upper(), names, n=1)
            hint = f"did you mean {near[0]}?" if near else "see .env.example for all settings."
            yield f"{env_file} contains the unknown setting {line.key}: {hint}"


def _read_lines(env_file: Path) -> list[Binding]:
    try:
        with env_file.open(encoding=ENCODING) as file:
            return list(parse_stream(file))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise ConfigurationError(f"{env_file} can't be read: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{env_file} can't be read: save it as UTF-8.") from error
