"""Tests of the translations: complete in every language, with the same placeholders."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import pytest
from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import read_po

from config.texts import (
    LANGUAGES,
    LOCALES,
    N_,
    SOURCE,
    _,
    find_language,
    for_owner,
    format_number,
    get_language,
    in_english,
    name_setting,
    ngettext,
    use_language,
    use_reader,
)
from tests.support.features import whole_program

ROOT = Path(__file__).parents[2]
ROOMS = ("bot", "pipeline", "memory", "config")
TRANSLATED = [language for language in LANGUAGES if language != SOURCE]
KEYWORDS = {"_": None, "N_": None, "ngettext": (1, 2)}
FIXED = re.compile(r"(?<![\w/])/[a-z]+\b|\b[A-Z][A-Z_]{3,}(?:\.md)?\b|`[^`]+`")
"""Text that translations must not change: commands, settings, files and code."""

Id = str | tuple[str, str]


@pytest.fixture(scope="module")
def said() -> set[Id]:
    """Return all texts that the code marks."""
    found: set[Id] = set()
    for room in ROOMS:
        for _file, _line, message, _comments, _context in extract_from_dir(ROOT / room, keywords=KEYWORDS):
            found.add(message if isinstance(message, str) else (message[0], message[1]))
    return found


@functools.cache
def load_catalogue(language: str) -> Catalog:
    with (LOCALES / f"{language}.po").open("rb") as source:
        return read_po(source, locale=language)


def list_forms(text: object) -> tuple[str, ...]:
    """Return the singular and plural forms of a text, or its only form."""
    return tuple(str(form) for form in text) if isinstance(text, tuple | list) else (str(text or ""),)


def find_placeholders(text: str) -> set[str]:
    return {name for _literal, name, _spec, _conversion in Formatter().parse(text) if name is not None}


@whole_program
@pytest.mark.parametrize("language", TRANSLATED)
def test_every_text_is_translated(language: str, said: set[Id]) -> None:
    there = {message.id: message for message in load_catalogue(language) if message.id}
    assert there.keys() == said, "`make texts` brings the catalogues up to the code"
    for message in there.values():
        forms = list_forms(message.string)
        assert all(forms), message.id
        assert len(forms) == (load_catalogue(language).num_plurals if message.pluralizable else 1)
        assert not message.fuzzy, message.id


@pytest.mark.parametrize("language", TRANSLATED)
def test_translations_keep_placeholders_and_literals(language: str) -> None:
    for message in load_catalogue(language):
        if not message.id:
            continue
        ids = list_forms(message.id)
        forms = list_forms(message.string)
        for form in forms:
            assert find_placeholders(form) - {"n"} == find_placeholders(ids[-1]) - {"n"}, form
            assert "n" not in find_placeholders(form) or "n" in find_placeholders(ids[-1]), form
            assert set(FIXED.findall(ids[-1])) <= set(FIXED.findall(form)), form
        assert "n" in find_placeholders(forms[-1]) or "n" not in find_placeholders(ids[-1]), forms[-1]


NAMES_SETTING = re.compile(r"\b(?!MEMORY\.md)[A-Z]{2,}(?:_[A-Z]+)+\b|\.env\b|https?://|\{(?:where|host|url|address)\}")
TO_OWNERS = (
    "Telegram gave the group",  # Notices to the owner
    "{name} added me to the group",
    "To answer, I send what it takes",  # All users may know where their words go
    "{host} can't be reached.",  # A Trouble with another text for other users
    "{host} returned error",
    "Its login can't be renewed at the moment, because {host}",
)


@whole_program
def test_texts_that_name_settings_are_for_the_owner(said: set[Id]) -> None:
    guarded: set[str] = set()
    sources = (path.read_text(encoding="utf-8") for room in ROOMS for path in (ROOT / room).rglob("*.py"))
    for source in sources:
        if "for_owner" not in source:
            continue
        tree = ast.parse(source)
        marked = {
            target.id: find_marked_text(node.value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "for_owner":
                first = node.args[0]
                guarded.add(
                    find_marked_text(first) or (marked.get(first.id) if isinstance(first, ast.Name) else None) or ""
                )
    named = {form for text in said for form in list_forms(text) if NAMES_SETTING.search(form)}
    assert {text for text in named - guarded if not text.startswith(TO_OWNERS)} == set()


def find_marked_text(node: ast.expr) -> str | None:
    """Return the text that a node marks with N_."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "N_"):
        return None
    return str(ast.literal_eval(node.args[0]))


def test_names_of_settings_are_for_the_owner_and_the_log() -> None:
    texts = "Change {name}.", "Ask the owner about {n}."
    for is_owner, shown in ((True, "Change X_Y."), (False, "Ask the owner about 3.")):
        with use_reader(is_owner=is_owner):
            text = for_owner(*texts, name="X_Y", n=3)
            sentence = name_setting("It is off.", "X_Y")
        assert text == shown
        assert sentence == ("It is off. The setting for this is X_Y." if is_owner else "It is off.")
        assert in_english(text) == "Change X_Y."
        assert in_english(sentence) == "It is off. The setting for this is X_Y."


def test_language_applies_within_its_context() -> None:
    assert get_language() == SOURCE
    with use_language("de"):
        assert _("Stopped.") == "Angehalten."
        with use_language("en"):
            assert _("Stopped.") == "Stopped."
        assert get_language() == "de"
    assert _("Stopped.") == N_("Stopped.") == "Stopped."


@pytest.mark.parametrize(
    ("tag", "stopped"),
    [("de-AT", "Angehalten."), ("de_DE.UTF-8", "Angehalten."), ("pt-br", "Stopped."), (None, "Stopped.")],
)
def test_language_tag_selects_a_language_or_english(tag: str | None, stopped: str) -> None:
    with use_language(tag):
        assert _("Stopped.") == stopped


def test_numbers_use_the_plural_forms() -> None:
    with use_language("ru"):
        forms = [ngettext("{n} message", "{n} messages", n) for n in (1, 3, 5, 21, 12)]
    assert forms == ["1 сообщение", "3 сообщения", "5 сообщений", "21 сообщение", "12 сообщений"]
    assert ngettext("{n} message", "{n} messages", 1200) == "1,200 messages"
    with use_language("de"):
        assert format_number(1234567) == "1.234.567"


@pytest.mark.parametrize("language", LANGUAGES)
def test_untranslated_text_is_english_and_empty_text_empty(language: str) -> None:
    with use_language(language):
        assert _("Nobody says this, {name}.", name="Ann") == "Nobody says this, Ann."
        assert _("") == ""


@pytest.mark.parametrize(
    ("tag", "language"),
    [
        ("de", "de"),
        ("de-AT", "de"),
        ("zh-hans", "zh"),
        ("zh_CN.UTF-8", "zh"),
        ("pt-br", None),
        ("", None),
        (None, None),
    ],
)
def test_language_tag_is_known_or_none(tag: str | None, language: str | None) -> None:
    assert find_language(tag) == language


def is_marked(node: ast.expr) -> bool:
    """Return whether a text is marked for translation or comes from elsewhere."""
    if isinstance(node, ast.JoinedStr):
        plain = [str(part.value) for part in node.values if isinstance(part, ast.Constant)]
        return re.search("[A-Za-z]", "".join(plain)) is None
    return not isinstance(node, ast.Constant) or not isinstance(node.value, str) or not node.value


def find_told_texts(tree: ast.AST) -> Iterator[tuple[int, ast.expr]]:
    """Yield the texts shown to people with their lines: answers and errors."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if (
                node.func.id in ("WrongArgument", "MemoryRefused", "MediaUnreadable", "QuietLine", "Button")
                and node.args
            ):
                yield node.lineno, node.args[0]
            if node.func.id == "Command" and len(node.args) > 1:
                yield node.lineno, node.args[1]


FOR_MODELS = (
    "memory/facts/learning.py",
    "memory/ledger/change.py",
    "bot/features/reminders/request.py",
)
"""What refuses things to tools alone, in English."""


@pytest.mark.parametrize("room", ROOMS)
def test_texts_for_people_are_marked_for_translation(room: str) -> None:
    found = [
        f"{name}:{line}"
        for path in sorted((ROOT / room).rglob("*.py"))
        if not (name := path.relative_to(ROOT).as_posix()).startswith(("bot/cli/", *FOR_MODELS))
        for line, text in find_told_texts(ast.parse(path.read_text("utf-8")))
        if not is_marked(text)
    ]
    assert found == []
