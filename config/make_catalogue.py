"""Makes the tables of hosted models in models.json anew from LiteLLM's list of models (a command, for developers).

    python -m config.make_catalogue model_prices_and_context_window.json

The list is maintained with every release of that project (MIT licence): the PyPI package ``litellm`` holds it as
``litellm/model_prices_and_context_window_backup.json``. Of it the sizes of the windows are taken, what models cost
(list_prices.py), and which see pictures: what it does not call seeing may be all the same, so that is found out by
asking. Names are
folded into patterns, so that a new version of a known family needs no entry, but never gets more than three quarters
of that family have. No known model gets a larger window than the source gives it, which --check shows.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from config.list_prices import Prices, make_prices, price_lines, read_prices, wrong_prices
from config.models import CatalogueError, HostedModel, ModelCatalogue, ModelWindow, load_catalogue

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

CATALOGUE = Path(__file__).with_name("models.json")
TALKING = ("chat", "completion", "responses")
"""The kinds of models that answer a conversation."""
FAMILY_WORDS = 2
"""A pattern names at least this many words or numbers: `gpt-4*` is a family, `gpt*` says nothing of a window."""

MUCH_MORE = 1.3
"""A window is worth a pattern of its own from this many times what a shorter pattern gives: less than the whole window
of a model costs nobody anything."""

_WORD = re.compile(r"[a-z]+|\d+|[^a-z\d]")
_PLAIN = re.compile(r"[^*?\[\]]+")


def read_source(path: Path) -> dict[str, ModelWindow]:
    """The windows of the source by the models' names in lower case; of names that differ in case only, the smallest."""
    listed: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    found: dict[str, ModelWindow] = {}
    for name, entry in listed.items():
        context = _tokens(entry.get("max_input_tokens") or entry.get("max_tokens"))
        if entry.get("mode") not in TALKING or not context or not _PLAIN.fullmatch(name):
            continue
        longest = _tokens(entry.get("max_output_tokens"))
        # a window that is said to be all answer leaves no room for a question
        answer = longest if 0 < longest < context else max(1, context // 4)
        window, key = ModelWindow(context, answer), name.lower()
        found[key] = _smaller(found[key], window) if key in found else window
    return found


def make_table(source: Mapping[str, ModelWindow]) -> list[HostedModel]:
    """Patterns that give every model of the source its window, by its whole name or by its name without vendors."""
    plain = _without_vendors(source)
    table = _patterns(plain)
    # where a vendor serves a model with another window than is known of it, its whole name stands in the table
    catalogue = replace(load_catalogue(), models=tuple(table))
    for name, window in sorted(source.items()):
        if "/" in name and catalogue.window(name).max_input_tokens > window.max_input_tokens:
            table.append(HostedModel(name, window.max_input_tokens, window.max_output_tokens))
    return sorted(table, key=lambda model: model.pattern)


def make_seeing(source: Collection[str], seeing: Collection[str]) -> list[str]:
    """Patterns for the names in `source` of which all that begin so are in `seeing`, and the other names in it."""
    bare = {name.rpartition("/")[2]: False for name in source}
    bare |= {name.rpartition("/")[2]: True for name in seeing}
    root: dict[str, list[str]] = {}
    for name in bare:
        words = _WORD.findall(name)
        for end in range(1, len(words) + 1):
            root.setdefault("".join(words[:end]), []).append(name)
    made: list[str] = []
    for prefix in sorted(root, key=len):
        covered = any(fnmatchcase(prefix, pattern) for pattern in made)
        known = sum(word.isalnum() for word in _WORD.findall(prefix)) >= FAMILY_WORDS and prefix[-1].isalnum()
        if not covered and known and len(root[prefix]) > 1 and all(bare[name] for name in root[prefix]):
            made.append(f"{prefix}*")
    made += [name for name, sees in bare.items() if sees and not any(fnmatchcase(name, pattern) for pattern in made)]
    return sorted(made)


def read_seeing(path: Path) -> set[str]:
    """The names of the models that see pictures, in lower case."""
    listed: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return {
        name.lower()
        for name, entry in listed.items()
        if entry.get("mode") in TALKING and entry.get("supports_vision") and _PLAIN.fullmatch(name)
    }


def too_large(catalogue: ModelCatalogue, source: Mapping[str, ModelWindow]) -> list[str]:
    """The models that `catalogue` gives a larger window than the source does."""
    return [
        name for name, window in source.items() if catalogue.window(name).max_input_tokens > window.max_input_tokens
    ]


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m config.make_catalogue", description=__doc__)
    parser.add_argument("source", type=Path, help="LiteLLM's list of models, a JSON file")
    parser.add_argument("--check", action="store_true", help="only say how the present table compares")
    arguments = parser.parse_args()
    source = read_source(arguments.source)
    prices = read_prices(arguments.source, TALKING)
    if not arguments.check:
        offered = make_prices(prices, load_catalogue().vendors)
        _write(make_table(source), make_seeing(source, read_seeing(arguments.source)), offered)
    catalogue = load_catalogue()
    wrong = too_large(catalogue, source)
    same = sum(catalogue.window(name).max_input_tokens == window.max_input_tokens for name, window in source.items())
    sys.stdout.write(
        f"{len(source)} models in the source, {len(catalogue.models)} patterns here: {len(wrong)} windows too large, "
        f"{same} the same.\n"
        f"{len(prices)} prices in the source, {len(catalogue.prices)} here.\n"
    )
    if wrong:
        raise SystemExit(f"Too large: {', '.join(wrong[:10])}")
    if mistaken := wrong_prices(catalogue, prices):
        raise SystemExit(f"Other prices: {', '.join(mistaken[:10])}")


@dataclass(slots=True)
class _Node:
    """The names that begin with the same words: their windows, the one of this very name, and what follows."""

    windows: list[ModelWindow] = field(default_factory=list)
    own: ModelWindow | None = None
    rest: dict[str, _Node] = field(default_factory=dict)

    def usual(self) -> ModelWindow:
        """What to expect of a name that begins like this: less than three quarters of those that are known have."""
        return sorted(self.windows, key=lambda window: window.max_input_tokens)[(len(self.windows) - 1) // 4]


def _patterns(windows: Mapping[str, ModelWindow]) -> list[HostedModel]:
    """A few patterns that give no name more than its own window, and most not much less."""
    root = _Node()
    for name, window in windows.items():
        node = root
        for word in _WORD.findall(name):
            node = node.rest.setdefault(word, _Node())
            node.windows.append(window)
        node.own = window
    return [HostedModel(p, w.max_input_tokens, w.max_output_tokens) for p, w in _walk(root, "", 0, 0)]


def _walk(node: _Node, prefix: str, words: int, said: int) -> Iterator[tuple[str, ModelWindow]]:
    """Patterns for what is below `node`; said: the context that a shorter pattern gives it already.

    The longest answer alone makes no pattern: it only says how much room is kept for it.
    """
    if words >= FAMILY_WORDS and _worth_saying(node.usual(), said):
        said = node.usual().max_input_tokens
        yield f"{prefix}*", node.usual()
    if node.own is not None and _worth_saying(node.own, said):
        yield prefix, node.own
    for word, below in sorted(node.rest.items()):
        yield from _walk(below, prefix + word, words + word.isalnum(), said)


def _worth_saying(window: ModelWindow, said: int) -> bool:
    return window.max_input_tokens < said or window.max_input_tokens >= said * MUCH_MORE


def _without_vendors(source: Mapping[str, ModelWindow]) -> dict[str, ModelWindow]:
    """The windows by bare names: what is said of the bare name itself counts more than what vendors serve."""
    bare: dict[str, ModelWindow] = {}
    for name, window in source.items():
        last = name.rpartition("/")[2]
        if last not in source:
            bare[last] = _smaller(bare[last], window) if last in bare else window
    return bare | {name: window for name, window in source.items() if "/" not in name}


def _smaller(a: ModelWindow, b: ModelWindow) -> ModelWindow:
    return ModelWindow(
        min(a.max_input_tokens, b.max_input_tokens),
        min(a.max_output_tokens, b.max_output_tokens),
    )


def _tokens(said: object) -> int:
    """A number of tokens; 0 where the source has none, or none that can be meant."""
    return said if isinstance(said, int) and not isinstance(said, bool) and said > 1 else 0


def _write(table: list[HostedModel], seeing: list[str], prices: Prices) -> None:
    """Put all in their place in models.json, a line for each; the rest of the file stays as it is."""
    lines = (
        f'    {{"pattern": {json.dumps(model.pattern)}, "max_input_tokens": {model.max_input_tokens}, '
        f'"max_output_tokens": {model.max_output_tokens}}}'
        for model in table
    )
    parts = {
        "models": '  "models": [\n' + ",\n".join(lines) + "\n  ],\n",
        "seeing": '  "seeing": [\n' + ",\n".join(f"    {json.dumps(name)}" for name in seeing) + "\n  ],\n",
        "prices": price_lines(prices),
    }
    text = CATALOGUE.read_text(encoding="utf-8")
    for name, made in parts.items():
        found = re.search(rf'^  "{name}": [\[{{]\n.*?^  [\]}}],\n', text, re.MULTILINE | re.DOTALL)
        if found is None:
            raise CatalogueError(f"{CATALOGUE} has no table of {name}.")
        text = text[: found.start()] + made + text[found.end() :]
    CATALOGUE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
