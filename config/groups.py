"""The base of settings, for the kernel's and for those that a feature declares."""

from __future__ import annotations

import functools
import itertools
import json
import re
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, SecretStr, ValidationError, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, EnvSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

from config.errors import ConfigurationError

ENTRY_POINTS = "mneme.features"
"""The entry point group of features from other packages. An entry point names a `Feature` class."""
ENV_FILE = Path(".env")
ENCODING = "utf-8-sig"
"""UTF-8 with an optional byte order mark, which some editors write."""
# A secret that others send in a header. Telegram allows these characters, and the length makes it hard to guess.
_HEADER_SECRET = re.compile(r"[A-Za-z0-9_-]{16,256}")


def _check_header_secret(value: SecretStr) -> SecretStr:
    if not _HEADER_SECRET.fullmatch(value.get_secret_value()):
        raise ValueError("use 16 to 256 letters, digits, - and _, for example from `openssl rand -hex 32`")
    return value


def _expand_home(value: Path) -> Path:
    try:
        return value.expanduser().absolute()
    except RuntimeError as error:
        raise ValueError("there is no home folder for ~: give the absolute path") from error


def _check_json_object(value: str) -> str:
    try:
        is_object = isinstance(json.loads(value), dict)
    except (ValueError, RecursionError):
        is_object = False
    if not is_object:
        raise ValueError('give a JSON object, such as {"top_k": 20}')
    return value


AnyCase = BeforeValidator(lambda value: value.lower() if isinstance(value, str) else value)
"""Marks a setting that is one of a few words: upper and lower case are the same."""
HeaderSecret = Annotated[SecretStr, AfterValidator(_check_header_secret)]
FilePath = Annotated[Path, AfterValidator(_expand_home)]
"""A path that may begin with ~. It becomes absolute."""
JsonObject = Annotated[str, AfterValidator(_check_json_object)]


class _GivenValues(PydanticBaseSettingsSource):
    """Reads the settings that the environment or the file contains.

    The sources of pydantic-settings also look for parts of each missing setting, which takes milliseconds.
    """

    def __init__(self, source: EnvSettingsSource) -> None:
        super().__init__(source.settings_cls)
        self._source = source

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        return self._source.env_vars.get(field_name), field_name, False

    def __call__(self) -> dict[str, Any]:
        values = {}
        for name, field in self.settings_cls.model_fields.items():
            value, key, is_complex = self.get_field_value(field, name)
            if value is not None:
                values[key] = self._source.prepare_field_value(name, field, value, is_complex)
        return values


class SettingsGroup(BaseSettings):
    """Settings that are read together. Their names are those of the environment variables.

    A feature declares its settings in a subclass, which `Settings.group` reads from the same environment and file.
    """

    model_config = SettingsConfigDict(
        env_file=ENV_FILE, env_file_encoding=ENCODING, env_ignore_empty=True, extra="ignore", frozen=True
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003  # pydantic-settings passes it by name
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003  # the same
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        given = (
            _GivenValues(source) for source in (env_settings, dotenv_settings) if isinstance(source, EnvSettingsSource)
        )
        return init_settings, *given

    @model_validator(mode="before")
    @classmethod
    def _drop_blanks(cls, values: object) -> object:
        if not isinstance(values, dict):
            return values
        trimmed = {name: value.strip() if isinstance(value, str) else value for name, value in values.items()}
        return {name: value for name, value in trimmed.items() if value != ""}

    def list_secrets(self) -> list[SecretStr]:
        return [value for name in type(self).model_fields if isinstance(value := getattr(self, name), SecretStr)]


@functools.cache
def find_entry_points() -> tuple[EntryPoint, ...]:
    """Return the features of other packages. Cached, since the metadata of all packages is read for it."""
    return tuple(entry_points(group=ENTRY_POINTS))


def list_groups() -> list[type[SettingsGroup]]:
    """Return the group of the kernel and those of the features that have been imported."""
    return SettingsGroup.__subclasses__()


def list_setting_names() -> list[str]:
    return [name.upper() for group in list_groups() for name in group.model_fields]


def describe_invalid(error: ValidationError) -> ConfigurationError:
    """Return one sentence about each wrong value."""
    problems = (_describe(wrong) for wrong in error.errors(include_url=False, include_input=False))
    return ConfigurationError(*itertools.chain.from_iterable(problems))


def _describe(wrong: ErrorDetails) -> list[str]:
    """Return one sentence for a setting, or one for each line of an error about several settings."""
    text = _ALLOWED.get(wrong["type"], str(wrong["msg"]).removeprefix("Value error, "))
    if not wrong["loc"]:
        return [f"{line}." for line in text.split("\n")]
    text = re.sub(r"(Input|String|Value) should", "it should", text)
    return [f"{str(wrong['loc'][0]).upper()} is not valid: {text}."]


# Replacements for pydantic's messages, which are for programmers, by the type of error.
_ALLOWED = {
    "bool_parsing": "use true or false",
    "int_parsing": "use a whole number",
    "int_from_float": "use a whole number",
    "float_parsing": "use a number",
    "url_parsing": "use an address such as http://localhost:8080",
    "url_scheme": "use an address that begins with http:// or https://",
    "string_pattern_mismatch": "use an address such as http://localhost:3128",
}
