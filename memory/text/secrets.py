"""What must never be written into memory: keys, tokens, passwords, card numbers."""

from __future__ import annotations

import re

_PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("a private key", re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----")),
    ("a Telegram bot token", re.compile(r"\b\d{6,12}:[A-Za-z0-9_-]{30,}")),
    (
        "an API key",
        re.compile(
            # words joined by hyphens are no key: a digit belongs to it
            r"\b(?:sk|pk|rk)[-_](?:[a-z]{1,12}[-_]){0,4}(?=[\w-]{0,100}\d)[A-Za-z0-9_-]{16,}"
            r"|\bgh[pousr]_[A-Za-z0-9]{30,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}|\bhf_[A-Za-z0-9]{30,}"
            r"|\bAKIA[0-9A-Z]{16}\b|\bAIza[\w-]{30,}|\bxox[abprs]-[\w-]{10,}|\bnpm_[A-Za-z0-9]{30,}|\bpypi-[\w-]{30,}"
            r"|\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}"
        ),
    ),
    (
        "a password",
        re.compile(
            r"(?:password|passwd|passphrase|pwd|api[ _-]?key|secret[ _-]?key|access[ _-]?token|пароль|passwort|"
            r"contraseña|mot de passe|密码)"
            r"(?:[ ]+[^\W\d]+){0,4}?"  # password for the router is ...
            r"(?:\s*[=＝]\s*[\"'`]?\S{6,}"
            # a single word behind a colon
            r"|\s*[:：]\s*[\"'`]?[^\s.,;!?]{6,}[\"'`.]?\s*$"
            # or what no sentence would say: a digit, or a sign inside that is no punctuation
            r"|(?:\s*[:：-]|\s+(?:is|lautet|ist|es|est|це|это|-)(?=\s)|是)\s*[\"'`]?(?=\S{0,100}?(?:\d|[@#$%^&*+=~<>|/\\]|[!?]\S))\S{6,})",
            re.IGNORECASE | re.MULTILINE,
        ),
    ),
    ("a password", re.compile(r"\b[a-z][a-z0-9+.-]{0,20}://[^\s/:@]{1,100}:[^\s/@]{3,100}@", re.IGNORECASE)),
)
_DIGITS = re.compile(r"(?<!\d)(?<!\d\.)\d(?:[ -]?\d){12,18}(?!\d|\.\d)")
_CARD = re.compile(r"4\d{12}(?:\d{3}){0,2}|(?:5[1-5]|2[2-7])\d{14}|3[47]\d{13}|3[0689]\d{12,14}|6\d{15,18}")
"""Numbers as the large issuers give them: that keeps most long numbers that pass the check by chance out."""


def secret_in(text: str) -> str | None:
    """What kind of secret `text` holds, such as `a password`; None when it holds none."""
    for what, pattern in _PATTERNS:
        if pattern.search(text):
            return what
    return "a card number" if any(_is_card(found.group()) for found in _DIGITS.finditer(text)) else None


def without_secrets(text: str) -> str:
    """`text` with every secret in it replaced by `[secret]`, for texts that are kept rather than refused."""
    for _, pattern in _PATTERNS:
        text = pattern.sub("[secret]", text)
    return _DIGITS.sub(lambda found: "[secret]" if _is_card(found.group()) else found.group(), text)


def _is_card(number: str) -> bool:
    digits = [int(character) for character in number if character.isdigit()]
    return _CARD.fullmatch("".join(map(str, digits))) is not None and _luhn(digits)


def _luhn(digits: list[int]) -> bool:
    total = 0
    for at, digit in enumerate(reversed(digits)):
        doubled = digit * 2 if at % 2 else digit
        total += doubled - 9 if doubled > 9 else doubled
    return total % 10 == 0
