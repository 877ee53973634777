"""The settings of Mneme, read at start from the environment, then `.env`, then the defaults.

Only the composition root and the command line read settings. They pass values to everything else. The module is long
since it lists every setting with its checks.
"""

from __future__ import annotations

import difflib
import json
import os
import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import platformdirs
import tzlocal
from dotenv.parser import Binding, parse_stream
from pydantic import Field, HttpUrl, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from config.errors import ConfigurationError
from config.network import check_environment

ENV_FILE = Path(".env")
DATABASE_NAME = "mneme.db"
ENCODING = "utf-8-sig"
"""UTF-8 with an optional byte order mark, which some editors write."""

_ID = re.compile(r"-?[0-9]{1,19}")
_ENDPOINT_NAME = re.compile(r"[a-z][a-z0-9_-]{0,30}")
# A secret that others send in a header. Telegram allows these characters, and the length makes it hard to guess.
_HEADER_SECRET = re.compile(r"[A-Za-z0-9_-]{16,256}")

_REPLICA = re.compile(r"(s3://|sftp://[^/@:]+@|/)[^/]")

WEIGHED_KINDS = frozenset(("policy", "workflow", "pitfall", "architecture", "decision", "preference", "fact"))
"""The kinds of memories that MEMORY_TYPE_WEIGHTS may name."""


LOCAL_EMBEDDER = "multilingual-e5-small"
"""The embedding model that runs on this machine. It needs the extra `embeddings`."""
# Includes the former model: a .env that still names it must not send texts to an endpoint.
_LOCAL_EMBEDDERS = {LOCAL_EMBEDDER, "bge-small-en-v1.5"}


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


class Settings(BaseSettings):
    """The settings. Their names are those of the environment variables, which `.env.example` documents."""

    model_config = SettingsConfigDict(
        env_file=ENV_FILE, env_file_encoding=ENCODING, env_ignore_empty=True, extra="ignore", frozen=True
    )

    telegram_bot_token: SecretStr | None = None
    telegram_allowed_ids: Annotated[frozenset[int], NoDecode] = frozenset()
    telegram_api_url: HttpUrl = HttpUrl("https://api.telegram.org")
    telegram_webhook_url: HttpUrl | None = None
    telegram_webhook_secret: SecretStr | None = None
    telegram_proxy: Annotated[str, Field(pattern=r"^https?://[^\s/]+/?$")] | None = None

    openai_api_key: SecretStr | None = None
    openai_base_url: HttpUrl | None = None
    llm_model: str | None = None
    llm_endpoints: Annotated[tuple[NamedEndpoint, ...], NoDecode] = ()
    llm_models: Annotated[tuple[str, ...], NoDecode] = ()
    llm_fast_model: str | None = None
    llm_fallback_model: str | None = None
    llm_transcription_model: str | None = None
    llm_transcription_base_url: HttpUrl | None = None
    llm_transcription_api_key: SecretStr | None = None
    llm_speech_model: str | None = None
    llm_speech_voice: str = "alloy"
    llm_speech_base_url: HttpUrl | None = None
    llm_speech_api_key: SecretStr | None = None
    llm_context_tokens: int | None = Field(default=None, ge=1024)
    llm_timeout: float = Field(default=120, gt=0, le=3600)
    llm_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None = None
    llm_temperature: float | None = Field(default=None, ge=0, le=2)
    llm_extra_body: str | None = None

    embedding_model: str | None = None
    embedding_base_url: HttpUrl | None = None
    embedding_api_key: SecretStr | None = None

    lightrag_url: HttpUrl | None = None
    lightrag_api_key: SecretStr | None = None
    lightrag_mode: Literal["local", "global", "hybrid", "naive", "mix", "bypass"] = "mix"

    mneme_data_dir: Path = Field(default_factory=lambda: platformdirs.user_data_path("mneme"))
    timezone: str = Field(default_factory=lambda: find_system_zone() or "UTC")
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["auto", "console", "json"] = "auto"
    metrics_port: int | None = Field(default=None, ge=1, le=65_535)

    replica_url: str | None = None
    replica_access_key: SecretStr | None = None
    replica_secret_key: SecretStr | None = None
    replica_ssh_key: Path | None = None
    replica_ssh_host: str | None = None

    mcp_config: Path | None = None
    mcp_tool_tokens: int = Field(default=6000, ge=0, le=1_000_000)

    web_search: bool = False

    mcp_token: SecretStr | None = None
    mcp_owner: str | None = None
    web_port: int = Field(default=8765, ge=1, le=65_535)
    web_url: HttpUrl | None = None

    memory_enabled: bool = True
    memory_scope: MemoryScope = MemoryScope.CHAT
    bot_name: str = Field(default="Mneme", min_length=1, max_length=40, pattern=r"^[^\r\n]+$")
    persona: Path | None = None
    memory_recent_days: int = Field(default=7, ge=0, le=365)
    memory_max_size: int = Field(default=8192, ge=256, le=1_000_000)
    memory_window: int = Field(default=50, ge=2, le=100_000)
    memory_activation_tokens: int = Field(default=800, ge=0, le=100_000)
    memory_type_weights: Annotated[dict[str, float], NoDecode] = {}
    memory_half_life_days: float = Field(default=90, ge=1, le=36_500)
    memory_threshold: float = Field(default=0.3, ge=0, le=1000)
    memory_archive_below: float = Field(default=0.1, ge=0, le=1000)
    memory_tidy_day: Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"] = "sun"
    memory_tidy_hour: int = Field(default=4, ge=0, le=23)
    memory_notices: bool = True
    guest_memory: bool = False
    consolidation_timeout: float = Field(default=30, gt=0, le=3600)

    compaction_enabled: bool = True
    compaction_max_context_tokens: int = Field(default=50_000, ge=500)
    compaction_keep_last_messages: int = Field(default=20, ge=1, le=1000)

    turn_max_model_calls: int = Field(default=24, ge=1, le=1000)
    turn_max_tool_calls: int = Field(default=80, ge=0, le=10_000)
    turn_max_seconds: float = Field(default=600, gt=0, le=86_400)
    import_daily_tokens: int = Field(default=100_000, ge=1)
    daily_token_limit: int | None = Field(default=None, ge=1)
    chat_daily_tokens: int | None = Field(default=None, ge=1)
    chat_daily_cost: float | None = Field(default=None, gt=0)

    @model_validator(mode="before")
    @classmethod
    def _drop_blanks(cls, values: object) -> object:
        if not isinstance(values, dict):
            return values
        trimmed = {name: value.strip() if isinstance(value, str) else value for name, value in values.items()}
        return {name: value for name, value in trimmed.items() if value != ""}

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

    @field_validator("llm_extra_body")
    @classmethod
    def _check_json_object(cls, value: str | None) -> str | None:
        if value is None:
            return None
        try:
            is_object = isinstance(json.loads(value), dict)
        except (ValueError, RecursionError):
            is_object = False
        if not is_object:
            raise ValueError('give a JSON object, such as {"top_k": 20}')
        return value

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

    @field_validator("telegram_webhook_secret", "mcp_token")
    @classmethod
    def _check_header_secret(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and not _HEADER_SECRET.fullmatch(value.get_secret_value()):
            raise ValueError("use 16 to 256 letters, digits, - and _, for example from `openssl rand -hex 32`")
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
            raise ValueError(f"only these kinds have a weight: {', '.join(sorted(WEIGHED_KINDS))}")
        if not all(0 < weight <= 100 for weight in weights.values()):
            raise ValueError("a weight must be above 0 and at most 100")
        return weights

    @field_validator(
        "llm_effort", "log_level", "log_format", "memory_scope", "lightrag_mode", "memory_tidy_day", mode="before"
    )
    @classmethod
    def _lower(cls, value: object) -> object:
        return value.lower() if isinstance(value, str) else value

    @field_validator("timezone")
    @classmethod
    def _check_zone(cls, value: str) -> str:
        try:
            ZoneInfo(value)
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:
            raise ValueError("use an IANA time zone such as Europe/Kyiv") from error
        return value

    @field_validator("mneme_data_dir", "mcp_config", "replica_ssh_key", "persona")
    @classmethod
    def _expand_home(cls, value: Path | None) -> Path | None:
        try:
            return value.expanduser().absolute() if value is not None else None
        except RuntimeError as error:
            raise ValueError("there is no home folder for ~: give the absolute path") from error

    @model_validator(mode="after")
    def _check_model(self) -> Settings:
        if self.has_endpoint and not self.llm_model:
            raise ValueError("LLM_MODEL is needed with OPENAI_API_KEY or OPENAI_BASE_URL: set it to the model to use")
        if self.has_endpoint and self.openai_api_key is None and self.openai_base_url is None:
            for name in (self.llm_fast_model, self.llm_fallback_model, *self.llm_models):
                if name is not None and self.split_model(name)[0] is None:
                    raise ValueError(
                        f"{name} needs the name of an endpoint of LLM_ENDPOINTS in front, or OPENAI_API_KEY"
                    )
        return self

    @model_validator(mode="after")
    def _check_audio_endpoints(self) -> Settings:
        for name in ("llm_transcription", "llm_speech"):
            model, url = getattr(self, f"{name}_model"), getattr(self, f"{name}_base_url")
            own = url is not None or getattr(self, f"{name}_api_key") is not None
            setting = name.upper()
            if model and not (own or self.has_endpoint):
                raise ValueError(f"{setting}_MODEL needs an endpoint: set {setting}_BASE_URL")
            if own and not model:
                raise ValueError(f"{setting}_MODEL is needed with {setting}_BASE_URL: set it to the model to use")
        return self

    @model_validator(mode="after")
    def _check_embedder(self) -> Settings:
        if self.embedding_model is None:
            if self.embedding_base_url or self.embedding_api_key:
                raise ValueError(
                    "EMBEDDING_MODEL is needed with EMBEDDING_BASE_URL or EMBEDDING_API_KEY: set it to the model to use"
                )
        elif not self.embeds_locally and not (self.embedding_base_url or self.embedding_api_key or self.has_endpoint):
            raise ValueError(
                f"EMBEDDING_MODEL without an endpoint must be {LOCAL_EMBEDDER}: use that, or set EMBEDDING_BASE_URL"
            )
        return self

    @model_validator(mode="after")
    def _check_webhook(self) -> Settings:
        if self.telegram_webhook_url is not None and self.telegram_webhook_secret is None:
            raise ValueError(
                "TELEGRAM_WEBHOOK_SECRET is needed with TELEGRAM_WEBHOOK_URL: create one with `openssl rand -hex 32`"
            )
        if self.telegram_webhook_url is not None and self.metrics_port is None:
            raise ValueError(
                "METRICS_PORT is needed with TELEGRAM_WEBHOOK_URL: set the port that the web server forwards to"
            )
        return self

    @model_validator(mode="after")
    def _check_memory_server(self) -> Settings:
        if self.mcp_token is not None and not self.memory_enabled:
            raise ValueError(
                "MCP_TOKEN gives other programs access to the memory, but memory is off: set MEMORY_ENABLED=true"
            )
        return self

    @property
    def embeds_locally(self) -> bool:
        return self.embedding_model in _LOCAL_EMBEDDERS and not (self.embedding_base_url or self.embedding_api_key)

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
    def mcp_file(self) -> Path:
        """The configuration file for MCP servers. It may be missing."""
        return self.mcp_config or self.mneme_data_dir / "mcp.json"

    @property
    def database_file(self) -> Path:
        return self.mneme_data_dir / DATABASE_NAME

    @property
    def models_dir(self) -> Path:
        """The folder for the weights of local models. All bots of a user share it, and backups leave it out."""
        return platformdirs.user_cache_path("mneme") / "models"


def list_setting_names() -> list[str]:
    return [name.upper() for name in Settings.model_fields]


def find_settings_file() -> Path:
    """Return the path of the settings file: MNEME_ENV_FILE, `.env` in the current folder, or else the user's own.

    The user's own is `$XDG_CONFIG_HOME/mneme/.env`, usually `~/.config/mneme/.env`.
    """
    if path := os.environ.get("MNEME_ENV_FILE"):
        return Path(path)
    user_file = platformdirs.user_config_path("mneme") / ENV_FILE
    return user_file if not ENV_FILE.exists() and user_file.exists() else ENV_FILE


def load_settings(env_file: Path | None = None) -> Settings:
    """Load the settings from the environment and `env_file`, or `find_settings_file()` by default.

    Raises ConfigurationError for wrong values, unknown names, and proxy or certificate variables that HTTP clients
    can't use.
    """
    env_file = env_file or find_settings_file()
    check_environment()
    _refuse_unknown_names(env_file)
    try:
        return Settings(_env_file=env_file)  # type: ignore[call-arg]  # An argument of pydantic-settings.
    except ValidationError as error:
        raise ConfigurationError(_explain(error)) from error


def check_together(settings: Settings) -> None:
    """Raise ConfigurationError for settings that are valid alone but not together."""
    if settings.memory_scope is MemoryScope.SHARED and any(chat < 0 for chat in settings.telegram_allowed_ids):
        raise ConfigurationError(
            "MEMORY_SCOPE=shared would show private messages to everyone in a group: remove the groups (negative ids) "
            "from TELEGRAM_ALLOWED_IDS, or set MEMORY_SCOPE=chat."
        )
    if settings.guest_memory and settings.memory_scope is MemoryScope.SHARED:
        raise ConfigurationError(
            "GUEST_MEMORY=true needs a separate memory for each chat, and MEMORY_SCOPE=shared has one for all: set "
            "MEMORY_SCOPE=chat, or GUEST_MEMORY=false."
        )
    if settings.lightrag_url is not None and settings.memory_scope is not MemoryScope.SHARED:
        raise ConfigurationError(
            "LIGHTRAG_URL needs MEMORY_SCOPE=shared: LightRAG has one memory for all and would leak between chats."
        )


def _refuse_unknown_names(env_file: Path) -> None:
    names = list_setting_names()
    for line in _read_lines(env_file):
        if line.error or (line.key is not None and line.value is None):
            raise ConfigurationError(f"Line {line.original.line} of {env_file} can't be read: write NAME=value.")
        if line.key is not None and line.key.upper() not in names:
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


def _explain(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    text = _ALLOWED.get(first["type"], str(first["msg"]).removeprefix("Value error, "))
    if not first["loc"]:
        return f"{text}."
    return f"{str(first['loc'][0]).upper()} is not valid: {text.replace('Input should', 'it should')}."


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
