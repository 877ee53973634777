"""What must never be written into memory: keys, tokens, passwords, card numbers."""

from __future__ import annotations

import re

_PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("a private key", re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")),
    ("a Telegram bot token", re.compile(r"\b\d{6,12}:[A-Za-z0-9_-]{30,}")),
    (
        "an API key",
        re.compile(
            r"\b(?:sk|pk|rk)[-_](?:[a-z]+[-_])*[A-Za-z0-9_-]{16,}|\bgh[pousr]_[A-Za-z0-9]{30,}|\bgithub_pat_\w{20,}"
            r"|\bAKIA[0-9A-Z]{16}\b|\bAIza[\w-]{30,}|\bxox[abprs]-[\w-]{10,}|\bglpat-[\w-]{16,}|\bhf_[A-Za-z0-9]{30,}"
            r"|\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}"
        ),
    ),
    (
        "a password",
        re.compile(
            r"\b(?:password|passwd|passphrase|pwd|api[ _-]?key|secret[ _-]?key|access[ _-]?token|пароль|passwort|"
            r"contraseña|mot de passe|密码)\s*(?:is|=|:|lautet|ist|es|est|це|是|：|-)\s*[\"'`]?(?=\S*[\d\W])\S{6,}",
            re.IGNORECASE,
        ),
    ),
)
_CARD = re.compile(r"(?<![\d.])\d(?:[ -]?\d){12,18}(?![\d.])")


def secret_in(text: str) -> str | None:
    """What kind of secret `text` holds, such as `a password`; None when it holds none."""
    for what, pattern in _PATTERNS:
        if pattern.search(text):
            return what
    for found in _CARD.finditer(text):
        digits = [int(character) for character in found.group() if character.isdigit()]
        if _luhn(digits) and len(set(digits)) > 1:
            return "a card number"
    return None


def without_secrets(text: str) -> str:
    """`text` with every secret in it replaced by `[secret]`, for texts that are kept rather than refused."""
    for _, pattern in _PATTERNS:
        text = pattern.sub("[secret]", text)
    return _CARD.sub(lambda found: "[secret]" if secret_in(found.group()) else found.group(), text)


def _luhn(digits: list[int]) -> bool:
    total = 0
    for at, digit in enumerate(reversed(digits)):
        doubled = digit * 2 if at % 2 else digit
        total += doubled - 9 if doubled > 9 else doubled
    return total % 10 == 0
