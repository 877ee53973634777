"""Tests of aligned figures in any script."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from bot.commands.figures import WIDTH_CELLS, Group, align, bar
from bot.commands.status import format_cost

plain = st.text(
    st.characters(categories=("Ll", "Lu", "Nd"), max_codepoint=0x30FF), min_size=1, max_size=WIDTH_CELLS // 2 - 1
)


@given(plain, plain)
def test_values_end_in_the_same_column(label: str, value: str) -> None:
    line = align(label, value)
    assert line.startswith(label)
    assert line.endswith(f" {value}")
    if cell_len(label) + cell_len(value) < WIDTH_CELLS:
        assert cell_len(line) == WIDTH_CELLS


def test_chinese_label_counts_twice() -> None:
    assert align("消息", "48") == "消息" + " " * (WIDTH_CELLS - 6) + "48"


def test_overlong_line_keeps_one_space() -> None:
    assert align("model", "openrouter/anthropic/claude-sonnet-4-5") == ("model openrouter/anthropic/claude-sonnet-4-5")


@given(st.floats(0, 1))
def test_bar_has_full_width_and_the_right_share(share: float) -> None:
    line = bar(share)
    assert len(line) == WIDTH_CELLS
    assert line.count("█") / (line.count("█") + line.count("░")) == pytest.approx(share, abs=0.03)


def test_group_without_figures_is_its_sentence() -> None:
    assert str(Group("Memory", notes=("It is off.",))) == "**Memory**\nIt is off."


@pytest.mark.parametrize(
    ("dollars", "said"),
    [(0, "free"), (0.0001, "under $0.01"), (0.01, "about $0.01"), (0.125, "about $0.12"), (1234.5, "about $1,234.50")],
)
def test_cost_is_formatted_in_dollars_and_cents(dollars: float, said: str) -> None:
    assert format_cost(dollars) == said
