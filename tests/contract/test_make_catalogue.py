"""The tables of windows and prices, made from a list of models: no model gets more than the list says it reads."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from config import make_catalogue
from config.list_prices import make_prices, price_lines, read_prices, wrong_prices
from config.make_catalogue import main, make_seeing, make_table, read_source, too_large
from config.models import ModelCatalogue, ModelWindow, Rates, load_catalogue

if TYPE_CHECKING:
    import pytest

SOURCE = {
    name: ModelWindow(context, answer)
    for name, (context, answer) in json.loads(
        (Path(__file__).parents[1] / "sets" / "model_windows.json").read_text(encoding="utf-8")
    ).items()
}
"""Some of the maintained list's entries."""

words = st.sampled_from(["gpt", "llama", "4", "4o", "5", "mini", "large", "2024", "instruct", "x"])
names = st.builds(
    lambda vendors, parts: "/".join([*vendors, "-".join(parts)]),
    st.lists(st.sampled_from(["openrouter", "azure"]), max_size=2),
    st.lists(words, min_size=1, max_size=4),
)
windows = st.builds(ModelWindow, st.integers(512, 2_000_000), st.integers(64, 512))


def with_table(source: dict[str, ModelWindow]) -> ModelCatalogue:
    catalogue = load_catalogue()
    return ModelCatalogue(
        tuple(make_table(source)), catalogue.default, catalogue.tiers, catalogue.default_local, catalogue.local_models
    )


def test_no_window_of_the_packaged_table_is_larger_than_the_list_says() -> None:
    assert too_large(load_catalogue(), SOURCE) == []


def test_most_windows_of_the_packaged_table_are_not_much_smaller_either() -> None:
    catalogue = load_catalogue()
    shares = [catalogue.window(name).max_input_tokens / said.max_input_tokens for name, said in SOURCE.items()]
    assert sum(share > 0.75 for share in shares) / len(shares) > 0.8


@given(st.dictionaries(names, windows, max_size=30))
def test_whatever_the_list_says_no_model_gets_more(source: dict[str, ModelWindow]) -> None:
    assert too_large(with_table(source), source) == []


@given(st.dictionaries(names.filter(lambda name: "/" not in name), windows, max_size=30))
def test_a_known_model_gets_at_least_three_quarters_of_its_window(source: dict[str, ModelWindow]) -> None:
    catalogue = with_table(source)
    for name, window in source.items():
        assert catalogue.window(name).max_input_tokens * make_catalogue.MUCH_MORE >= window.max_input_tokens


def test_a_new_version_of_a_family_gets_what_most_of_the_family_have() -> None:
    family = {f"gpt-5-{kind}": ModelWindow(272_000, 128_000) for kind in ("mini", "nano", "pro")}
    catalogue = with_table(family | {"gpt-5-chat": ModelWindow(128_000, 16_384)})
    assert catalogue.window("gpt-5-ultra").max_input_tokens == 128_000
    assert catalogue.window("gpt-5-mini-2027") == ModelWindow(272_000, 128_000)
    assert catalogue.window("gemini-9") == catalogue.default


def test_the_command_makes_the_table_and_leaves_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    listed = {
        "tiny-1": {"mode": "chat", "max_input_tokens": 2_048, "max_output_tokens": 512},
        "Tiny-1": {"mode": "chat", "max_input_tokens": 1_024, "max_output_tokens": 1_024},
        "draws": {"mode": "image_generation", "max_input_tokens": 9_999_999},
        "odd-1": {"mode": "chat", "max_input_tokens": "many"},
    }
    (tmp_path / "list.json").write_text(json.dumps(listed))
    assert read_source(tmp_path / "list.json") == {"tiny-1": ModelWindow(1_024, 256)}
    copy = tmp_path / "models.json"
    shutil.copy(make_catalogue.CATALOGUE, copy)
    monkeypatch.setattr(make_catalogue, "CATALOGUE", copy)
    monkeypatch.setattr(make_catalogue, "load_catalogue", lambda: load_catalogue(copy))
    monkeypatch.setattr(sys, "argv", ["make_catalogue", str(tmp_path / "list.json")])
    main()
    assert "0 windows too large" in capsys.readouterr().out
    made = load_catalogue(copy)
    assert [model.pattern for model in made.models] == ["tiny-1*"]
    assert made.local_models == load_catalogue().local_models


def test_prices_are_read_by_the_million_and_only_where_tokens_tell_them(tmp_path: Path) -> None:
    plain = {"mode": "chat", "input_cost_per_token": 1.5e-07, "output_cost_per_token": 6e-07}
    listed = {
        "Fox-1": plain | {"cache_read_input_token_cost": 7.5e-08},
        "fox-2": plain
        | {"input_cost_per_token_above_200k_tokens": 3e-07, "output_cost_per_token_above_200k_tokens": 9e-07},
        "fox-3": {
            "mode": "responses",
            "tiered_pricing": [
                {"range": [32_000, 64_000], "input_cost_per_token": 2e-06, "output_cost_per_token": 3e-06},
                {"range": [0, 32_000], "input_cost_per_token": 1e-06, "output_cost_per_token": 2e-06},
            ],
        },
        "asks-1": plain | {"input_cost_per_request": 0.005},
        "thinks-1": plain | {"output_cost_per_reasoning_token": 9e-07},
        "free-1": {"mode": "chat", "input_cost_per_token": 0, "output_cost_per_token": 0},
        "mistaken-1": plain | {"output_cost_per_token": 0.0097},
        "half-1": {"mode": "chat", "input_cost_per_token": 1e-07},
        "odd-1": plain | {"input_cost_per_token": "cheap"},
        "draws-1": plain | {"mode": "image_generation"},
        "alone": plain,
        "hen/fox-1": plain | {"cache_read_input_token_cost": 7.5e-08},
        "hen/owl-1": plain,
        "hound/owl-1": plain,
    }
    (tmp_path / "list.json").write_text(json.dumps(listed))
    made = make_prices(read_prices(tmp_path / "list.json", make_catalogue.TALKING), {"api.hen.example": "hen"})
    assert made == {
        "fox-1": (Rates(0.15, 0.6, 0.075),),
        "fox-2": (Rates(0.15, 0.6), Rates(0.3, 0.9, above=200_000)),
        "fox-3": (Rates(1, 2), Rates(2, 3, above=32_000)),
        "hen/owl-1": (Rates(0.15, 0.6),),
    }


def test_the_written_prices_are_read_back_as_they_were(tmp_path: Path) -> None:
    packaged = load_catalogue()
    again = tmp_path / "models.json"
    text = make_catalogue.CATALOGUE.read_text(encoding="utf-8")
    assert price_lines(dict(packaged.prices)) in text
    again.write_text(text)
    assert wrong_prices(load_catalogue(again), dict(packaged.prices)) == []


def test_a_family_of_which_all_see_is_one_pattern_and_a_mixed_one_is_none() -> None:
    source = ["fox-4", "fox-4o", "fox-4o-mini", "vendor/fox-4o-2024", "owl-1-large", "owl-1-tiny", "hen-7"]
    seeing = {"fox-4o", "fox-4o-mini", "vendor/fox-4o-2024", "owl-1-large"}
    assert make_seeing(source, seeing) == ["fox-4o*", "owl-1-large"]


@given(st.sets(names), st.data())
def test_whatever_the_list_says_the_patterns_name_all_that_see(source: set[str], data: st.DataObject) -> None:
    seeing = data.draw(st.sets(st.sampled_from(sorted(source)))) if source else set()
    catalogue = replace(load_catalogue(), seeing=tuple(make_seeing(source, seeing)))
    assert all(catalogue.sees(name) for name in seeing)


def test_the_packaged_list_knows_who_sees_and_leaves_open_what_it_does_not_know() -> None:
    catalogue = load_catalogue()
    assert catalogue.sees("gpt-4o-mini")
    assert catalogue.sees("openrouter/google/gemini-2.5-pro")
    assert catalogue.sees("gpt-3.5-turbo") is None
    assert catalogue.sees(catalogue.default_local) is False
