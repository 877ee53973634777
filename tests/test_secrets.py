"""What the store refuses to hold: each kind of secret, and what only looks like one."""

from __future__ import annotations

import time

import pytest

from memory.text.secrets import secret_in, without_secrets

KEY = "aB3dE5gH7jK9mN1pQ3sT5vW7"

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


@pytest.mark.parametrize("piece", ["sk-a-", "a.", "password ", "password: ", "1 ", "://a:", "eyJ", "4111-"])
def test_no_text_takes_long_to_look_through(piece: str) -> None:
    before = time.process_time()
    secret_in(piece * (20_000 // len(piece)))
    assert time.process_time() - before < 0.5
