"""Tests of rendering Markdown into messages that Telegram accepts."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from telegramify_markdown import utf16_len

from bot.telegram.rendering import Chunk, render

MARKS = [
    "\n",
    "\n\n",
    "**",
    "_",
    "`",
    "```\n",
    "```python\n",
    "# ",
    "- ",
    "> ",
    "|",
    "||",
    "~~",
    "\\",
    "1. ",
    "$x$",
    "\t",
]
WORDS = [
    "word ",
    "слово ",
    "単語",
    "\U0001f469\u200d\U0001f467 ",
    "\u200f",
    "[a](http://b.c)",
    "<b>",
    "&amp;",
    "x" * 40,
]
PIECES = st.sampled_from(MARKS + WORDS)


def list_entity_texts(chunk: Chunk, kind: str) -> list[str]:
    """Return the texts of the entities of one kind."""
    units = chunk.text.encode("utf-16-le")
    return [
        units[2 * e.offset : 2 * (e.offset + e.length)].decode("utf-16-le") for e in chunk.entities if e.type == kind
    ]


@given(st.lists(PIECES, max_size=120).map("".join), st.integers(20, 200))
def test_every_chunk_is_valid_for_telegram(markdown: str, longest: int) -> None:
    for chunk in render(markdown, longest):
        assert chunk.text == chunk.text.strip() != ""
        assert utf16_len(chunk.text) <= longest
        units = chunk.text.encode("utf-16-le")
        for entity in chunk.entities:
            assert entity.offset >= 0
            assert entity.length > 0
            assert entity.offset + entity.length <= utf16_len(chunk.text)
            units[2 * entity.offset : 2 * (entity.offset + entity.length)].decode("utf-16-le")


@given(st.text(max_size=3000))
def test_any_text_is_rendered(text: str) -> None:
    assert all(utf16_len(chunk.text) <= 100 for chunk in render(text, 100))


@given(st.lists(st.text("abc 😀", min_size=1, max_size=30), min_size=1, max_size=40), st.integers(10, 80))
def test_splitting_loses_no_visible_character(words: list[str], longest: int) -> None:
    text = "w" + "\n\n".join(words)
    joined = "".join(chunk.text for chunk in render(text, longest))
    whole = "".join(chunk.text for chunk in render(text, 1_000_000))
    assert "".join(joined.split()) == "".join(whole.split())


def test_code_that_is_split_stays_code_in_every_part() -> None:
    code = "\n".join(f"line {n}" for n in range(100))
    chunks = render(f"```python\n{code}\n```", 200)
    assert len(chunks) > 3
    assert "\n".join("\n".join(list_entity_texts(chunk, "pre")) for chunk in chunks).split() == code.split()


def test_text_is_split_between_paragraphs_if_possible() -> None:
    chunks = render("First words here.\n\nSecond part of it.", 25)
    assert [chunk.text for chunk in chunks] == ["First words here.", "Second part of it."]


def test_plain_words_have_no_entities_and_bold_ones_do() -> None:
    assert render("plain")[0].entities == ()
    assert list_entity_texts(render("a **bold** word")[0], "bold") == ["bold"]


def test_invisible_text_makes_no_message() -> None:
    assert render(" \n ") == []


@pytest.mark.parametrize(
    "said",
    [
        "use List<String> and Map<K, V> here",
        "if a<b and c>d then",
        "<div>hello</div>",
        "<script>alert(1)</script>",
        "<!-- a comment -->",
        "text <!-- c --> more",
        "<details>\n<summary>x</summary>\ny\n</details>",
        "$$$$",
        "a $$$$ b",
        "[note]: url",
        "[note]: http://a.example/b",
        "[a]: b\n[c]: d\ntext",
        "a[^1]\n\n[^1]: foot",
        "[](http://a.example)",
        "![](http://a.example/b.png)",
        "see [the list](#list) and [this](src/app)",
        "#",
    ],
)
def test_markup_like_text_is_rendered_unchanged(said: str) -> None:
    (chunk,) = render(said)
    assert chunk.text == said


@pytest.mark.parametrize(
    ("said", "kind", "what"),
    [
        ("> a quote\n> of two lines", "blockquote", "a quote\nof two lines"),
        ("see [there](https://a.example)", "text_link", "there"),
        ("see [there][1]\n\n[1]: https://a.example", "text_link", "there"),
        ("the type is `List<String>`", "code", "List<String>"),
        ("a ||secret|| word", "spoiler", "secret"),
        (r"so \(\alpha^2\) grows", "code", "α²"),
        ("thus\n\n\\[\n\\frac{a}{b}\n\\]", "pre", "a/b"),
        (r"a path `\(x\)` in code", "code", r"\(x\)"),
        ("```\n\\[ -f x \\]\n```", "pre", "\\[ -f x \\]"),
    ],
)
def test_markup_becomes_its_entity(said: str, kind: str, what: str) -> None:
    (chunk,) = render(said)
    assert list_entity_texts(chunk, kind) == [what]


TAGS = st.sampled_from(
    [
        "<b>",
        "</i>",
        "<T>",
        "<!-- ",
        " -->",
        "[x]: ",
        "$$",
        "$",
        "<div>\n",
        "<br/>",
        "&lt;",
        "[",
        "](",
        "\\(",
        "\\)",
        "\\[",
    ]
)


@given(st.lists(st.one_of(TAGS, st.from_regex(r" ?word[a-z]{1,4} ?", fullmatch=True)), max_size=20).map("".join))
def test_words_between_markup_are_kept(said: str) -> None:
    text = " ".join(chunk.text for chunk in render(said))
    links = " ".join(str(e.url) for chunk in render(said) for e in chunk.entities if e.url)
    assert [word for word in re.findall(r"word[a-z]+", said) if word not in text + links] == []


@pytest.mark.parametrize("mark", ["1. ", "- ", "> ", "* 1. "])
def test_deeply_nested_text_grows_moderately(mark: str) -> None:
    said = mark * (21_000 // len(mark))
    assert sum(len(chunk.text) for chunk in render(said)) < 3 * len(said)
