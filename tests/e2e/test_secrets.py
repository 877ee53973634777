"""Tests that the store refuses secrets and accepts texts that only look like secrets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.kernel import App
from config.logs import configure_logging
from config.secret_words import LANGUAGES, Language
from config.secrets import find_secret, mask_in_log_line, mask_secrets
from memory.errors import StoreError
from memory.transfer.exporting import Exporter
from tests.conftest import OpenApp
from tests.support.fakes import FakeClock, Person
from tests.support.features import needs_feature
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Fails, Says, Streams
from tests.support.servers.web import Answer, Request, WebServer

KEY = "aB3dE5gH7jK9mN1pQ3sT5vW7"
"""Replaces {KEY} in the test set, so that secret scanners don't report the file."""
BOT_TOKEN = "123456789:AAEhBOweik6ad9r_QXMENQjcrGbqCr4K-bc"
SET = json.loads((Path(__file__).parents[1] / "sets" / "secrets.json").read_text(encoding="utf-8"))
SECRETS = [
    pytest.param(case["kind"], case["text"].replace("{KEY}", KEY), id=f"{case['kind']}, {case['label']}")
    for case in SET["secrets"]
]
HARMLESS: list[str] = SET["harmless"]


def test_26_set_of_cases_is_large_enough() -> None:
    assert len(SECRETS) >= 88
    assert len(HARMLESS) >= 60


@pytest.mark.parametrize(("kind", "text"), SECRETS)
def test_26_secret_is_recognised(kind: str, text: str) -> None:
    assert find_secret(text) == kind


@pytest.mark.parametrize(("kind", "text"), SECRETS)
def test_26_secret_inside_a_text_is_masked(kind: str, text: str) -> None:
    cleaned = mask_secrets(f"Ann said on Monday\n{text}\nand went home")
    assert "[secret]" in cleaned
    assert find_secret(cleaned) is None
    assert cleaned.startswith("Ann said on Monday")
    assert cleaned.endswith("and went home")


@pytest.mark.parametrize("text", HARMLESS)
def test_26_text_resembling_a_secret_may_be_stored(text: str) -> None:
    assert find_secret(text) is None
    assert mask_secrets(text) == text


@pytest.mark.parametrize(
    "piece",
    [
        "sk-a-",
        "a.",
        "password ",
        "password: ",
        "1 ",
        "://a:",
        "eyJ",
        "4111-",
        "DE89 ",
        "seed phrase ",
        "bearer ",
        "seed phrase: legal ",
        "-----BEGIN PRIVATE KEY-----",
        "-",
        "SG.",
        "legal winner ",
    ],
)
@pytest.mark.timeout(20)  # seconds: a pattern that backtracks needs minutes for such a text, others less than one
def test_26_long_text_of_any_kind_is_searched(piece: str) -> None:
    find_secret(piece * (100_000 // len(piece)))


@pytest.mark.parametrize(
    "piece", ["my password is ", "api_key=a", "-----BEGIN PRIVATE KEY-----", "PuTTY-User-Key-File-2 "]
)
@pytest.mark.timeout(30)  # seconds, as above
def test_long_text_of_any_kind_is_masked(piece: str) -> None:
    mask_secrets(piece * (150_000 // len(piece)))


PLAIN = json.loads((Path(__file__).parents[1] / "sets" / "secret_sentences.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("text", [text for texts in PLAIN["refused"].values() for text in texts])
def test_secret_in_plain_words_is_recognised_in_each_language(text: str) -> None:
    assert find_secret(text) is not None
    assert find_secret(mask_secrets(text)) is None


@pytest.mark.parametrize("text", [text for texts in PLAIN["kept"].values() for text in texts])
def test_sentence_about_passwords_may_be_stored(text: str) -> None:
    assert find_secret(text) is None


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.names[:12])
@given(st.data())
def test_each_name_of_a_secret_contains_a_search_cue(language: Language, data: st.DataObject) -> None:
    names = "|".join(filter(None, (language.names, language.keys, language.codes)))
    name = data.draw(st.from_regex(rf"(?:{names})"))
    assert any(cue in name for cue in language.cues.split())


async def test_search_results_mask_door_codes_and_passphrases(app: App, person: Person, model: ModelServer) -> None:
    await person.says("The code for the front door of the cabin is 4711")
    await person.says("My passphrase for the cabin is purple monkey dishwasher lamp")
    await person.says("/new")
    found = await person.says("/recall cabin")
    assert "cabin" in found
    assert "4711" not in found
    assert "monkey" not in found


SHAPES = [case.values[1] for case in SECRETS if case.values[0] != "a password"]


@pytest.mark.parametrize("text", SHAPES)
def test_26_log_line_masks_secrets_and_stays_valid_json(text: str) -> None:
    line = mask_in_log_line(json.dumps({"event": f"sent {text}", "ok": True}, ensure_ascii=False))
    assert "[secret]" in line
    assert json.loads(line)["ok"] is True
    assert find_secret(str(json.loads(line)["event"])) is None


HIDDEN = "hunter2secret"
SAID = f"My password is {HIDDEN} and my hive is called Berta"


async def test_secret_in_a_conversation_is_in_no_derived_text(
    app: App, person: Person, model: ModelServer, tmp_path: Path, clock: FakeClock
) -> None:
    await person.says(SAID)
    await person.says("Nice weather")
    model.script(Says(f"{SAID}, they said"))
    told = await person.says("/compact 1")
    assert HIDDEN not in model.requests[-1].prompt  # The request of the summariser.
    assert HIDDEN not in told
    listed = await person.says("/memory archive")
    assert HIDDEN not in listed
    assert "Berta" in listed
    await person.says("/new")
    assert model.consolidations
    assert all(HIDDEN not in request.prompt for request in model.consolidations)
    clock.forward(days=1)
    await person.says("Good morning to you all")
    assert HIDDEN not in model.requests[-1].system()
    files = list((tmp_path / "data" / "memory").rglob("*.md"))
    assert files
    assert all(HIDDEN not in path.read_text() for path in files)


async def test_extract_and_history_fallback_contain_no_secret(
    person: Person, model: ModelServer, tmp_path: Path
) -> None:
    model.consolidation = lambda _: Says("no JSON")
    await person.says("x" * 190 + f" {SAID}")
    await person.says("Nice weather")
    model.script(Says(""), Says(""))
    assert "in extracts" in await person.says("/compact 1")
    await person.says("/new")
    assert HIDDEN not in await person.says("/memory archive")
    for path in (tmp_path / "data" / "memory").rglob("*.md"):
        assert "hunter2" not in path.read_text()


async def test_export_contains_secrets_only_if_requested(app: App, person: Person, tmp_path: Path) -> None:
    await person.says(SAID)
    await person.says("[1,2]")
    portable = Exporter(app.database, tmp_path / "data" / "memory")
    (tmp_path / "data" / "memory" / "console:local" / "MEMORY.md").write_text(f"{SAID}\n")
    await portable.export(tmp_path / "plain")
    await portable.export(tmp_path / "whole", with_secrets=True)

    def holding(folder: Path) -> set[str]:
        return {path.name for path in folder.rglob("*.*") if path.is_file() and HIDDEN in path.read_text()}

    assert holding(tmp_path / "plain") == set()
    assert holding(tmp_path / "whole") >= {"messages.jsonl", "MEMORY.md"}
    said = (tmp_path / "plain" / "rows" / "messages.jsonl").read_text()
    assert "Berta" in said
    assert '"[1,2]"' in said


@needs_feature("lightrag")
async def test_secret_is_not_sent_to_lightrag(start: OpenApp) -> None:
    sent: list[str] = []

    async def handle(request: Request) -> Answer:
        sent.append(request.body.decode())
        return Answer(200, b"{}")

    server = WebServer(handle)
    await server.start()
    try:
        async with start(lightrag_url=f"http://127.0.0.1:{server.port}", memory_scope="shared") as app:
            await Person(app).says(SAID)
    finally:
        await server.stop()
    documents = [body for body in sent if "file_source" in body]
    questions = [body for body in sent if "only_need_context" in body]
    assert len(documents) == len(questions) == 1
    assert not any(HIDDEN in body for body in sent)
    assert "Berta" in documents[0]
    assert "Berta" in questions[0]


SAID_IN_PRIVATE = "my aunt Berta keeps eleven hives"


@pytest.mark.parametrize(
    "failure",
    [
        Fails(400, f"cannot use this: {SAID_IN_PRIVATE}", code=SAID_IN_PRIVATE, param="messages"),
        Fails(422, f"cannot use this: {SAID_IN_PRIVATE}"),
        Fails(500, SAID_IN_PRIVATE),
        Streams(({"error": {"message": f"it choked on: {SAID_IN_PRIVATE}", "code": 500}},)),
    ],
    ids=["400", "422", "500", "in the stream"],
)
async def test_26_prompt_quoted_in_a_provider_error_is_not_logged(
    person: Person,
    model: ModelServer,
    capsys: pytest.CaptureFixture[str],
    own_logging: None,
    failure: Fails | Streams,
) -> None:
    configure_logging("debug", "json")
    model.otherwise = model.consolidation = lambda _: failure
    said = await person.says(f"Hello, {SAID_IN_PRIVATE}")
    assert "try /retry" in said
    answer, _, _ = said.partition("_Noted")  # The notice repeats the captured sentence to its sender.
    assert SAID_IN_PRIVATE not in answer
    await person.says("/compact 1")
    await person.says("/new")
    logged = capsys.readouterr().err
    assert "model_call_failed" in logged
    assert "Berta" not in logged


async def test_26_credentials_in_the_endpoint_address_are_masked(
    start: OpenApp, model: ModelServer, capsys: pytest.CaptureFixture[str], own_logging: None
) -> None:
    configure_logging("debug", "json")
    model.otherwise = lambda _: Fails(503)
    address = model.url.replace("http://", "http://ann:pw7@").replace("/v1", f"/sk-{KEY}/v1")
    async with start(openai_base_url=f"{address}?key=hidden99") as app:
        said = [await Person(app).says("Hello"), await Person(app).says("/status")]
    shown = "".join((*said, capsys.readouterr().err))
    assert "/[secret]/v1" in said[0]
    for secret in ("ann", "pw7", KEY, "hidden99"):
        assert secret not in shown.replace("channel", "")


async def test_26_chat_message_contains_no_path_of_the_machine(
    app: App, person: Person, model: ModelServer, tmp_path: Path
) -> None:
    await person.says("Hello")
    async with app.database.transaction() as connection:
        for row in await connection.execute_fetchall("PRAGMA page_count"):
            await connection.execute(f"PRAGMA max_page_count = {row[0] + 2}")
    said = await person.says("/remember " + "x" * 9_000)
    folder = tmp_path / "data" / "memory" / "console:local"
    (folder / "MEMORY.md").unlink(missing_ok=True)
    (folder / "MEMORY.md").mkdir(parents=True)
    said += await person.says("Remember that I like tea")
    assert "The disk with mneme.db is full" in said
    assert "MEMORY.md" in said
    assert str(tmp_path) not in said


def test_26_error_that_quotes_a_secret_is_masked() -> None:
    assert str(StoreError(f"bot{BOT_TOKEN}/getMe is out of reach")) == "bot[secret]/getMe is out of reach"


COMMANDS = ("/memory", "/memory why", "/import_5", "/settings@mneme_bot", "/page/enter")


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    "sentence",
    [
        "the password: {}",
        "My password is {}",
        "password = '{}'",
        "api_key={}",
        "**Passwort:** {}",
        "Passwort: „{}“",
        "пароль: {}",
        "mot de passe : {}",
        "密码是{}",
        "密码：{}",
        "token: `{}`.",
    ],
)
def test_command_after_the_name_of_a_secret_is_not_masked(sentence: str, command: str) -> None:
    text = sentence.format(command)
    assert mask_secrets(text) == text


@pytest.mark.parametrize("secret", ["/Xk9$memory", "/memory9x", "/x7/Kq2pLm", "/hunter2", "memory/7"])
def test_secret_that_begins_like_a_command_is_masked(secret: str) -> None:
    assert secret not in mask_secrets(f"my password is {secret}")


def test_secret_across_chunks_of_a_long_text_is_masked() -> None:
    key = "-----BEGIN PRIVATE KEY-----\n" + "MIIEvQIBADANBgkq\n" * 600 + "-----END PRIVATE KEY-----"
    for before in range(15_000, 36_000, 3_000):
        masked = mask_secrets(f"{'word ' * (before // 5)}\n{key}\n{'word ' * 9_000} my password is hunter2")
        assert "MIIEvQ" not in masked
        assert "hunter2" not in masked


async def test_password_in_plain_words_is_not_remembered(app: App, person: Person) -> None:
    assert "looks like a password" in await person.says("/remember my password is sunshine")
    assert await app.database.value("SELECT count(*) FROM entries") == 0
