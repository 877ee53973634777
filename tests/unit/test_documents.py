"""Documents by themselves: whatever is in a file, it is read whole, in parts, or refused in one sentence."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pipeline.media import documents
from pipeline.media.documents import PART_CHARACTERS, DocumentReader
from pipeline.media.fetching import MediaUnreadable
from tests.support.papers import endless, pdf

TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n\t"), min_size=1)
"""Texts as editors write them."""


@given(TEXTS.map(lambda text: f"x{text}x"), st.integers(1, 400))
@settings(max_examples=60)
async def test_the_parts_of_a_text_are_the_text_and_none_is_too_long(text: str, times: int) -> None:
    whole = "\n".join([text] * times)
    document = await DocumentReader().read("a.txt", whole.encode())
    assert "".join(part.text for part in document.parts) == whole
    assert all(len(part.text) <= PART_CHARACTERS for part in document.parts)


async def test_parts_say_which_lines_they_are() -> None:
    lines = [f"This is line {number} of the book" for number in range(1, 401)]
    document = await DocumentReader().read("book.txt", "\n".join(lines).encode())
    assert document.about == "400 lines"
    for part in document.parts:
        _, first, _, last = part.label.split()
        assert part.text.splitlines() == lines[int(first) - 1 : int(last)]


@given(st.binary(max_size=3_000))
@example(b"\xfe\xff")
@settings(max_examples=100)
async def test_any_bytes_are_read_or_refused_in_a_sentence(content: bytes) -> None:
    try:
        document = await DocumentReader().read("a.bin", content.replace(b"%PDF-", b""))
    except MediaUnreadable:
        return
    assert document.parts
    assert all(part.text for part in document.parts)


@given(st.integers(0, 900), st.binary(max_size=40))
@settings(max_examples=12)
async def test_a_pdf_that_was_spoilt_anywhere_is_read_or_refused(at: int, spoilt: bytes) -> None:
    whole = pdf("The first page", "The second page")
    content = whole[: 10 + at] + spoilt + whole[10 + at + len(spoilt) :]
    try:
        document = await DocumentReader().read("a.pdf", content)
    except MediaUnreadable:
        return
    assert document.parts


async def test_a_pdf_that_takes_too_long_is_given_up_and_its_process_ends() -> None:
    with pytest.raises(MediaUnreadable, match="took longer than 0 seconds to read"):
        await DocumentReader(seconds=0).read("a.pdf", pdf("The first page"))


async def test_a_hostile_pdf_is_refused_within_its_limits() -> None:
    with pytest.raises(MediaUnreadable):
        await DocumentReader(seconds=5).read("a.pdf", endless())


async def test_a_long_page_and_a_long_book_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "MOST_PAGES", 2)
    page = "\n".join(["A sentence that goes on about nothing in particular."] * 80)
    document = await DocumentReader().read("a.pdf", pdf(page, "second", "third"))
    assert document.about == "3 pages, of which I read 2"
    assert [part.label for part in document.parts] == ["page 1, 1 of 2", "page 1, 2 of 2", "page 2"]
    monkeypatch.setattr(documents, "MOST_CHARACTERS", 100)
    document = await DocumentReader().read("a.txt", b"word\n" * 50)
    assert document.about == "50 lines, of which I read 20"
