"""What the store refuses to hold: each kind of secret, and what only looks like one."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest

from config.logs import redact
from config.secrets import secret_in, without_secrets
from memory.custody.portable import Portable
from tests.support.fakes import Person
from tests.support.servers.model import Says
from tests.support.servers.web import Answer, WebServer

if TYPE_CHECKING:
    from pathlib import Path

    from bot.app import App
    from tests.conftest import OpenApp
    from tests.support.fakes import FakeClock
    from tests.support.servers.model import ModelServer
    from tests.support.servers.web import Request

KEY = "aB3dE5gH7jK9mN1pQ3sT5vW7"

SEED = "legal winner thank year wave sausage worth useful legal winner thank yellow"
NUMBERED = " ".join(f"{number}. {word}" for number, word in enumerate(SEED.split(), 1))

SECRETS = [
    ("a private key", "-----BEGIN PRIVATE KEY-----\nMIIE"),
    ("a private key", "-----BEGIN OPENSSH PRIVATE KEY-----"),
    ("a private key", "-----BEGIN PGP PRIVATE KEY BLOCK-----"),
    ("a Telegram bot token", "123456789:AAEhBOweik6ad9r_QXMENQjcrGbqCr4K-bc"),
    ("an API key", f"use sk-{KEY} for it"),
    ("an API key", f"sk-proj-{KEY}"),
    ("an API key", f"sk-ant-api03-{KEY}"),
    ("an API key", f"sk_live_{KEY}"),
    ("an API key", f"ghp_{KEY}{KEY}"),
    ("an API key", f"github_pat_{KEY}"),
    ("an API key", f"glpat-{KEY}"),
    ("an API key", f"hf_{KEY}{KEY}"),
    ("an API key", f"npm_{KEY}{KEY}"),
    ("an API key", "AKIAIOSFODNN7EXAMPLE"),
    ("an API key", f"AIza{KEY}{KEY}"),
    ("an API key", "xoxb-123456789012-abcdef"),
    ("an API key", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N"),
    ("a password", "the password is hunter22"),
    ("a password", "My password for the router is: tr0ub4dor"),
    ("a password", "password: swordfish"),
    ("a password", "PASSWORD=swordfish"),
    ("a password", "OPENAI_API_KEY=abcdefghij"),
    ("a password", "пароль від роутера: qwerty12"),
    ("a password", "Пароль это Zima2024"),
    ("a password", "Das Passwort lautet Geheim#1"),
    ("a password", "la contraseña es gato1234"),
    ("a password", "le mot de passe est Soleil$9"),
    ("a password", "我的密码是abc12345"),
    ("a password", "postgres://mneme:hunter2@db.example.org/mneme"),
    ("an API key", f"SG.{KEY}.{KEY}{KEY}"),
    ("an API key", f"whsec_{KEY}"),
    ("an API key", f"xapp-1-{KEY}"),
    ("an API key", "https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX"),
    ("an API key", f"GOCSPX-{KEY}"),
    ("an API key", "ASIAIOSFODNN7EXAMPLE"),
    (
        "a private key",
        "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,X\n\nMIIE+/=\n-----END RSA PRIVATE KEY-----",
    ),
    ("an access token", f"Authorization: Bearer {KEY}"),
    ("an access token", "authorization: basic dXNlcjpwYXNz"),
    ("a password", "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
    ("a password", "client secret: abcdefghij"),
    ("a password", "Das Kennwort ist Geheim#1"),
    ("a password", "секретный ключ: qwerty12"),
    ("a password", "la clave de acceso es gato1234"),
    ("a password", "口令是abc12345"),
    ("an account number", "DE89 3704 0044 0532 0130 00"),
    ("an account number", "my IBAN is GB29NWBK60161331926819."),
    ("an account number", "UA21 3223 1300 0002 6007 2335 6600 1 please"),
    ("a seed phrase", f"my seed phrase is {SEED}"),
    ("a seed phrase", f"Recovery phrase:\n{NUMBERED}"),
    ("a seed phrase", f"сид-фраза: {SEED} {SEED}"),
    ("a card number", "4111 1111 1111 1111"),
    ("a card number", "my card is 4111111111111111."),
    ("a card number", "card:5500-0000-0000-0004, thanks"),
    ("a card number", "3782 822463 10005"),
]

HARMLESS = [
    "The password is kept in the safe behind the picture.",
    "The password is stored, as always, at Ann's.",
    "I changed the password yesterday at 10:30.",
    "Password rules: at least twelve characters, please",
    "Где пароль? Спроси у Олены.",
    "the sk-learn-pipelines-tutorial is good",
    "a task-oriented approach since 2024",
    "My phone is +380 50 123 45 67 or +380 67 765 43 21",
    "order 1234 5678 9012 3456",
    "It was measured at 1707307200000",
    "the years 2019 2020 2021 2022",
    "0000 0000 0000 0000",
    "pi is 3.14159265358979323846",
    "https://example.org:8080/a@b",
    "Ann's key is under the third pot from the left",
    "12345678:30",
    "AKIA is a prefix",
    "commit 4f1d2c3b5a69788796a5b4c3d2e1f00112233445 fixes it",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "ISBN 978-3-16-148410-0 and ISBN 9780306406157",
    "on 2026-02-07 12:15:30.123456 at 50.4501, 30.5234",
    "call 0800 123 456 or 1-800-555-0199 or +49 (0) 30 123456",
    "the seed phrase is kept where nobody would ever look for it, under some plank in our barn",
    "recovery words: take twelve of them, write them down with care and lock everything away somewhere dry and safe",
    f"a poem that goes {SEED}",
    "DE89 3704 0044 0532 0130 01 has a wrong digit",
    "GREAT92 WORDS IN CAPITAL LETTERS ARE NO ACCOUNT",
    "Basic understanding-of-the-matter1 helps, the bearer of news",
    "Das Passwort steht wie immer auf dem Zettel in der Küche.",
    "la contraseña está en el cajón de la cocina",
    "le mot de passe se trouve chez ma voisine",
    "uuid 123e4567-e89b-12d3-a456-426614174000",
]


@pytest.mark.parametrize(("kind", "text"), SECRETS)
def test_a_secret_is_recognised(kind: str, text: str) -> None:
    assert secret_in(text) == kind


@pytest.mark.parametrize(("kind", "text"), SECRETS)
def test_a_secret_in_the_middle_of_a_text_is_taken_out(kind: str, text: str) -> None:
    cleaned = without_secrets(f"Ann said on Monday\n{text}\nand went home")
    assert "[secret]" in cleaned
    assert secret_in(cleaned) is None
    assert cleaned.startswith("Ann said on Monday")
    assert cleaned.endswith("and went home")


@pytest.mark.parametrize("text", HARMLESS)
def test_what_only_looks_like_a_secret_may_be_kept(text: str) -> None:
    assert secret_in(text) is None
    assert without_secrets(text) == text


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
        "SG.",
        "legal winner ",
    ],
)
def test_no_text_takes_long_to_look_through(piece: str) -> None:
    before = time.process_time()
    secret_in(piece * (20_000 // len(piece)))
    assert time.process_time() - before < 0.5


SHAPES = [text for kind, text in SECRETS if kind != "a password"]


@pytest.mark.parametrize("text", SHAPES)
def test_what_the_store_refuses_is_not_logged_either_and_json_stays_json(text: str) -> None:
    line = redact(json.dumps({"event": f"sent {text}", "ok": True}, ensure_ascii=False))
    assert "[secret]" in line
    assert json.loads(line)["ok"] is True
    assert secret_in(str(json.loads(line)["event"])) is None


HIDDEN = "hunter2secret"
SAID = f"My password is {HIDDEN} and my hive is called Berta"


async def test_a_secret_that_was_said_stands_in_no_text_that_is_made_of_it(
    app: App, person: Person, model: ModelServer, tmp_path: Path, clock: FakeClock
) -> None:
    await person.says(SAID)
    await person.says("Nice weather")
    model.script(Says(f"{SAID}, they said"))
    told = await person.says("/compact 1")
    assert HIDDEN not in model.requests[-1].prompt  # the summariser's request
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


async def test_an_extract_and_the_raw_words_in_the_history_hold_no_secret(
    person: Person, model: ModelServer, tmp_path: Path
) -> None:
    model.consolidation = lambda _: Says("no JSON")
    await person.says("x" * 190 + f" {SAID}")
    await person.says("Nice weather")
    model.script(Says(""), Says(""))
    assert "extracted" in await person.says("/compact 1")
    await person.says("/new")
    assert HIDDEN not in await person.says("/memory archive")
    for path in (tmp_path / "data" / "memory").rglob("*.md"):
        assert "hunter2" not in path.read_text()


async def test_an_export_holds_secrets_only_where_it_is_asked_for(app: App, person: Person, tmp_path: Path) -> None:
    await person.says(SAID)
    await person.says("[1,2]")
    portable = Portable(app.database, tmp_path / "data" / "memory")
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


async def test_no_secret_goes_to_lightrag(start: OpenApp) -> None:
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
    assert len(documents) == 1
    assert HIDDEN not in documents[0]
    assert "Berta" in documents[0]
