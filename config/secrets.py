"""Finds and masks secrets: keys, tokens, passwords, account numbers. Memory and the log share this list.

A secret is recognised by its shape (a token's prefix, a number's checksum) or by words that announce it
(`my password is`). The search uses a normalised text, without invisible characters and with wide letters as usual
ones. The mask is applied to the original text. No shape matches a quotation mark or a backslash, so masked JSON stays
valid.
"""

from __future__ import annotations

import base64
import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from config.announced_secrets import find_announced
from config.secret_words import NEVER_IN_SEEDS, SEED_CUES, SEED_NAMES
from config.texts import N_

MASK = "[secret]"
_STRETCH_CHARS = 17_000
"""The overlap of the stretches that a long text is searched in. It is longer than any secret."""
_SEAM_CHARS = 500
_SPACE = re.compile(r"\s")


class _Secret(NamedTuple):
    start: int
    end: int
    kind: str


_UNSEEN = "\u00ad\u034f\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e007f"
_WIDE = (
    "\u00a0\u00b2\u00b3\u00b9\u2000-\u209f\u2100-\u218f\u2460-\u24ff\u3000\ufb00-\ufb06\ufe30-\ufe6f\uff00-\uffef"
    "\U0001d400-\U0001d7ff\U0001f100-\U0001f1ff"
)
# Invisible characters, and those that normalisation changes (Unicode's NFKC). The pattern begins with a set of
# characters and looks back afterwards, since `re` skips characters outside of such a set quickly.
_ODD = re.compile(
    rf"[\r\n\\{_UNSEEN}{_WIDE}](?:(?<=[{_UNSEEN}])[{_UNSEEN}]*(?P<unseen>)|(?<=[{_WIDE}])[{_WIDE}]*"
    # A line break inside a key, if the text after it looks like a part of the key.
    r"|(?<=[A-Za-z0-9_+/=-]{7}[A-Za-z0-9_=][\r\n\\])(?:(?<=\n)|(?<=\r)\n|(?<=\\)(?:r\\)?n)"
    r"(?=[A-Za-z_+/=-]{0,100}\d)(?=[A-Za-z0-9_+/=-]{6,200}(?:[\s.,;\"'\\]|$))(?P<break>))"
)
_COMBINING = re.compile("[\u0300-\u036f]")
_ODD_OR_COMBINED = re.compile(rf"[^\W\d_][\u0300-\u036f]{{1,30}}|{_ODD.pattern}")

_DASH = "[-\u2010-\u2015]"
_DASHES = f"{_DASH}{{2,}}"
_KEY_BLOCK = rf"[A-Z0-9 ]{{0,40}}PRIVATE KEY(?: BLOCK)?{_DASHES}"
# The kind of secret, its lower-case cues (which are found much faster than the pattern), and the pattern.
_SHAPES: tuple[tuple[str, tuple[str, ...], re.Pattern[str]], ...] = (
    (
        N_("a private key"),
        ("private key", "putty", "age-secret", "nsec1", "prv"),
        re.compile(
            # The whole block, or headers and key characters up to where they stop if the end is missing, also inside
            # JSON. The lookbehind keeps a long row of dashes from being tried at each of its dashes.
            rf"(?<!{_DASH}){_DASHES}BEGIN {_KEY_BLOCK}(?:(?:(?!BEGIN )[^\"]){{0,16000}}?{_DASHES}END {_KEY_BLOCK}"
            r"|(?:(?:\s|\\{1,4}[rnt]|[>|*]){1,20}(?:[A-Z][A-Za-z-]{2,20}: ?[^\s\\\"]{1,80}|[A-Za-z0-9+/=]{20,}"
            r"|[A-Za-z0-9+/=]+(?=[ \t]*(?:[\r\n\\\"]|$))))*)"
            r"|PuTTY-User-Key-File-\d(?:(?!PuTTY)[^\"]){0,16000}?Private-MAC: ?[0-9a-f]*"
            r"|AGE-SECRET-KEY-1[0-9A-Z]{20,}|\bnsec1[a-z0-9]{40,}|\b[xyz]prv[1-9A-HJ-NP-Za-km-z]{80,}"
        ),
    ),
    (
        N_("a Telegram bot token"),
        (":", "%3a"),
        re.compile(
            # In a path of the Bot API, a token may have any length.
            r"\d(?:(?<!\d\d)\d{5,11}(?::|%3A)[A-Za-z0-9_-]{30,}|(?<=/bot\d)\d{4,11}(?::|%3A)[A-Za-z0-9_-]{10,})",
            re.IGNORECASE,
        ),
    ),
    (
        N_("an API key"),
        ("",),
        re.compile(
            # A key contains a digit, unlike words joined by hyphens.
            r"\b(?:sk|pk|rk)[-_](?:[a-z]{1,12}[-_]){0,4}(?=[\w-]{0,100}\d)[A-Za-z0-9_-]{16,}"
            r"|\bgh[pousr]_[A-Za-z0-9]{30,}|\bgithub_pat_\w{20,}|\bgl(?:pat|dt|rt|ptt|oas|cbt|agent)-[\w-]{16,}"
            r"|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bAIza[\w-]{30,}|\bya29\.[\w-]{20,}|\bGOCSPX-[\w-]{20,}|\b1//0[\w-]{20,}"
            r"|\bxox[abeoprs]-[\w-]{10,}|\bxapp-\d-[\w-]{10,}|\bhooks\.slack\.com/services/[\w/-]{20,}"
            r"|\bdiscord(?:app)?\.com/api/webhooks/\d+/[\w-]{20,}|\b[MNO][\w-]{22,27}\.[\w-]{6}\.[\w-]{27,}"
            r"|\bSG\.[\w-]{16,}\.[\w-]{16,}|\bwhsec_[A-Za-z0-9+/=]{16,}|\bkey-[0-9a-f]{32}\b|\b[0-9a-f]{32}-us\d{1,2}\b"
            r"|\bshp(?:at|ca|pa|ss)_[0-9a-fA-F]{20,}|\bsq0[a-z]{3}-[\w-]{20,}|\bdo[oprt]_v1_[0-9a-f]{20,}"
            r"|\bdapi[0-9a-f]{32}|\bhv[sb]\.[\w-]{20,}|\bATATT3[\w=-]{20,}|\bpypi-[\w-]{30,}|\bsntrys_[\w+/=]{20,}"
            r"|\b(?:gsk|hf|r8|npm|ntn|sbp|glc|glsa|figd|rubygems|lin_api|dckr_pat)_(?=[A-Za-z_-]{0,100}\d)[\w-]{20,}"
            r"|\b(?:xai|pplx|tskey|PMAK)-(?=[A-Za-z_-]{0,100}\d)[\w-]{20,}"
            r"|\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}"
        ),
    ),
    (
        N_("an access token"),
        ("bearer ", "authorization: ", "sig="),
        re.compile(
            r"(?<=\bbearer )(?=[\w.~+/-]{0,60}\d)[\w.~+/-]{16,}=*"
            r"|(?<=authorization: basic )[\w+/-]{8,}=*|(?<=authorization: bearer )[\w.~+/-]{8,}=*"
            r"|(?<=[?&]sig=)[\w%+/-]{16,}=*",
            re.IGNORECASE,
        ),
    ),
    (N_("a password"), ("://",), re.compile(r"(?<=://)[^\s/@:\"'\\]{0,100}:[^\s/@\"'\\]{3,100}(?=@)")),
)
_ANY = N_("a secret")
_BASIC = re.compile(r"(?<=\bbasic )[A-Za-z0-9+/]{8,200}={0,2}", re.IGNORECASE)
# The value after the name of a secret in a log line: in a header, a setting or a URL parameter.
_IN_LINES = re.compile(
    r"(?<=[Bb]earer )[A-Za-z0-9._~+/-]{8,}=*"
    r"|(?<=://)[^\s/@:\"']*:[^\s/@\"']+(?=@)"  # User and password in a URL, of any length.
    r"|(?:authorization|cookie|api[-_]?key|pass(?:word|wd|phrase)|private[-_]?key|secret[-_]?(?:access[-_]?)?key"
    r"|(?:access|auth|bot|refresh|secret)[-_]token|(?:client|webhook)[-_]?secret)"
    r"[\\\"']*\s*[:=]\s*[\\\"']*(?:bearer |basic )?(?!bearer |basic )(?P<secret>[^\s\\\"',;&(){}\[\]]{4,})",
    re.IGNORECASE,
)

_SEED = re.compile(
    rf"(?:{SEED_NAMES})"
    # The pattern `\\n` matches a line break in JSON.
    r"(?:[ ]+[^\W\d]+){0,4}?\s*(?:[:=-]|\bis\b|\bist\b|\bes\b|\best\b|è|é|это|це|是|は)?(?:\s|\\n)*"
    r"(?P<words>(?:(?:\d{1,2}[.):]?\s*|[-*•]\s+)?[^\W\d_]{3,8}(?:(?:[\s,;]|\\n)+|$|(?=[.!\"]))){12,24})",
    re.IGNORECASE,
)
_SEED_LENGTHS = (12, 15, 18, 21, 24)
_DIGITS = re.compile(r"\d(?<![\d+]\d)(?<!\d\.\d)(?:(?:[\s._/–—-]|\\n){0,3}\d){12,60}(?!\d|\.\d)")
# The formats of the large issuers. This excludes most long numbers that have a valid checksum by chance.
_CARD = re.compile(r"4\d{12}(?:\d{3}){0,2}|(?:5[1-5]|2[2-7])\d{14}|3[47]\d{13}|3[0689]\d{12,14}|6\d{15,18}")
_CARD_GROUPS = re.compile(
    r"(?<!\d)(?:\d{4}\D{1,3}\d{4}\D{1,3}\d{4}\D{1,3}\d{1,7}|\d{4}\D{1,3}\d{6}\D{1,3}\d{4,5}|\d{13,19})(?!\d)"
)
# After the letters of the country, since digits are rarer.
_IBAN = re.compile(r"\d(?<=\b[A-Z]{2}\d)\d(?:[\s.-]{0,2}[A-Z0-9]){11,30}", re.IGNORECASE)
_IBAN_LENGTHS = {
    pair[:2]: int(pair[2:])
    for pair in (
        "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DK18 DO28 EE20 EG29 ES24 FI18 "
        "FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 "
        "LU20 LV21 LY25 MC27 MD24 ME22 MK19 MR27 MT31 MU30 NL18 NO15 PK24 PL28 PS29 PT25 QA29 RO24 RS22 SA24 SC31 SE24 "
        "SI19 SK24 SM27 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20"
    ).split()
}


def find_secret(text: str) -> str | None:
    """Return the kind of the first secret in a text, such as `a password`, or None."""
    plain, _ = _normalize(text)
    return next((secret.kind for secret in _find_secrets(plain)), None)


def list_secrets(text: str) -> list[str]:
    """Return the kinds of all secrets in a text, each once."""
    plain, _ = _normalize(text)
    return list(dict.fromkeys(secret.kind for secret in _find_secrets(plain)))


def mask_secrets(text: str) -> str:
    plain, places = _normalize(text)
    return _mask(text, places, _find_secrets(plain))


def mask_in_log_line(line: str) -> str:
    """Mask the secrets in a log line that have a known shape or follow the name of a header. JSON stays valid."""
    plain, places = _normalize(line)
    named = (_Secret(*match.span("secret" if match["secret"] else 0), _ANY) for match in _IN_LINES.finditer(plain))
    return _mask(line, places, [*_find_shapes(plain, _lower(plain)), *named])


def _normalize(text: str) -> tuple[str, Sequence[int]]:
    """Return the text to search, and the position in `text` of each of its characters and of its end."""
    if text.isascii() and not any(broken in text for broken in ("\n", "\\n", "\\r")):
        return text, range(len(text) + 1)
    pieces: list[str] = []
    places: list[int] = []
    at = 0
    pattern = _ODD if _COMBINING.search(text) is None else _ODD_OR_COMBINED
    for odd in pattern.finditer(text):
        plain = (
            "" if odd["unseen"] is not None or odd["break"] is not None else unicodedata.normalize("NFKC", odd.group())
        )
        pieces += (text[at : odd.start()], plain)
        places += range(at, odd.start())
        # The positions are exact if the length stays the same, as for wide letters.
        places += range(*odd.span()) if len(plain) == len(odd.group()) else [odd.start()] * len(plain)
        at = odd.end()
    if not pieces:
        return text, range(len(text) + 1)
    return "".join((*pieces, text[at:])), [*places, *range(at, len(text) + 1)]


def _mask(text: str, places: Sequence[int], secrets: Iterator[_Secret] | Sequence[_Secret]) -> str:
    """Replace secrets in a text by the mask. Overlapping secrets get a single mask."""
    spans = sorted((places[span.start], max(places[span.end], places[span.end - 1] + 1)) for span in secrets)
    pieces: list[str] = []
    at = 0
    for start, end in spans:
        if start >= at:
            pieces += (text[at:start], MASK)
        at = max(at, end)
    return "".join((*pieces, text[at:]))


def _find_secrets(text: str) -> Iterator[_Secret]:
    """Find all secrets in a normalised text. They may overlap.

    A long text is searched in overlapping stretches, since a search in a million characters would block all other
    threads.
    """
    start, end = 0, min(len(text), 2 * _STRETCH_CHARS)
    while True:
        for secret in _find_in_stretch(text[start:end]):
            yield _Secret(secret.start + start, secret.end + start, secret.kind)
        if end == len(text):
            return
        # Begin after a space, so that no word is cut.
        seam = _SPACE.search(text, start + _STRETCH_CHARS, start + _STRETCH_CHARS + _SEAM_CHARS)
        start = seam.end() if seam is not None else start + _STRETCH_CHARS
        end = min(len(text), start + 2 * _STRETCH_CHARS)


def _find_in_stretch(text: str) -> Iterator[_Secret]:
    small = _lower(text)
    yield from _find_shapes(text, small)
    yield from (_Secret(start, end, N_("a password")) for start, end in find_announced(text, small))


def _lower(text: str) -> str:
    """Convert to lower case without changing positions. The Turkish İ would become two characters."""
    small = text.lower()
    return small if len(small) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


def _find_shapes(text: str, small: str) -> Iterator[_Secret]:
    for kind, cues, pattern in _SHAPES:
        if any(cue in small for cue in cues):
            yield from (_Secret(*match.span(), kind) for match in pattern.finditer(text))
    for match in _BASIC.finditer(text) if "basic " in small else ():
        if _is_credentials(match.group()):
            yield _Secret(*match.span(), N_("an access token"))
    for match in _SEED.finditer(text) if any(cue in small for cue in SEED_CUES) else ():
        yield from _find_seed(match)
    for match in _DIGITS.finditer(text):
        yield from _find_cards(match)
    for match in _IBAN.finditer(text):
        yield from _find_iban(match)


def _is_credentials(encoded: str) -> bool:
    """Return True for the base64 of `user:password`, as in a Basic header."""
    try:
        text = base64.b64decode(encoded + "=" * (-len(encoded) % 4)).decode()
    except ValueError:
        return False
    return ":" in text and text.isprintable()


def _find_cards(match: re.Match[str]) -> Iterator[_Secret]:
    """Find card numbers: all digits of the match with any separators, or digits in the groups that cards use."""
    grouped = (_Secret(*card.span(), "") for card in _CARD_GROUPS.finditer(match.string, *match.span()))
    for start, end, _ in (_Secret(*match.span(), ""), *grouped):
        digits = [int(character) for character in match.string[start:end] if character.isdigit()]
        if _CARD.fullmatch("".join(map(str, digits))) and _has_valid_check_digit(digits):
            yield _Secret(start, end, N_("a card number"))


def _find_seed(match: re.Match[str]) -> Iterator[_Secret]:
    """Find a seed phrase at the beginning of the matched words. A sentence may follow it."""
    words = list(re.finditer(r"[^\W\d_]{3,}", match["words"]))
    until = next((at for at, word in enumerate(words) if word.group().lower() in NEVER_IN_SEEDS), len(words))
    length = max((length for length in _SEED_LENGTHS if length <= until), default=0)
    if length:
        yield _Secret(match.start("words"), match.start("words") + words[length - 1].end(), N_("a seed phrase"))


def _find_iban(match: re.Match[str]) -> Iterator[_Secret]:
    """Find an account number at the beginning of the match. Capital letters may follow it."""
    start = match.start() - 2
    number = match.string[start : match.end()]
    length, end, count = _IBAN_LENGTHS.get(number[:2].upper(), 0), 0, 0
    while end < len(number) and count < length:
        count += number[end].isalnum()
        end += 1
    if length and count == length and not number[end : end + 1].isalnum() and _is_iban(number[:end]):
        yield _Secret(start, start + end, N_("an account number"))


def _is_iban(account: str) -> bool:
    plain = re.sub(r"[\s.-]", "", account).upper()
    # ISO 13616: move the first four characters to the end, replace letters by numbers, and take the rest modulo 97.
    return int("".join(str(int(c, 36)) for c in plain[4:] + plain[:4])) % 97 == 1


def _has_valid_check_digit(digits: list[int]) -> bool:
    # The Luhn algorithm of ISO/IEC 7812: every second digit from the right counts double.
    total = 0
    for at, digit in enumerate(reversed(digits)):
        doubled = digit * 2 if at % 2 else digit
        total += doubled - 9 if doubled > 9 else doubled
    return total % 10 == 0
