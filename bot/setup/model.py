"""The question of `mneme setup` for a model. It is saved only after it has answered, unless the user insists."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from urllib.parse import urlsplit

import typer

from bot.feature import Feature
from bot.models import describe_uncounted_cost, find_endpoint_and_model
from bot.setup.offers import ModelOffer
from bot.setup.questions import ask_number, ask_one_of, ask_secret, ask_url, can_change_answers, say, write_settings
from config.loading import load_settings
from config.models import load_catalogue
from config.settings import Settings
from memory.clock import system_clock
from memory.errors import StoreError
from memory.runtime.endpoints import EndpointStore
from memory.store.database import Database
from pipeline.models.endpoint import Endpoint
from pipeline.models.local_servers import NO_KEY, USUAL_PORTS, LocalServer, find_local_servers
from pipeline.models.model import ModelError
from pipeline.models.probe import ProbeResult, list_models, probe

MAX_NAMED_MODELS = 3


@dataclass(frozen=True, slots=True)
class ChosenEndpoint:
    """A model at an endpoint. `calls_tools` is False if a test has shown that it calls none."""

    endpoint: Endpoint
    model: str
    calls_tools: bool = True


class _Remedy(Enum):
    """What to do with a model that doesn't answer."""

    AGAIN = "Enter the address, the key and the model again."
    KEEP = "Save it as it is, without a test: the server may only be off now."
    BACK = "Go back to the list of models."


def set_up_model(env_file: Path, features: Sequence[Feature], ports: Mapping[str, int] = USUAL_PORTS) -> bool:
    """Configure a model at an endpoint, which is saved only after it has answered, or one that a feature offers.

    Return False if a test has shown that the model calls no tools.
    """
    calls_tools = _choose_model(env_file, features, ports)
    if (trouble := describe_uncounted_cost(load_settings(env_file), load_catalogue())) is not None:
        say(trouble)
    return calls_tools


def _choose_model(env_file: Path, features: Sequence[Feature], ports: Mapping[str, int]) -> bool:
    settings = load_settings(env_file)
    if settings.has_endpoint:
        current = ChosenEndpoint(*find_endpoint_and_model(settings, settings.llm_model or ""))
        checked = _check_model(current, settings)
        if checked is not None and not can_change_answers():
            return checked.calls_tools
        if not typer.confirm("Choose another model?", default=checked is None):
            return checked is None or checked.calls_tools
    elif settings.llm_model and can_change_answers():
        say(f"The embedded model {settings.llm_model} is chosen.")
        if not typer.confirm("Choose another model?", default=False):
            return True
    servers = [server for server in asyncio.run(find_local_servers(ports)) if server.models]
    while True:
        chosen = _choose(servers, features, settings)
        if chosen is None:
            continue
        if isinstance(chosen, ModelOffer):
            chosen.choose(env_file, settings)
            return True
        endpoint = chosen.endpoint
        write_settings(
            env_file, OPENAI_BASE_URL=endpoint.base_url or "", OPENAI_API_KEY=endpoint.api_key, LLM_MODEL=chosen.model
        )
        return chosen.calls_tools


def _choose(
    servers: list[LocalServer], features: Sequence[Feature], settings: Settings
) -> ChosenEndpoint | ModelOffer | None:
    """Ask for a model. Return None if the user wants to choose again."""
    offers = [feature.offer_models() for feature in features]
    models = [model for offered in offers for model in offered.models]
    lines = [
        f"{server.name} on this machine ({server.summarize(MAX_NAMED_MODELS)}): "
        "free and private; quality and memory depend on its model."
        for server in servers
    ]
    lines += [
        "A service or another server, by address: the best answers, no memory here; a service costs and reads all.",
    ]
    lines += [model.description for model in models]
    say("\nWhich model should answer? For real use, choose a hosted or a larger one.")
    for offered in offers:
        if offered.note:
            say(offered.note)
    for number, line in enumerate(lines, 1):
        say(f"  {number}  {line}")
    number = ask_number("Number", len(lines))
    if number <= len(servers):
        server = servers[number - 1]
        chosen = ChosenEndpoint(Endpoint(server.base_url, NO_KEY), ask_one_of("Model", list(server.models)))
        if (checked := _check_model(chosen, settings)) is not None:
            return checked
        return chosen if _ask_remedy(_Remedy.BACK) is _Remedy.KEEP else None
    if number == len(servers) + 1:
        return _choose_endpoint(settings)
    return models[number - len(servers) - 2]


def _choose_endpoint(settings: Settings) -> ChosenEndpoint | None:
    """Ask for an address, a key and a model until they answer. Return None if the user wants to choose again."""
    address = ""
    while True:
        address = ask_url("Base URL" if address else "Base URL, such as localhost:1234 (empty: OpenAI)", address)
        key = ask_secret("API key (not shown; empty: none)" if address else "OpenAI API key (not shown; empty: back)")
        if not key and not address:
            return None
        endpoint = Endpoint(address or None, key or NO_KEY)
        listing = asyncio.run(list_models(endpoint))
        if not listing.names and address and not urlsplit(address).path:
            # Most servers have their API under /v1, which users often omit
            below = Endpoint(f"{address}/v1", endpoint.api_key)
            if (below_listing := asyncio.run(list_models(below))).names:
                endpoint, listing = below, below_listing
        remedy = None
        if listing.trouble is not None:
            say(listing.trouble)
            remedy = _ask_remedy()
        if remedy in (None, _Remedy.KEEP):
            if listing.names:
                say(f"Models at {endpoint.address if endpoint.base_url else 'OpenAI'}:")
            chosen = ChosenEndpoint(endpoint, ask_one_of("Model", listing.names))
            checked = _check_model(chosen, settings) if remedy is None else chosen
            remedy = None if checked is not None else _ask_remedy()
            if remedy in (None, _Remedy.KEEP):
                return checked or chosen
        if remedy is _Remedy.BACK:
            return None


def _ask_remedy(*offered: _Remedy) -> _Remedy:
    """Ask what to do with a model that doesn't answer. Without arguments, offer everything."""
    remedies = [remedy for remedy in _Remedy if remedy in offered or remedy is _Remedy.KEEP or not offered]
    say("What now?")
    for number, remedy in enumerate(remedies, 1):
        say(f"  {number}  {remedy.value}")
    return remedies[ask_number("Number", len(remedies)) - 1]


def _check_model(chosen: ChosenEndpoint, settings: Settings) -> ChosenEndpoint | None:
    """Test a model and print what works, or why it doesn't. Return it with the result, or None without an answer."""
    endpoint, model = chosen.endpoint, chosen.model

    async def check() -> ProbeResult:
        database = await Database.open(settings.database_file)
        try:
            store, asks = EndpointStore(database, system_clock), settings.llm_context_tokens is None
            assumed = load_catalogue().get_window(model)
            return await probe(endpoint, model, assumed, settings.llm_timeout, store, asks=asks)
        finally:
            await database.close()

    try:
        probed = asyncio.run(check())
    except (ModelError, StoreError) as error:
        say(str(error))
        return None
    say(f"The model {model} answers; it reads {probed.window.max_input_tokens:,} tokens.")
    for trial in probed.trials:
        say(f"    {trial}")
    works = {trial.name: trial.works for trial in probed.trials}
    return replace(chosen, calls_tools=works.get("tools") is not False)
