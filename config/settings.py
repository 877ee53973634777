"""The settings of Mneme, read at start from the environment, then `.env`, then the defaults.

Only the composition root and the command line read settings. They pass values to everything else. A feature declares
its settings in a group of its own, which `Settings.group` reads.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import platformdirs
import tzlocal
from dotenv import dotenv_values
from pydantic import Field, HttpUrl, PrivateAttr, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import NoDecode

from config.errors import ConfigurationError
from config.groups import (
    ENCODING,
    ENV_FILE,
    AnyCase,
    FilePath,
    HeaderSecret,
    JsonObject,
    SettingsGroup,
    describe_invalid,
)

DATABASE_NAME = "mneme.db"

_ID = re.compile(r"-?[0-9]{1,19}")
_ONE_LINE = re.compile(r"[^\r\n]+")
_ENDPOINT_NAME = re.compile(r"[a-z][a-z0-9_-]{0,30}")

_REPLICA = re.compile(r"(s3://|sftp://[^/@:]+@|/)[^/]")

WEIGHED_KINDS = frozenset(("policy", "workflow", "pitfall", "architecture", "decision", "preference", "fact"))
"""The kinds of memories that MEMORY_TYPE_WEIGHTS may name."""


class MemoryScope(StrEnum):
    """The memory that a chat uses: its own, its own plus shared family memories, or one memory for all chats."""

    CHAT = "chat"
    FAMILY = "family"
    SHARED = "shared"


@dataclass(frozen=True, slots=True)
class NamedEndpoint:
    """An OpenAI-compatible endpoint that models can be prefixed with, such as `groq:llama-4`."""

    name: str
    url: HttpUrl
    key: SecretStr | None = None


def find_system_zone() -> str | None:
    """Return the name of the machine's time zone, or None if it is unknown."""
    try:
        name = tzlocal.get_localzone_name()
        return ZoneInfo(name).key if name else None
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


Group = TypeVar("Group", bound=SettingsGroup)


class Settings(SettingsGroup):
    """The settings. Their names are those of the environment variables, which `.env.example` documents."""

    telegram_bot_token: SecretStr | None = None
    telegram_allowed_ids: Annotated[frozenset[int], NoDecode] = frozenset()
    telegram_api_url: HttpUrl = HttpUrl("https://api.telegram.org")
    telegram_webhook_url: HttpUrl | None = None
    telegram_webhook_secret: HeaderSecret | None = None
    telegram_proxy: Annotated[str, Field(pattern=r"^https?://[^\s/]+/?$")] | None = None

    openai_api_key: SecretStr | None = None
    openai_base_url: HttpUrl | None = None
    llm_model: str | None = None
    llm_endpoints: Annotated[tuple[NamedEndpoint, ...], NoDecode] = ()
    llm_models: Annotated[tuple[str, ...], NoDecode] = ()
    llm_fast_model: str | None = None
    llm_fallback_model: str | None = None
    llm_context_tokens: int | None = Field(default=None, ge=1024)
    llm_timeout: float = Field(default=120, gt=0, le=3600)
    llm_effort: Annotated[Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None, AnyCase] = None
    llm_temperature: float | None = Field(default=None, ge=0, le=2)
    llm_extra_body: JsonObject | None = None

    mneme_data_dir: FilePath = Field(default_factory=lambda: platformdirs.user_data_path("mneme"))
    timezone: str = Field(default_factory=lambda: find_system_zone() or "UTC")
    log_level: Annotated[Literal["debug", "info", "warning", "error"], AnyCase] = "info"
    log_format: Annotated[Literal["auto", "console", "json"], AnyCase] = "auto"
    metrics_port: int | None = Field(default=None, ge=1, le=65_535)

    replica_url: str | None = None
    replica_access_key: SecretStr | None = None
    replica_secret_key: SecretStr | None = None
    replica_ssh_key: FilePath | None = None
    replica_ssh_host: str | None = None

    web_port: int = Field(default=8765, ge=1, le=65_535)
    web_url: HttpUrl | None = None

    memory_enabled: bool = True
    memory_scope: Annotated[MemoryScope, AnyCase] = MemoryScope.CHAT
    bot_name: str = Field(default="Mneme", min_length=1, max_length=40)
    memory_recent_days: int = Field(default=7, ge=0, le=365)
    memory_max_size: int = Field(default=8192, ge=256, le=1_000_000)
    memory_window: int = Field(default=50, ge=2, le=100_000)
    memory_activation_tokens: int = Field(default=800, ge=0, le=100_000)
    memory_type_weights: Annotated[dict[str, float], NoDecode] = Field(default={})
    memory_half_life_days: float = Field(default=90, ge=1, le=36_500)
    memory_threshold: float = Field(default=0.3, ge=0, le=1000)
    memory_archive_below: float = Field(default=0.1, ge=0, le=1000)
    memory_notices: bool = True
    consolidation_timeout: float = Field(default=30, gt=0, le=3600)

    compaction_enabled: bool = True
    compaction_max_context_tokens: int = Field(default=50_000, ge=500)
    compaction_keep_last_messages: int = Field(default=20, ge=1, le=1000)

    turn_max_model_calls: int = Field(default=24, ge=1, le=1000)
    turn_max_tool_calls: int = Field(default=80, ge=0, le=10_000)
    turn_max_seconds: float = Field(default=600, gt=0, le=86_400)
    daily_token_limit: int | None = Field(default=None, ge=1)
    chat_daily_tokens: int | None = Field(default=None, ge=1)
    chat_daily_cost: float | None = Field(default=None, gt=0)

    _given: dict[str, Any] = PrivateAttr(default_factory=dict)
    _groups: dict[type[SettingsGroup], SettingsGroup] = PrivateAttr(default_factory=dict)

    @field_validator("telegram_allowed_ids", mode="before")
    @classmethod
    def _split_ids(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        parts = [part.strip() for part in value.split(",") if part.strip()]
        if not all(_ID.fullmatch(part) for part in parts):
            raise ValueError("give numeric ids of users and groups, separated by commas, such as 12345,-100678")
        return frozenset(map(int, parts))

    @field_validator("llm_models", mode="before")
    @classmethod
    def _split_names(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        return tuple(dict.fromkeys(part.strip() for part in value.split(",") if part.strip()))

    @field_validator("llm_endpoints", mode="before")
    @classmethod
    def _split_endpoints(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        endpoints: dict[str, NamedEndpoint] = {}
        for part in re.split(r"[;\n]", value):
            fields = part.split()
            if not fields:
                continue
            if not 2 <= len(fields) <= 3 or not _ENDPOINT_NAME.fullmatch(fields[0]) or fields[0] in endpoints:
                raise ValueError(
                    "give a name, an address and a key for each endpoint, separated by spaces, with semicolons between"
                    " endpoints, such as: groq https://api.groq.com/openai/v1 KEY; home http://10.0.0.5:11434/v1"
                )
            try:
                url = HttpUrl(fields[1])
            except ValidationError as error:
                raise ValueError(f"{fields[1]} isn't an address such as https://api.groq.com/openai/v1") from error
            endpoints[fields[0]] = NamedEndpoint(fields[0], url, SecretStr(fields[2]) if len(fields) == 3 else None)
        return tuple(endpoints.values())

    @field_validator("telegram_webhook_url")
    @classmethod
    def _check_webhook_url(cls, value: HttpUrl | None) -> HttpUrl | None:
        if value is not None and value.scheme != "https":
            raise ValueError("Telegram sends messages only to addresses that begin with https://")
        if value is not None and value.path in ("/healthz", "/metrics"):
            raise ValueError(f"{value.path} is taken: choose another path, such as /telegram")
        return value

    @field_validator("replica_url")
    @classmethod
    def _check_replica_url(cls, value: str | None) -> str | None:
        if value is not None and not _REPLICA.match(value):
            raise ValueError("give s3://bucket/path, sftp://user@host/path or the absolute path of a folder")
        return value

    @field_validator("memory_type_weights", mode="before")
    @classmethod
    def _split_weights(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        parts = [part.split("=") for part in value.split(",") if part.strip()]
        try:
            weights = {kind.strip(): float(weight) for kind, weight in parts}
        except ValueError as error:
            raise ValueError("give kinds with their weights, such as policy=2,fact=0.8") from error
        if not WEIGHED_KINDS.issuperset(weights):
            raise ValueError(f"give a weight only to {', '.join(sorted(WEIGHED_KINDS))}")
        if not all(0 < weight <= 100 for weight in weights.values()):
            raise ValueError("a weight must be above 0 and at most 100")
        return weights

    @field_validator("bot_name")
    @classmethod
    def _check_bot_name(cls, value: str) -> str:
        if not _ONE_LINE.fullmatch(value):
            raise ValueError("use one line")
        return value

    @field_validator("timezone")
    @classmethod
    def _check_zone(cls, value: str) -> str:
        try:
            ZoneInfo(value)
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:
            raise ValueError("use an IANA time zone such as Europe/Kyiv") from error
        return value

    @model_validator(mode="after")
    def _check_combinations(self) -> Settings:
        problems = [*self._find_model_problems(), *self._find_webhook_problems()]
        if problems:
            raise ValueError("\n".join(problems))
        return self

    def _find_model_problems(self) -> Iterator[str]:
        if self.has_endpoint and not self.llm_model:
            yield "LLM_MODEL is needed with OPENAI_API_KEY or OPENAI_BASE_URL: set it to the model to use"
        if self.has_endpoint and self.openai_api_key is None and self.openai_base_url is None:
            for name in (self.llm_fast_model, self.llm_fallback_model, *self.llm_models):
                if name is not None and self.split_model(name)[0] is None:
                    yield f"{name} needs the name of an endpoint of LLM_ENDPOINTS in front, or OPENAI_API_KEY"

    def _find_webhook_problems(self) -> Iterator[str]:
        if self.telegram_webhook_url is not None and self.telegram_webhook_secret is None:
            yield "TELEGRAM_WEBHOOK_SECRET is needed with TELEGRAM_WEBHOOK_URL: create one with `openssl rand -hex 32`"
        if self.telegram_webhook_url is not None and self.metrics_port is None:
            yield "METRICS_PORT is needed with TELEGRAM_WEBHOOK_URL: set the port that the web server forwards to"

    def __init__(self, **values: Any) -> None:  # pydantic's own signature
        super().__init__(**values)
        self._given = values

    def group(self, kind: type[Group]) -> Group:
        """Return the settings of a feature, from the same sources. Raises ConfigurationError for a wrong value."""
        found = self._groups.get(kind)
        if not isinstance(found, kind):
            is_given = not self._given_names.isdisjoint(kind.model_fields)
            try:
                # Looking for values costs some milliseconds
                found = self._groups[kind] = kind(**self._given) if is_given else kind.model_construct()
            except ValidationError as error:
                raise describe_invalid(error) from error
        return found

    def is_given(self, name: str) -> bool:
        """Return True if a setting of the kernel or of a feature has a value in the environment or the file."""
        return name in self._given_names

    @functools.cached_property
    def _given_names(self) -> frozenset[str]:
        """The names of everything that is given, in small letters."""
        in_file = dotenv_values(self._given.get("_env_file", ENV_FILE), encoding=ENCODING)
        return frozenset(name.lower() for name in (*self._given, *os.environ, *in_file))

    def count_given(self) -> int:
        """Return how many settings are given, also of the groups that have been read."""
        return sum(len(group.model_fields_set) for group in (self, *self._groups.values()))

    def list_secrets(self) -> list[SecretStr]:
        """Return all secrets, also those of the groups that have been read."""
        own = [*super().list_secrets(), *(endpoint.key for endpoint in self.llm_endpoints if endpoint.key is not None)]
        return [*own, *(secret for group in self._groups.values() for secret in group.list_secrets())]

    @property
    def has_endpoint(self) -> bool:
        """True if an OpenAI-compatible endpoint is configured. Otherwise the embedded model is used."""
        if self.openai_api_key is not None or self.openai_base_url is not None:
            return True
        return self.llm_model is not None and self.split_model(self.llm_model)[0] is not None

    def split_model(self, name: str) -> tuple[NamedEndpoint | None, str]:
        """Split `groq:llama-4` into the endpoint of that name and the model. None is the endpoint of OPENAI_*."""
        prefix, colon, rest = name.partition(":")
        named = next((endpoint for endpoint in self.llm_endpoints if endpoint.name == prefix), None)
        return (named, rest) if named is not None and colon and rest else (None, name)

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.timezone)

    @property
    def database_file(self) -> Path:
        return self.mneme_data_dir / DATABASE_NAME

    @property
    def models_dir(self) -> Path:
        """The folder for the weights of local models. All bots of a user share it, and backups leave it out."""
        return platformdirs.user_cache_path("mneme") / "models"


def check_together(settings: Settings) -> None:
    """Raise ConfigurationError for settings that are valid alone but not together."""
    if settings.memory_scope is MemoryScope.SHARED and any(chat < 0 for chat in settings.telegram_allowed_ids):
        raise ConfigurationError(
            "MEMORY_SCOPE=shared would show private messages to everyone in a group: remove the groups (negative ids) "
            "from TELEGRAM_ALLOWED_IDS, or set MEMORY_SCOPE=chat."
        )
