"""Selection of the models for chat."""

from __future__ import annotations

import contextlib
from collections.abc import Collection
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

import structlog
from pydantic import HttpUrl, SecretStr

from bot.jobs.background import Quiet, return_at_once
from config.errors import ConfigurationError
from config.models import ModelCatalogue
from config.prices import FREE, Price
from config.settings import Settings
from memory.clock import Clock
from memory.consolidation.extractor import ModelAbilities
from memory.runtime.endpoints import EndpointStore
from memory.runtime.usage import PriceOf
from pipeline.models.capabilities import EndpointCapabilities, Part
from pipeline.models.endpoint import Endpoint, is_on_this_machine
from pipeline.models.model import ChatModel
from pipeline.models.openai_model import ModelDefaults, OpenAIModel
from pipeline.models.routing import ModelRouter, Models, YieldingModel
from pipeline.prompt.prompts import STYLES, PromptStyle

log = structlog.get_logger(__name__)

MAX_PART_TOKENS = 8_000
"""Maximum tokens of a conversation per learning request. In longer texts models overlook too much."""
MAX_PART_OF_WINDOW = 0.3
"""Maximum fraction of a small window, which also holds instructions, known facts and the answer."""

NO_MODEL = "No model is configured: run `mneme setup`, or set LLM_MODEL with OPENAI_BASE_URL or OPENAI_API_KEY."


def create_endpoint(url: HttpUrl | None, key: SecretStr | None) -> Endpoint:
    """Create an endpoint from address and key. Servers without authentication get a dummy key."""
    return Endpoint(str(url) if url else None, key.get_secret_value() if key else "none")


@dataclass(frozen=True, slots=True)
class ModelSetup:
    """The chat model with its prompt style and limits."""

    model: ChatModel
    others: tuple[ChatModel, ...]  # Models that the user can choose instead
    quiet: Quiet
    style: PromptStyle
    tools: Collection[str] | None  # None means all
    abilities: ModelAbilities  # Limits for learning from conversations


@dataclass(frozen=True, slots=True)
class ProvidedModel:
    """The model of a bot without an endpoint. It answers one request at a time.

    Attributes:
        style: The name of its prompt style.
        tools: The tools that it gets. None means all.
        second_look: Whether it can verify facts against their sources. None means that the self-test decides.
    """

    models: Models
    style: str
    tools: Collection[str] | None
    second_look: bool | None


def get_default_endpoint(settings: Settings) -> Endpoint:
    return find_endpoint_and_model(settings, settings.llm_model or "")[0]


def find_endpoint_and_model(settings: Settings, name: str) -> tuple[Endpoint, str]:
    """Return where a model is served, and its name there: `groq:llama-4` is `llama-4` at the endpoint `groq`."""
    named, served_name = settings.split_model(name)
    url = settings.openai_base_url if named is None else named.url
    key = settings.openai_api_key if named is None else named.key
    return replace(create_endpoint(url, key), extra_body=settings.llm_extra_body), served_name


def find_model_host(settings: Settings) -> str | None:
    """Return the host of the endpoint that answers, or None if the model runs on this computer."""
    if not settings.has_endpoint:
        return None
    address = get_default_endpoint(settings).address
    return None if is_on_this_machine(address) else urlsplit(address).hostname


def create_models(
    settings: Settings,
    catalogue: ModelCatalogue,
    endpoints: EndpointStore,
    clock: Clock,
    stack: contextlib.AsyncExitStack,
) -> Models:
    """Create the models of the configured endpoints. `stack` closes them."""
    existing: dict[str, EndpointCapabilities] = {}

    def model(name: str) -> OpenAIModel:
        endpoint, served_name = find_endpoint_and_model(settings, name)
        window = catalogue.get_window(served_name)
        set_tokens = settings.llm_context_tokens if name == settings.llm_model else None
        if set_tokens is not None:
            window = replace(window, max_input_tokens=set_tokens)

        async def connect() -> Endpoint:
            return endpoint

        # Shared by all roles of a model, so that each limitation is discovered only once
        facts = existing.setdefault(
            name, EndpointCapabilities(served_name, endpoints, clock, asks=settings.llm_context_tokens is None)
        )
        created = OpenAIModel(
            name,
            window,
            connect,
            timeout=settings.llm_timeout,
            defaults=ModelDefaults(settings.llm_temperature, effort=settings.llm_effort),
            known=facts,
            unable=frozenset() if catalogue.find_measured_local(served_name) is None else frozenset({Part.IMAGES}),
        )
        stack.push_async_callback(created.close)
        return created

    name = settings.llm_model or ""
    fallback = settings.llm_fallback_model
    return Models(
        balanced=model(name),
        fast=model(settings.llm_fast_model or name),
        fallbacks=(model(fallback),) if fallback else (),
        others=tuple(model(other) for other in settings.llm_models if other != name),
    )


def create_price_lookup(settings: Settings, catalogue: ModelCatalogue) -> PriceOf:
    """Return the prices of models, each at its own endpoint. A model on this machine is free."""

    def price_of(name: str) -> Price | None:
        if not settings.has_endpoint:
            return FREE
        endpoint, served_name = find_endpoint_and_model(settings, name)
        return catalogue.get_price(served_name, urlsplit(endpoint.address).hostname)

    return price_of


def describe_uncounted_cost(settings: Settings, catalogue: ModelCatalogue) -> str | None:
    """Return a sentence about models that CHAT_DAILY_COST can't count, or None if it counts all.

    OpenRouter reports the cost of each call, so its models need no price.
    """
    if settings.chat_daily_cost is None or not settings.has_endpoint:
        return None
    price_of = create_price_lookup(settings, catalogue)

    def is_counted(name: str) -> bool:
        host = urlsplit(find_endpoint_and_model(settings, name)[0].address).hostname
        return catalogue.reports_cost(host) or price_of(name) is not None

    names = (settings.llm_model, *settings.llm_models, settings.llm_fast_model, settings.llm_fallback_model)
    unknown = [name for name in dict.fromkeys(names) if name and not is_counted(name)]
    if not unknown:
        return None
    noun = "model, whose price is" if len(unknown) == 1 else "models, whose prices are"
    return (
        f"CHAT_DAILY_COST does not limit calls of the {noun} not known ({', '.join(unknown)}): set CHAT_DAILY_TOKENS, "
        "which limits every model."
    )


def create_model_setup(
    settings: Settings, catalogue: ModelCatalogue, router: ModelRouter, provided: ProvidedModel | None
) -> ModelSetup:
    # Long prompts and many tools confuse small models
    if provided is not None:
        yielding = YieldingModel(router)
        contract = _create_abilities(router, provided.second_look)
        return ModelSetup(yielding, (), yielding.wait_until_idle, STYLES[provided.style], provided.tools, contract)
    local = catalogue.find_measured_local(router.name)
    style, tools = (STYLES["full"], None) if local is None else (STYLES[local.prompt], local.tools)
    fast = catalogue.find_measured_local(settings.llm_fast_model or router.name)
    contract = _create_abilities(router, None if fast is None else fast.second_look)
    return ModelSetup(router, router.create_others(), return_at_once, style, tools, contract)


def _create_abilities(router: ModelRouter, second_look: bool | None) -> ModelAbilities:

    def part_tokens() -> int:
        return min(MAX_PART_TOKENS, int(router.window.max_input_tokens * MAX_PART_OF_WINDOW))

    async def is_reliable() -> bool:
        return second_look if second_look is not None else await router.can(Part.SECOND_LOOK)

    return ModelAbilities(part_tokens, is_reliable)


def check_audio_endpoint(
    settings: Settings, setting: str, model: str | None, url: HttpUrl | None, key: SecretStr | None
) -> None:
    """Raise ConfigurationError if a model for speech has no endpoint, or its endpoint no model."""
    has_own = url is not None or key is not None
    if model and not (has_own or settings.has_endpoint):
        raise ConfigurationError(f"{setting}_MODEL needs an endpoint: set {setting}_BASE_URL.")
    if has_own and not model:
        raise ConfigurationError(f"{setting}_MODEL is needed with {setting}_BASE_URL: set it to the model to use.")


def create_audio_endpoint(settings: Settings, url: HttpUrl | None, key: SecretStr | None) -> Endpoint | None:
    """Return the endpoint of a speech or transcription model. The key of one address is never sent to another."""
    if key is None and url is None and not settings.has_endpoint:
        return None
    return create_endpoint(url or settings.openai_base_url, key or (settings.openai_api_key if url is None else None))
