"""Tests of settings: sources, refusals and their wording, and that `.env.example` is accurate."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
import tzlocal
from pydantic import SecretStr

from config.errors import ConfigurationError
from config.groups import list_groups, list_setting_names
from config.loading import find_settings_file, load_settings
from config.settings import MemoryScope, Settings
from tests.support.features import needs_feature, whole_program

EXAMPLE = Path(__file__).parents[2] / ".env.example"


@dataclass(frozen=True, slots=True)
class DocumentedSetting:
    """A setting in `.env.example`: comment, whether it is commented out, and value."""

    name: str
    comment: str
    commented_out: bool
    value: str


def parse_example() -> list[DocumentedSetting]:
    found, comment = [], ""
    for line in EXAMPLE.read_text(encoding="utf-8").splitlines():
        if setting := re.fullmatch(r"(# )?([A-Z][A-Z0-9_]+)=(.*)", line):
            found.append(DocumentedSetting(setting[2], comment, setting[1] is not None, setting[3]))
        comment = f"{comment} {line.removeprefix('#').strip()}" if line.startswith("#") and line != "#" else ""
    return found


def write_env(*lines: str, encoding: str = "utf-8") -> Path:
    """Write a `.env` in the working directory."""
    Path(".env").write_bytes("\n".join(lines).encode(encoding))
    return Path(".env")


def read_refusal(*lines: str) -> str:
    """Load a `.env` that is refused and return the sentence."""
    with pytest.raises(ConfigurationError) as error:
        load_settings(write_env(*lines))
    sentence = str(error.value)
    assert sentence.endswith((".", "?"))
    assert "\n" not in sentence
    return sentence


def test_user_settings_file_is_used_if_there_is_none_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    own = tmp_path / "config" / "mneme" / ".env"
    own.parent.mkdir(parents=True)
    own.write_text("LLM_MODEL=of-mine", encoding="utf-8")
    assert find_settings_file() == own
    assert load_settings().llm_model == "of-mine"
    write_env("LLM_MODEL=of-the-working-directory")
    assert load_settings().llm_model == "of-the-working-directory"


def test_settings_file_can_be_chosen_by_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    write_env("LLM_MODEL=of-the-working-directory")
    (tmp_path / "work.env").write_text("LLM_MODEL=of-the-unit", encoding="utf-8")
    monkeypatch.setenv("MNEME_ENV_FILE", str(tmp_path / "work.env"))
    assert load_settings().llm_model == "of-the-unit"


@whole_program
def test_example_documents_every_setting_and_no_other() -> None:
    assert sorted(setting.name for setting in parse_example()) == sorted(list_setting_names())


def test_example_begins_with_its_usage() -> None:
    first = EXAMPLE.read_text(encoding="utf-8").splitlines()[0]
    assert first == "# Copy this file to .env and fill in what you need, or run `mneme setup`, which asks for it."


@whole_program
@pytest.mark.parametrize("setting", parse_example(), ids=lambda setting: setting.name)
def test_example_comment_states_what_happens_without_a_setting(setting: DocumentedSetting) -> None:
    assert len(setting.comment) > 20
    fields = {name.upper(): field for group in list_groups() for name, field in group.model_fields.items()}
    has_value = setting.commented_out and fields[setting.name].default is not None
    assert has_value or "Default: " in setting.comment or "needed with" in setting.comment


@whole_program
def test_every_setting_is_used() -> None:
    folders = (EXAMPLE.parent / room for room in ("bot", "pipeline", "config"))
    text = "\n".join(path.read_text(encoding="utf-8") for folder in folders for path in folder.rglob("*.py"))
    assert [name for name in list_setting_names() if not re.search(rf"\w\)?\.{name.lower()}\b", text)] == []


def test_unchanged_example_sets_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MNEME_DATA_DIR")
    assert load_settings(EXAMPLE).model_fields_set == {"timezone"}  # The tests set this themselves.


@whole_program
def test_example_values_are_usable_and_match_the_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TIMEZONE")
    examples = {setting.name.lower() for setting in parse_example() if setting.commented_out}
    settings = load_settings(write_env(*(f"{s.name}={s.value}" for s in parse_example()), "LLM_MODEL=a-model"))
    for kind in list_groups():
        group = settings if kind is Settings else settings.group(kind)
        for name, field in kind.model_fields.items():
            if name in examples and field.default_factory is None and field.default not in (None, {}, ()):
                assert getattr(group, name) == field.default, name


def test_defaults_apply_without_any_settings() -> None:
    settings = load_settings(Path("absent.env"))
    assert settings.telegram_bot_token is None
    assert settings.telegram_allowed_ids == frozenset()
    assert not settings.has_endpoint
    assert (settings.memory_window, settings.compaction_keep_last_messages, settings.memory_recent_days) == (50, 20, 7)
    assert settings.memory_scope is MemoryScope.CHAT


def test_environment_overrides_file_and_file_overrides_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    env_file = write_env("MEMORY_WINDOW=30", "MEMORY_RECENT_DAYS=3")
    monkeypatch.setenv("MEMORY_WINDOW", "40")
    settings = load_settings(env_file)
    assert (settings.memory_window, settings.memory_recent_days, settings.turn_max_tool_calls) == (40, 3, 80)


@pytest.mark.parametrize("empty", ["", " ", "''", '"  "'])
def test_empty_value_counts_as_not_set(monkeypatch: pytest.MonkeyPatch, empty: str) -> None:
    names = [n for n in list_setting_names() if n != "TIMEZONE"]
    monkeypatch.delenv("MNEME_DATA_DIR")
    assert load_settings(write_env(*(f"{name}={empty}" for name in names))).model_fields_set == {"timezone"}


def test_empty_variable_leaves_the_value_of_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_WINDOW", "")
    assert load_settings(write_env("MEMORY_WINDOW=30")).memory_window == 30


def test_values_may_be_quoted_spaced_and_in_any_case() -> None:
    settings = load_settings(
        write_env(
            "# a comment",
            "export MEMORY_WINDOW = 30",
            "LOG_LEVEL='Warning'  # loud enough",
            'MEMORY_SCOPE="Shared"',
            "llm_effort=High",
            "MEMORY_ENABLED=No",
            "TELEGRAM_BOT_TOKEN=' 123:abc '",
            "TELEGRAM_ALLOWED_IDS= 12345 , -100678,,",
        )
    )
    assert (settings.memory_window, settings.log_level, settings.llm_effort) == (30, "warning", "high")
    assert settings.memory_scope is MemoryScope.SHARED
    assert settings.memory_enabled is False
    assert settings.telegram_bot_token == SecretStr("123:abc")
    assert settings.telegram_allowed_ids == {12345, -100678}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_file_of_a_windows_editor_is_read(encoding: str) -> None:
    env_file = write_env("MEMORY_WINDOW=30\r", "LLM_MODEL=модель\r", encoding=encoding)
    settings = load_settings(env_file)
    assert (settings.memory_window, settings.llm_model) == (30, "модель")


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (
            "TELEGRAM_BOT_TOKN=1",
            ".env contains the unknown setting TELEGRAM_BOT_TOKN: did you mean TELEGRAM_BOT_TOKEN?",
        ),
        ("OPENAI_KEY=1", "did you mean OPENAI_API_KEY?"),
        ("colour=blue", ".env contains the unknown setting colour: see .env.example for all settings."),
    ],
)
def test_unknown_name_is_refused_with_the_nearest(line: str, sentence: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(sentence) + "$"):
        load_settings(write_env("MEMORY_WINDOW=30", line))


def test_unknown_names_in_the_environment_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TELEGRAM_BOT_TOKN", "1")
    load_settings(write_env("MEMORY_WINDOW=30"))


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("MEMORY_WINDOW=many", "MEMORY_WINDOW is not valid: use a whole number."),
        ("MEMORY_WINDOW=7.5", "MEMORY_WINDOW is not valid: use a whole number."),
        ("MEMORY_WINDOW=1", "MEMORY_WINDOW is not valid: it should be greater than or equal to 2."),
        (f"BOT_NAME={'a' * 41}", "BOT_NAME is not valid: it should have at most 40 characters."),
        ('BOT_NAME="a\\nb"', "BOT_NAME is not valid: use one line."),
        ("LLM_TIMEOUT=soon", "LLM_TIMEOUT is not valid: use a number."),
        ("LLM_TIMEOUT=0", "LLM_TIMEOUT is not valid: it should be greater than 0."),
        ("LLM_TIMEOUT=inf", "LLM_TIMEOUT is not valid: it should be less than or equal to 3600."),
        ("MEMORY_ENABLED=maybe", "MEMORY_ENABLED is not valid: use true or false."),
        ("MEMORY_SCOPE=all", "MEMORY_SCOPE is not valid: it should be 'chat', 'family' or 'shared'."),
        ("LOG_LEVEL=loud", "LOG_LEVEL is not valid: it should be 'debug', 'info', 'warning' or 'error'."),
        ("TIMEZONE=Mars/Base", "TIMEZONE is not valid: use an IANA time zone such as Europe/Kyiv."),
        ("TIMEZONE=../etc/passwd", "TIMEZONE is not valid: use an IANA time zone such as Europe/Kyiv."),
        pytest.param(
            "LIGHTRAG_URL=somewhere",
            "LIGHTRAG_URL is not valid: use an address such as http://localhost:8080.",
            marks=needs_feature("lightrag"),
        ),
        (
            "TELEGRAM_API_URL=localhost:8081",
            "TELEGRAM_API_URL is not valid: use an address that begins with http:// or https://.",
        ),
        ("TELEGRAM_PROXY=proxy", "TELEGRAM_PROXY is not valid: use an address such as http://localhost:3128."),
        (
            "MNEME_DATA_DIR=~nobody-of-that-name/data",
            "MNEME_DATA_DIR is not valid: there is no home folder for ~: give the absolute path.",
        ),
        (
            "MEMORY_TYPE_WEIGHTS=policy",
            "MEMORY_TYPE_WEIGHTS is not valid: give kinds with their weights, such as policy=2,fact=0.8.",
        ),
        (
            "MEMORY_TYPE_WEIGHTS=policy=2=3",
            "MEMORY_TYPE_WEIGHTS is not valid: give kinds with their weights, such as policy=2,fact=0.8.",
        ),
        (
            "MEMORY_TYPE_WEIGHTS=policy=much",
            "MEMORY_TYPE_WEIGHTS is not valid: give kinds with their weights, such as policy=2,fact=0.8.",
        ),
        (
            "MEMORY_TYPE_WEIGHTS=note=2",
            (
                "MEMORY_TYPE_WEIGHTS is not valid: give a weight only to architecture, decision, fact,"
                " pitfall, policy, preference, workflow."
            ),
        ),
        ("MEMORY_TYPE_WEIGHTS=fact=0", "MEMORY_TYPE_WEIGHTS is not valid: a weight must be above 0 and at most 100."),
        (
            "MEMORY_TYPE_WEIGHTS=fact=nan",
            "MEMORY_TYPE_WEIGHTS is not valid: a weight must be above 0 and at most 100.",
        ),
        ("MEMORY_HALF_LIFE_DAYS=0", "MEMORY_HALF_LIFE_DAYS is not valid: it should be greater than or equal to 1."),
        ("MEMORY_THRESHOLD=-1", "MEMORY_THRESHOLD is not valid: it should be greater than or equal to 0."),
        ("MEMORY_THRESHOLD=nan", "MEMORY_THRESHOLD is not valid: it should be less than or equal to 1000."),
        pytest.param(
            "MEMORY_TIDY_DAY=someday",
            "MEMORY_TIDY_DAY is not valid: it should be 'mon', 'tue', 'wed', 'thu', 'fri', 'sat' or 'sun'.",
            marks=needs_feature("tidying"),
        ),
        pytest.param(
            "MEMORY_TIDY_HOUR=24",
            "MEMORY_TIDY_HOUR is not valid: it should be less than or equal to 23.",
            marks=needs_feature("tidying"),
        ),
        (
            "OPENAI_API_KEY=sk-1",
            "LLM_MODEL is needed with OPENAI_API_KEY or OPENAI_BASE_URL: set it to the model to use.",
        ),
        (
            "OPENAI_BASE_URL=http://localhost:8080/v1",
            "LLM_MODEL is needed with OPENAI_API_KEY or OPENAI_BASE_URL: set it to the model to use.",
        ),
    ],
)
def test_invalid_value_is_refused_with_the_allowed_values(
    monkeypatch: pytest.MonkeyPatch, line: str, sentence: str
) -> None:
    monkeypatch.delenv(line.partition("=")[0], raising=False)
    assert read_refusal(line) == sentence


@needs_feature("tidying")
def test_all_wrong_settings_are_reported_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ("LLM_MODLE=m", "OPENAI_BASE_URL=http://localhost:1/v1", "MEMORY_WINDOW=many", "TIMEZONE=Mars", "nonsense")
    monkeypatch.delenv("TIMEZONE")
    with pytest.raises(ConfigurationError) as error:
        load_settings(write_env(*lines, "MEMORY_TIDY_HOUR=24"))
    assert error.value.problems == (
        ".env contains the unknown setting LLM_MODLE: did you mean LLM_MODEL?",
        "Line 5 of .env can't be read: write NAME=value.",
        "TIMEZONE is not valid: use an IANA time zone such as Europe/Kyiv.",
        "MEMORY_WINDOW is not valid: use a whole number.",
        "MEMORY_TIDY_HOUR is not valid: it should be less than or equal to 23.",
    )


def test_settings_that_others_need_are_reported_at_once() -> None:
    with pytest.raises(ConfigurationError) as error:
        load_settings(write_env("OPENAI_API_KEY=sk-1", WEBHOOK[0]))
    names = [problem.partition(" ")[0] for problem in error.value.problems]
    assert names == ["LLM_MODEL", "TELEGRAM_WEBHOOK_SECRET", "METRICS_PORT"]


def test_missing_model_is_not_reported_if_its_name_is_misspelt() -> None:
    assert read_refusal("LLM_MODLE=m", "OPENAI_BASE_URL=http://localhost:1/v1") == (
        ".env contains the unknown setting LLM_MODLE: did you mean LLM_MODEL?"
    )


@pytest.mark.parametrize("ids", ["12, x", "12 13", "@olena", "12;13", "1_2", "٣", "1.5", "+12", "-", "9" * 20])
def test_allowed_ids_accept_only_plain_numbers(ids: str) -> None:
    assert read_refusal(f"TELEGRAM_ALLOWED_IDS={ids}") == (
        "TELEGRAM_ALLOWED_IDS is not valid: give numeric ids of users and groups, separated by commas, such as"
        " 12345,-100678."
    )


@pytest.mark.parametrize(
    "name", ["TELEGRAM_BOT_TOKEN", "OPENAI_API_KEY", pytest.param("LIGHTRAG_API_KEY", marks=needs_feature("lightrag"))]
)
def test_secret_is_in_neither_repr_nor_error(name: str) -> None:
    env_file = write_env(f"{name}=open-sesame", "LLM_MODEL=m")
    assert "open-sesame" not in repr(load_settings(env_file))
    assert "open-sesame" not in read_refusal(f"{name}=open-sesame", "LLM_MODEL=m", "MEMORY_WINDOW=open-sesame")


@pytest.mark.parametrize("line", ["MEMORY_WINDOW", "MEMORY_WINDOW: 30", "= 30", "MEMORY WINDOW=30", "LLM_MODEL='a"])
def test_line_that_is_no_setting_is_refused_by_number(line: str) -> None:
    assert read_refusal("# mine", "LOG_LEVEL=info", line) == "Line 3 of .env can't be read: write NAME=value."


def test_file_in_another_encoding_is_refused() -> None:
    write_env("LLM_MODEL=модель", encoding="cp1251")
    with pytest.raises(ConfigurationError, match=r"^\.env can't be read: save it as UTF-8\.$"):
        load_settings()


def test_folder_in_place_of_the_file_is_refused() -> None:
    Path(".env").mkdir()
    with pytest.raises(ConfigurationError, match=r"^\.env can't be read: Is a directory\.$"):
        load_settings()


def test_data_folder_is_always_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("MNEME_DATA_DIR")
    assert load_settings(write_env("MNEME_DATA_DIR=data")).mneme_data_dir == tmp_path / "data"
    assert load_settings(write_env("MNEME_DATA_DIR=~/data")).mneme_data_dir == tmp_path / "home" / "data"
    assert load_settings(write_env("LOG_LEVEL=info")).mneme_data_dir.is_absolute()


@pytest.mark.parametrize(("name", "zone"), [("Asia/Kathmandu", "Asia/Kathmandu"), ("local", "UTC"), (None, "UTC")])
def test_default_zone_is_the_systems_or_utc_if_unknown(
    monkeypatch: pytest.MonkeyPatch, name: str | None, zone: str
) -> None:
    monkeypatch.delenv("TIMEZONE")
    monkeypatch.setattr(tzlocal, "get_localzone_name", lambda: name)
    assert load_settings(write_env()).zone == ZoneInfo(zone)


def test_settings_are_frozen() -> None:
    with pytest.raises(ValueError, match="frozen"):
        load_settings(write_env()).memory_window = 3


WEBHOOK = ("TELEGRAM_WEBHOOK_URL=https://bot.example.org/telegram", "TELEGRAM_WEBHOOK_SECRET=0123456789abcdef")


def test_webhook_with_secret_and_port_is_accepted() -> None:
    settings = load_settings(write_env(*WEBHOOK, "METRICS_PORT=9464"))
    assert str(settings.telegram_webhook_url) == "https://bot.example.org/telegram"
    assert "0123456789abcdef" not in repr(settings)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (WEBHOOK, "METRICS_PORT is needed with TELEGRAM_WEBHOOK_URL"),
        ((WEBHOOK[0], "METRICS_PORT=9464"), "TELEGRAM_WEBHOOK_SECRET is needed with TELEGRAM_WEBHOOK_URL"),
        (("TELEGRAM_WEBHOOK_SECRET=too-short",), "16 to 256 letters, digits, - and _"),
        (("TELEGRAM_WEBHOOK_SECRET=no spaces in between them",), "16 to 256 letters, digits, - and _"),
        (("TELEGRAM_WEBHOOK_URL=http://bot.example.org/telegram",), "only to addresses that begin with https://"),
        (("TELEGRAM_WEBHOOK_URL=https://bot.example.org/metrics",), "/metrics is taken"),
    ],
)
def test_incomplete_webhook_is_refused(lines: tuple[str, ...], said: str) -> None:
    assert said in read_refusal(*lines)
