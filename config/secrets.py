"""Secrets by their shapes: keys, tokens, passwords, account numbers. The one list, for the store and for the log.

A shape is told by itself (a token's prefix, a number's checksum), or by the words that announce it (`my password is`).
None of those told by themselves takes in a quotation mark or a backslash, so that JSON stays JSON without them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

MASK = "[secret]"

_KEY_BLOCK = r"[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_SHAPES: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "a private key",
        re.compile(
            # the whole block; of one without an end the lines of characters that follow, in JSON too
            rf"-----BEGIN {_KEY_BLOCK}(?:[^\"]{{0,8000}}?-----END {_KEY_BLOCK}"
            r"|(?:(?:\r?\n|\\r|\\n)+[A-Za-z0-9+/=]+(?=[\r\n\\\"]|$))*)"
        ),
    ),
    ("a Telegram bot token", re.compile(r"(?<!\d)\d{6,12}:[A-Za-z0-9_-]{30,}")),
    (
        "an API key",
        re.compile(
            # words joined by hyphens are no key: a digit belongs to it
            r"\b(?:sk|pk|rk)[-_](?:[a-z]{1,12}[-_]){0,4}(?=[\w-]{0,100}\d)[A-Za-z0-9_-]{16,}"
            r"|\bgh[pousr]_[A-Za-z0-9]{30,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}|\bhf_[A-Za-z0-9]{30,}"
            r"|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bAIza[\w-]{30,}|\bya29\.[\w-]{20,}|\bGOCSPX-[\w-]{20,}"
            r"|\bxox[abeoprs]-[\w-]{10,}|\bxapp-\d-[\w-]{10,}|\bhooks\.slack\.com/services/[\w/-]{20,}"
            r"|\bSG\.[\w-]{16,}\.[\w-]{16,}|\bwhsec_[A-Za-z0-9+/=]{16,}"
            r"|\bnpm_[A-Za-z0-9]{30,}|\bpypi-[\w-]{30,}"
            r"|\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}"
        ),
    ),
    (
        "an access token",
        re.compile(
            r"(?<=\bbearer )(?=[\w.~+/-]{0,60}\d)[\w.~+/-]{16,}=*"
            r"|(?<=authorization: basic )[\w+/-]{8,}=*|(?<=authorization: bearer )[\w.~+/-]{8,}=*",
            re.IGNORECASE,
        ),
    ),
    ("a password", re.compile(r"(?<=://)[^\s/@:\"'\\]{0,100}:[^\s/@\"'\\]{3,100}(?=@)")),
)
_NAMING = (
    "password|passwd|passphrase|passcode|pwd|api[ _-]?key|secret[ _-]?(?:access[ _-]?)?key|client[ _-]?secret|"
    "(?:access|auth|secret|bot)[ _-]?token|webhook[ _-]?secret|"
    "пароль|секретный ключ|ключ api|секретний ключ|"
    "passwort|kennwort|geheimer schlüssel|contraseña|clave (?:secreta|de acceso)|mot de passe|clé (?:secrète|api)|"
    "密码|口令|密钥"
)
_ANNOUNCED = re.compile(
    rf"(?:{_NAMING})"
    r"(?:[ ]+[^\W\d]+){0,4}?"  # password for the router is ...
    r"(?:\s*[=＝]\s*[\"'`]?\S{6,}"
    # a single word behind a colon
    r"|\s*[:：]\s*[\"'`]?[^\s.,;!?]{6,}[\"'`.]?\s*$"
    # or what no sentence would say: a digit, or a sign inside that is no punctuation
    r"|(?:\s*[:：-]|\s+(?:is|lautet|ist|es|est|це|это|-)(?=\s)|是)\s*[\"'`]?(?=\S{0,100}?(?:\d|[@#$%^&*+=~<>|/\\]|[!?]\S))\S{6,})",
    re.IGNORECASE | re.MULTILINE,
)
_SEED = re.compile(
    r"(?:(?:seed|recovery|mnemonic|backup)(?:[ -](?:phrase|words|key))?|(?:сид|сід)[ -]?фраза|фраза восстановления|"
    r"фраза відновлення|wiederherstellungsphrase|frase (?:semilla|de recuperación)|phrase de récupération|助记词)"
    # \n: a line break in JSON
    r"(?:[ ]+[^\W\d]+){0,4}?\s*(?:[:：=-]|\bis\b|\bist\b|\bes\b|\best\b|это|це|是)?(?:\s|\\n)*"
    r"(?P<words>(?:(?:\d{1,2}[.)]?\s*)?[^\W\d_]{3,8}(?:(?:[\s,;]|\\n)+|$|(?=[.!\"]))){12,24})",
    re.IGNORECASE,
)
_NEVER_IN_SEEDS = frozenset(
    "the and for are was has had not but his her she him out our your from have been were into than them their would "
    "could should der die das und ist nicht ein eine mit los las una que con por les des est pas une dans pour это что "
    "как или для при".split()
)
"""Words that sentences have and the lists of words for seed phrases don't."""
_SEED_LENGTHS = (12, 15, 18, 21, 24)
_DIGITS = re.compile(r"(?<!\d)(?<!\d\.)\d(?:[ -]?\d){12,18}(?!\d|\.\d)")
_CARD = re.compile(r"4\d{12}(?:\d{3}){0,2}|(?:5[1-5]|2[2-7])\d{14}|3[47]\d{13}|3[0689]\d{12,14}|6\d{15,18}")
"""Numbers as the large issuers give them: that keeps most long numbers that pass the check by chance out."""
_IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]){11,30}", re.IGNORECASE)
_IBAN_LENGTHS = {
    pair[:2]: int(pair[2:])
    for pair in (
        "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DK18 DO28 EE20 EG29 ES24 FI18 "
        "FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 "
        "LU20 LV21 LY25 MC27 MD24 ME22 MK19 MR27 MT31 MU30 NL18 NO15 PK24 PL28 PS29 PT25 QA29 RO24 RS22 SA24 SC31 SE24 "
        "SI19 SK24 SM27 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20"
    ).split()
}
"""How long an account number is in each country (the IBAN registry)."""


def secret_in(text: str) -> str | None:
    """What kind of secret `text` holds, such as `a password`; None when it holds none."""
    found: list[str] = []

    def note(what: str, secret: str) -> str:
        found.append(what)
        return secret

    _replaced(text, note, announced=True)
    return found[0] if found else None


def without_secrets(text: str) -> str:
    """`text` with every secret in it replaced by `[secret]`, for texts that are kept rather than refused."""
    return _replaced(text, lambda _what, _secret: MASK, announced=True)


def without_shapes(text: str) -> str:
    """`text` without the secrets that are told by themselves; JSON stays JSON."""
    return _replaced(text, lambda _what, _secret: MASK, announced=False)


def _replaced(text: str, replacement: Callable[[str, str], str], *, announced: bool) -> str:
    """`text` with what `replacement` gives for each secret and its kind."""
    for what, pattern in _SHAPES:
        text = pattern.sub(lambda found, what=what: replacement(what, found.group()), text)  # type: ignore[misc]  # the default binds the loop's value
    text = _SEED.sub(lambda found: _seed_replaced(found, replacement), text)
    if announced:
        text = _ANNOUNCED.sub(lambda found: replacement("a password", found.group()), text)
    text = _DIGITS.sub(lambda found: _card_replaced(found.group(), replacement), text)
    return _IBAN.sub(lambda found: _iban_replaced(found.group(), replacement), text)


def _card_replaced(number: str, replacement: Callable[[str, str], str]) -> str:
    digits = [int(character) for character in number if character.isdigit()]
    is_card = _CARD.fullmatch("".join(map(str, digits))) and _luhn(digits)
    return replacement("a card number", number) if is_card else number


def _seed_replaced(found: re.Match[str], replacement: Callable[[str, str], str]) -> str:
    """The words that may be a seed phrase replaced; a sentence may follow them."""
    words = list(re.finditer(r"[^\W\d_]{3,}", found["words"]))
    until = next((at for at, word in enumerate(words) if word.group().lower() in _NEVER_IN_SEEDS), len(words))
    length = max((length for length in _SEED_LENGTHS if length <= until), default=0)
    if not length:
        return found.group()
    end = found.start("words") - found.start() + words[length - 1].end()
    return replacement("a seed phrase", found.group()[:end]) + found.group()[end:]


def _iban_replaced(number: str, replacement: Callable[[str, str], str]) -> str:
    """What is an account number at the beginning of `number` replaced: capital letters may follow it."""
    length, end, count = _IBAN_LENGTHS.get(number[:2].upper(), 0), 0, 0
    while end < len(number) and count < length:
        count += number[end] != " "
        end += 1
    account = number[:end]
    if count < length or not length or number[end : end + 1].strip() or not _is_iban(account):
        return number
    return replacement("an account number", account) + number[end:]


def _is_iban(account: str) -> bool:
    plain = account.replace(" ", "").upper()
    return int("".join(str(int(c, 36)) for c in plain[4:] + plain[:4])) % 97 == 1


def _luhn(digits: list[int]) -> bool:
    total = 0
    for at, digit in enumerate(reversed(digits)):
        doubled = digit * 2 if at % 2 else digit
        total += doubled - 9 if doubled > 9 else doubled
    return total % 10 == 0
