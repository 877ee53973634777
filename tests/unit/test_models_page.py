"""Test of the costs on the page about models."""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks.monthly_cost import MODELS, compute_monthly_cost

PAGE = Path(__file__).parents[2] / "docs" / "models.md"


def test_models_page_states_computed_costs() -> None:
    rows = dict(re.findall(r"\| `([\w./-]+)` (?:\|[^|\n]*){4}\| \$(\d+) \|", PAGE.read_text(encoding="utf-8")))
    computed = {}
    for model, url in MODELS:
        costs = compute_monthly_cost(model, url)
        assert costs is not None, model
        computed[model] = f"{costs[0]:.0f}"
    assert rows == computed
