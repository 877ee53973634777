"""Tests of the page of measurements."""

from __future__ import annotations

import importlib.util

import pytest

from benchmarks import measured
from benchmarks.measured import MEASUREMENTS, PAGE, Measurement, build_page, measure, split_sections


def test_page_has_a_section_for_each_measurement_with_its_text_and_commands() -> None:
    page = PAGE.read_text(encoding="utf-8")
    sections = split_sections(page)
    for measurement in MEASUREMENTS:
        section = sections[measurement.title]
        assert measurement.text in section
        assert [line for line in section.splitlines() if line.startswith("$ ")] == [
            f"$ python -m benchmarks.{command}" for command in measurement.commands
        ]
        assert section.count("\nMeasured on 20") == 1
    assert build_page(sections) == page


@pytest.mark.parametrize("measurement", MEASUREMENTS, ids=lambda one: one.name)
def test_commands_exist(measurement: Measurement) -> None:
    for command in measurement.commands:
        assert importlib.util.find_spec(f"benchmarks.{command.split()[0]}") is not None


def test_section_shows_chosen_lines_without_paths_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(command: list[str]) -> str:
        asked.append(command)
        return "name   share\nall    90 in /home/ann/data.json\ndetail 80\n" if "-m" in command else "0123abcd\n"

    asked: list[list[str]] = []
    monkeypatch.setattr(measured, "_run", answer)
    section = measure(
        Measurement("one", "One", "About it.", ("recall PATH",), "name|all"), {"PATH": "/home/ann/data.json"}
    )
    assert asked[0][-2:] == ["benchmarks.recall", "/home/ann/data.json"]
    assert section.startswith(
        "## One\n\nAbout it.\n\n```\n$ python -m benchmarks.recall PATH\nname   share\nall    90 in PATH\n```\n"
    )
    assert section.endswith(", commit 0123abcd.\n\n")
    assert split_sections(f"# Page\n\n{section}## Two\n\nMore.\n") == {"One": section, "Two": "## Two\n\nMore.\n"}
