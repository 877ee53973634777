"""Loads the settings from the environment and the settings file, and refuses wrong ones with one sentence."""

from __future__ import annotations

import difflib
import os
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

    Raises ConfigurationError for wrong values, unknown names, and proxy or certificate variables that HTTP clients
    can't use.

    Args:
        check_names: whether to refuse unknown names.
    """
    env_file = env_file or find_settings_file()
    check_environment()
    _check_lines(env_file, check_names=check_names)
    try:
        settings = Settings(_env_file=env_file)
    except ValidationError as error:
        raise describe_invalid(error) from error
    for group in list_groups():
        if group is not Settings:
            settings.group(group)
    return settings


def _check_lines(env_file: Path, *, check_names: bool) -> None:
    names = list_setting_names()
    for line in _read_lines(env_file):
        if line.error or (line.key is not None and line.value is None):
            raise ConfigurationError(f"Line {line.original.line} of {env_file} can't be read: write NAME=value.")
        if check_names and line.key is not None and line.key.upper() not in names:
            near = difflib.get_close_matches(line.key.upper(), names, n=1)
            hint = f"did you mean {near[0]}?" if near else "see .env.example for all settings."
            raise ConfigurationError(f"{env_file} contains the unknown setting {line.key}: {hint}")


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
