"""Translations of the texts that people read, with gettext catalogues and named placeholders.

The English text is the message ID, and the fallback if a translation is missing. Texts for models, the log and the
command line are always English.
"""

from __future__ import annotations

import contextlib
import gettext
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from datetime import date, datetime
from functools import lru_cache, partial
from pathlib import Path
from zoneinfo import ZoneInfo

LANGUAGES = {
    "en": "English",
    "ru": "Русский",
    "uk": "Українська",
    "de": "Deutsch",
    "es": "Español",
    "fr": "Français",
    "zh": "中文",
}
"""The languages of the interface by code, with their native names."""
SOURCE = "en"
LOCALES = Path(__file__).parent / "locales"

_language: ContextVar[str] = ContextVar("spoken", default=SOURCE)
_is_for_owner: ContextVar[bool] = ContextVar("for_owner", default=True)
_withheld: ContextVar[list[Callable[[], str]] | None] = ContextVar("withheld", default=None)


def find_language(tag: str | None) -> str | None:
    """Return the code of the interface language for a tag such as `de-AT` or `zh_CN.UTF-8`, or None."""
    code = (tag or "").replace("_", "-").split("-")[0].split(".")[0].lower()
    return code if code in LANGUAGES else None


def get_language() -> str:
    return _language.get()


@contextlib.contextmanager
def use_language(tag: str | None) -> Iterator[None]:
    """Set the current language for a block and for the tasks that it starts. Unknown languages mean SOURCE."""
    token = _language.set(find_language(tag) or SOURCE)
    try:
        yield
    finally:
        _language.reset(token)


@contextlib.contextmanager
def use_reader(*, is_owner: bool) -> Iterator[list[Callable[[], str]]]:
    """Set whether only the bot's owner reads the texts of a block and of the tasks that it starts.

    Yields the list of the texts that other readers did not get, each translated when it is called.
    """
    withheld: list[Callable[[], str]] = []
    tokens = _is_for_owner.set(is_owner), _withheld.set(withheld)
    try:
        yield withheld
    finally:
        _is_for_owner.reset(tokens[0])
        _withheld.reset(tokens[1])


def for_owner(text: str, otherwise: str, /, **values: object) -> str:
    """Translate a text that names settings or addresses. Readers other than the owner get `otherwise`.

    Mark both texts with N_. The log has the owner's text.
    """
    if _is_for_owner.get():
        return _(text, **values)
    if (withheld := _withheld.get()) is not None:
        withheld.append(partial(_, text, **values))
    return _Translated(_(otherwise, **values), text.format(**_in_english(values)))


def name_setting(sentence: str, setting: str) -> str:
    """Add the name of the setting behind a sentence. Readers other than the owner get only the sentence."""
    hint = _(_SETTING, setting=setting)
    text = f"{sentence} {hint}" if _is_for_owner.get() else sentence
    return _Translated(text, f"{in_english(sentence)} {in_english(hint)}")


def _(text: str, /, **values: object) -> str:
    """Translate a text into the current language and replace its placeholders."""
    if get_language() == SOURCE or not text:  # The empty ID is the header of a catalogue.
        return text.format(**values) if values else text
    translated = _load_catalogue(get_language()).gettext(text)
    return (
        _Translated(translated.format(**values), text.format(**_in_english(values)))
        if values
        else _Translated(translated, text)
    )


def ngettext(singular: str, many: str, n: int, /, **values: object) -> str:
    """Translate a text with a plural form for `n`. The placeholder `{n}` is the formatted number."""
    text = singular if n == 1 else many
    if get_language() == SOURCE:
        return text.format(n=format_number(n), **values)
    translated = _load_catalogue(get_language()).ngettext(singular, many, n).format(n=format_number(n), **values)
    return _Translated(translated, text.format(n=f"{n:,}", **_in_english(values)))


class _Translated(str):
    """A translated text.

    Attributes:
        source: The English text, for the log.
    """

    __slots__ = ("source",)
    source: str

    # `copy` calls this without the source, and sets the attribute afterwards.
    def __new__(cls, text: str, source: str = "") -> _Translated:
        instance = super().__new__(cls, text)
        instance.source = source
        return instance


def in_english(text: object) -> str:
    """Return the English original of a translated text, or of any object with a `source`. Return others as a string."""
    source = getattr(text, "source", None)
    return source if isinstance(source, str) else str(text)


def _in_english(values: Mapping[str, object]) -> dict[str, object]:
    return {name: in_english(value) if hasattr(value, "source") else value for name, value in values.items()}


def N_(text: str) -> str:  # noqa: N802  # This is gettext's name.
    """Mark a text for translation without translating it."""
    return text


_SETTING = N_("The setting for this is {setting}.")


def shorten_to_line(text: str, max_chars: int = 100) -> str:
    """Put a text on one line and cut it if it is too long."""
    line = " ".join(text.split())
    return line if len(line) <= max_chars else f"{line[:max_chars]}…"


def strip_full_stop(sentence: str) -> str:
    """Remove the full stop, so that the sentence can be part of another one."""
    return re.sub(r"(?<!\.)[.。]$", "", sentence.strip())


def join_sentences(sentences: Iterable[str]) -> str:
    return "; ".join(map(strip_full_stop, sentences))


def format_number(value: int) -> str:
    if get_language() == SOURCE:
        return f"{value:,}"
    from babel.numbers import format_decimal  # Importing it takes a tenth of a second.

    return format_decimal(value, locale=get_language())


def format_dollars(amount: float) -> str:
    from babel.numbers import format_currency

    return format_currency(amount, "USD", locale=get_language())


def format_day(date: date) -> str:
    """Format a date with its weekday: `Monday, 23 November 2026`."""
    if get_language() == SOURCE:
        return f"{date:%A}, {date.day} {date:%B %Y}"
    from babel.dates import format_date  # The same

    return format_date(date, "full", locale=get_language())


def format_day_and_hour(moment: datetime, zone: ZoneInfo) -> str:
    """Format a time in a zone with its weekday: `Monday, 23 November 2026, 09:00`."""
    local = moment.astimezone(zone)
    return _("{day}, {hour}", day=format_day(local.date()), hour=f"{local:%H:%M}")


@lru_cache(maxsize=len(LANGUAGES))
def _load_catalogue(language: str) -> gettext.NullTranslations:
    if language == SOURCE:
        return gettext.NullTranslations()
    from babel.messages.mofile import write_mo
    from babel.messages.pofile import read_po

    with (LOCALES / f"{language}.po").open("rb") as source:
        catalogue = read_po(source, locale=language)
    compiled = io.BytesIO()
    write_mo(compiled, catalogue)
    compiled.seek(0)
    return gettext.GNUTranslations(compiled)
