"""What people read, in their language: gettext's catalogues, with values put in by name.

The English text is a message's id, and what is shown where a translation is missing. Texts for models, the log and the
shell's commands are English and do not come here.
"""

from __future__ import annotations

import contextlib
import gettext
import io
import re
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

LANGUAGES = {
    "en": "English",
    "ru": "Русский",
    "uk": "Українська",
    "de": "Deutsch",
    "es": "Español",
    "fr": "Français",
    "zh": "中文",
}
"""The languages of the interface by their codes, each as it calls itself."""
SOURCE = "en"
"""The language that the texts are written in."""
LOCALES = Path(__file__).parent / "locales"
"""Where the catalogues are: one `.po` file for each language but the source."""

_spoken: ContextVar[str] = ContextVar("spoken", default=SOURCE)


def known_language(tag: str | None) -> str | None:
    """The language of the interface that a tag such as `de-AT` or `zh_CN.UTF-8` means; None for any other."""
    code = (tag or "").replace("_", "-").split("-")[0].split(".")[0].lower()
    return code if code in LANGUAGES else None


def spoken() -> str:
    return _spoken.get()


@contextlib.contextmanager
def use_language(tag: str | None) -> Iterator[None]:
    """Speak the language that a tag means for as long as the context is open, also in the tasks that begin in it.

    Where it means none of the interface's, it is the one that the texts are written in.
    """
    token = _spoken.set(known_language(tag) or SOURCE)
    try:
        yield
    finally:
        _spoken.reset(token)


def _(text: str, /, **values: object) -> str:
    """`text` in the language that is spoken, with `values` in the place of `{name}`."""
    if spoken() == SOURCE or not text:  # the empty id is a catalogue's own header
        return text.format(**values) if values else text
    translated = _catalogue(spoken()).gettext(text)
    return (
        _Translated(translated.format(**values), text.format(**_in_english(values)))
        if values
        else _Translated(translated, text)
    )


def ngettext(singular: str, many: str, n: int, /, **values: object) -> str:
    """The form for `n` of a text in the language that is spoken; `{n}` is the number as it is written there."""
    text = singular if n == 1 else many
    if spoken() == SOURCE:
        return text.format(n=number(n), **values)
    translated = _catalogue(spoken()).ngettext(singular, many, n).format(n=number(n), **values)
    return _Translated(translated, text.format(n=f"{n:,}", **_in_english(values)))


class _Translated(str):
    """A translated text. source: the same in English, for the log."""

    __slots__ = ("source",)
    source: str

    def __new__(cls, text: str, source: str = "") -> _Translated:  # a copy is made without it, and given it then
        instance = super().__new__(cls, text)
        instance.source = source
        return instance


def in_english(text: object) -> str:
    """What `_` or `ngettext` gave, or what holds such a text as its `source`, in English; anything else as it is."""
    source = getattr(text, "source", None)
    return source if isinstance(source, str) else str(text)


def _in_english(values: Mapping[str, object]) -> dict[str, object]:
    return {name: in_english(value) if hasattr(value, "source") else value for name, value in values.items()}


def N_(text: str) -> str:  # noqa: N802  # gettext's name for it
    """Marks a text to be translated where it is shown."""
    return text


def in_line(text: str, longest: int = 100) -> str:
    """`text` in one line, cut where it is longer than so many characters."""
    line = " ".join(text.split())
    return line if len(line) <= longest else f"{line[:longest]}…"


def unstopped(sentence: str) -> str:
    """A sentence as part of another: without the full stop that it ends in."""
    return re.sub(r"(?<!\.)[.。]$", "", sentence.strip())


def listed(sentences: Iterable[str]) -> str:
    """Sentences one after another, as part of one."""
    return "; ".join(map(unstopped, sentences))


def number(value: int) -> str:
    """A whole number as it is written in the language that is spoken."""
    if spoken() == SOURCE:
        return f"{value:,}"
    from babel.numbers import format_decimal  # needs a tenth of a second, which no start should

    return format_decimal(value, locale=spoken())


def dollars(amount: float) -> str:
    """Money in US dollars as it is written in the language that is spoken, with cents."""
    from babel.numbers import format_currency

    return format_currency(amount, "USD", locale=spoken())


@lru_cache(maxsize=len(LANGUAGES))
def _catalogue(language: str) -> gettext.NullTranslations:
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
