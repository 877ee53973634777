"""The part of `mneme setup` that leads to a model that answers."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import typer

from bot.models import endpoint_of
from bot.setup.questions import ask_number, ask_one_of, ask_secret, ask_url, say, write_settings
from config.models import LocalModel, load_catalogue
from config.settings import load_settings
from memory.clock import system_clock
from memory.errors import StoreError
from memory.service.endpoints import EndpointStore
from memory.store.database import Database
from pipeline.local.local_servers import NO_KEY, USUAL_PORTS, find_local_servers
from pipeline.models.endpoint import Endpoint
from pipeline.models.model import ModelError
from pipeline.models.probe import listed_models, probe

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from config.models import ModelCatalogue, ModelWindow
    from config.settings import Settings
    from pipeline.local.local_servers import LocalServer

FOR_THE_REST = 400_000_000
"""Bytes that a small system and the bot take: what is swapped out while a model answers makes it wait for minutes."""
TOY = "a toy"
"""The quality of a model that is there to try the engine with."""
NAMED = 3
"""Models of a server that are named in the line that offers it."""


Chosen = tuple[Endpoint, str]
"""An endpoint, and the name of a model of it."""


def set_up_model(env_file: Path, ports: Mapping[str, int] = USUAL_PORTS) -> None:
    """Have a model that answers: an endpoint's, or the embedded one. Kept only when it has answered.

    ports: where model servers of this machine are looked for.
    """
    settings = load_settings(env_file)
    if settings.has_endpoint:
        if _answers((endpoint_of(settings), settings.llm_model or ""), settings):
            return
        if not typer.confirm("Choose another model?", default=True):
            return
    servers = [server for server in asyncio.run(find_local_servers(ports)) if server.models]
    while True:
        chosen = _choose(servers, settings)
        if isinstance(chosen, LocalModel):
            is_default = chosen.name == load_catalogue().default_local
            if settings.has_endpoint or chosen.name != (settings.llm_model or load_catalogue().default_local):
                name = "" if is_default else chosen.name
                write_settings(env_file, OPENAI_BASE_URL="", OPENAI_API_KEY="", LLM_MODEL=name)
            say(f"{chosen.name} it is: `mneme model pull` fetches it.")
            return
        if _answers(chosen, settings):
            endpoint, model = chosen
            url = endpoint.base_url or ""
            write_settings(env_file, OPENAI_BASE_URL=url, OPENAI_API_KEY=endpoint.api_key, LLM_MODEL=model)
            return


def _choose(servers: list[LocalServer], settings: Settings) -> Chosen | LocalModel:
    """Offer what there is, first the model servers of this machine, last the embedded models."""
    embedded = that_fit(load_catalogue(), memory_of_machine())
    lines = [
        f"{server.name} on this machine ({server.listed(NAMED)}): free, private; quality and memory are its model's."
        for server in servers
    ]
    lines += [
        "A service or another server, by its address: the best answers, no memory here; a service costs and reads all.",
    ]
    lines += [
        f"The embedded model {local.name}, for trying: {local.quality} answers, free, private;"
        f" {local.size_bytes / 1e9:.1f} GB to fetch, {local.resident_bytes / 1e9:.1f} GB of memory."
        for local in embedded
    ]
    say("\nWhich model is to answer? For real use take a hosted or a larger one.")
    if not embedded:
        say(f"This machine has {memory_of_machine() / 1e9:.1f} GB of memory: too little for an embedded model.")
    for number, line in enumerate(lines, 1):
        say(f"  {number}  {line}")
    number = ask_number("Number", len(lines))
    if number <= len(servers):
        server = servers[number - 1]
        return Endpoint(server.base_url, NO_KEY), ask_one_of("Model", list(server.models))
    if number == len(servers) + 1:
        return _elsewhere()
    return embedded[number - len(servers) - 2]


def memory_of_machine() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def that_fit(catalogue: ModelCatalogue, memory: int) -> list[LocalModel]:
    """The embedded models that so many bytes of memory can hold beside a system and the bot, the best first."""
    left = memory - FOR_THE_REST
    return [local for local in catalogue.local_models if local.resident_bytes <= left and local.quality != TOY]


def _elsewhere() -> Chosen:
    """An endpoint by its address, with the model that it offers there."""
    url = ask_url("Base URL, such as localhost:1234 (empty: OpenAI's own)") or None
    key = ask_secret("API key (not shown; empty: none)" if url else "API key of OpenAI (not shown)")
    while not key and url is None:
        key = ask_secret("OpenAI needs a key: API key (not shown)")
    endpoint = Endpoint(url, key or NO_KEY)
    names = asyncio.run(listed_models(endpoint))
    if not names and url is not None and not urlsplit(url).path:
        # most servers have their API under /v1, and most people leave that away
        below = Endpoint(f"{url}/v1", endpoint.api_key)
        names = asyncio.run(listed_models(below))
        endpoint = below if names else endpoint
    if names:
        say(f"There, at {endpoint.address if endpoint.base_url else 'OpenAI'}:")
    return endpoint, ask_one_of("Model", names or [])


def _answers(chosen: Chosen, settings: Settings) -> bool:
    """Whether the model says something; otherwise the person is told why not."""
    endpoint, model = chosen

    async def check() -> ModelWindow:
        database = await Database.open(settings.database_file)
        try:
            store, asks = EndpointStore(database, system_clock), settings.llm_context_tokens is None
            assumed = load_catalogue().window(model)
            return (await probe(endpoint, model, assumed, settings.llm_timeout, store, asks=asks)).window
        finally:
            await database.close()

    try:
        window = asyncio.run(check())
    except (ModelError, StoreError) as error:
        say(str(error))
        return False
    say(f"The model {model} answers; it reads {window.max_input_tokens:,} tokens.")
    return True
