"""Tests of /model: a chat chooses its model, and everything that depends on the model follows."""

from __future__ import annotations

import pytest

from memory.log.sessions import Address
from tests.conftest import OpenApp
from tests.support.bot_api.files import create_photo
from tests.support.bot_api.server import BotApiServer
from tests.support.fakes import Person
from tests.support.features import needs_feature
from tests.support.figures import parse_figures
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Fails, Reply, Says
from tests.support.serving import ANN, GROUP, STRANGER, Serve, list_labels, list_texts, press

MODELS = "gpt-4o-mini,gpt-4,scripted"


def list_requested_models(model: ModelServer) -> list[str]:
    """Return the models that the turns used."""
    return [chat.body["model"] for chat in model.requests]


async def test_model_command_lists_windows_and_prices(start: OpenApp) -> None:
    async with start(llm_models=MODELS) as app:
        said = (await Person(app).says("/model")).splitlines()
    assert said == [
        "This chat uses **scripted**.",
        "",
        "- ✓ **scripted** reads 32,768 tokens; I don't know its price.",
        "- **gpt-4o-mini** reads 128,000 tokens; a million tokens cost $0.15 to read and $0.60 to write.",
        "- **gpt-4** reads 8,192 tokens; a million tokens cost $30.00 to read and $60.00 to write.",
        "",
        "`/model NAME` chooses another one for this chat, and `/model default` goes back to scripted.",
    ]


async def test_model_command_without_alternatives_names_the_setting(start: OpenApp) -> None:
    async with start() as app:
        said = await Person(app).says("/model")
    assert said.endswith("There is no other model to choose. The setting for this is LLM_MODELS.")


async def test_chosen_model_is_used_until_reset(start: OpenApp, model: ModelServer) -> None:
    async with start(llm_models=MODELS) as app:
        ann, bob = Person(app), Person(app, Address("telegram", "7"))
        assert "This chat uses **gpt-4o-mini**." in await ann.says("/model GPT-4o-Mini")
        await ann.says("Hello")
        await bob.says("Hello")
        assert list_requested_models(model) == ["gpt-4o-mini", "scripted"]
        assert parse_figures(await ann.says("/status"))["Context"]["model"] == "gpt-4o-mini"
        assert parse_figures(await bob.says("/status"))["Context"]["model"] == "scripted"
    async with start(llm_models=MODELS) as app:
        ann = Person(app)
        await ann.says("Still there?")
        assert "This chat uses **scripted**." in await ann.says("/model default")
        await ann.says("And now?")
    assert list_requested_models(model)[2:] == ["gpt-4o-mini", "scripted"]


async def test_group_topics_share_the_chosen_model(start: OpenApp, model: ModelServer) -> None:
    async with start(llm_models=MODELS) as app:
        await Person(app, Address("telegram", "-100", "5")).says("/model gpt-4o-mini")
        await Person(app, Address("telegram", "-100", "6")).says("Hello")
    assert list_requested_models(model) == ["gpt-4o-mini"]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [("mini", "gpt-4o-mini"), ("gpt-4", "gpt-4"), ("4o", "gpt-4o-mini"), ("gpt", None), ("claude", None)],
)
async def test_unambiguous_part_of_a_model_name_is_accepted(start: OpenApp, wanted: str, found: str | None) -> None:
    async with start(llm_models=MODELS) as app:
        said = await Person(app).says(f"/model {wanted}")
    if found is None:
        assert said == "I don't know which model you mean: choose one of `scripted`, `gpt-4o-mini`, `gpt-4`."
    else:
        assert said.startswith(f"This chat uses **{found}**.")


async def test_window_and_price_follow_the_chosen_model(start: OpenApp, model: ModelServer) -> None:
    async with start(llm_models=MODELS) as app:
        person = Person(app)
        await person.says("/model gpt-4")
        await person.says("word " * 10_000)
        assert model.requests[-1].tokens < 8_192
        shown = parse_figures(await person.says("/status"))
        assert shown["Context"]["tokens"].endswith(" of 8,192")
        assert "about $" in shown["Today, in all chats"]["cost"]
        await person.says("/model default")
        assert parse_figures(await person.says("/status"))["Context"]["tokens"].endswith(" of 32,768")
        await person.says("word " * 10_000)
        assert model.requests[-1].tokens > 8_192


async def test_summaries_use_the_fast_default_model(start: OpenApp, model: ModelServer) -> None:
    async with start(llm_models=MODELS, llm_fast_model="quick") as app:
        person = Person(app)
        await person.says("/model gpt-4o-mini")
        for n in range(3):
            await person.says(f"message {n}")
        model.script(Says("A summary."))
        await person.says("/compact 1")
    assert list_requested_models(model) == ["gpt-4o-mini"] * 3 + ["quick"]


async def test_chosen_model_that_fails_uses_the_fallback(start: OpenApp, model: ModelServer) -> None:
    def answer(name: str) -> Reply:
        return Says("I stand in.") if name == "spare" else Fails(400)

    model.otherwise = lambda chat: answer(chat.body["model"])
    async with start(llm_models=MODELS, llm_fallback_model="spare") as app:
        person = Person(app)
        await person.says("/model gpt-4o-mini")
        assert await person.says("Hello") == "I stand in."
    assert set(list_requested_models(model)) == {"gpt-4o-mini", "spare"}


async def test_chosen_model_missing_from_settings_is_reported_once(start: OpenApp, model: ModelServer) -> None:
    async with start(llm_models=MODELS) as app:
        await Person(app).says("/model gpt-4")
    gone = "_The model gpt-4, which was chosen here, is no longer available: I'm using scripted again._"
    async with start(llm_models="gpt-4o-mini") as app:
        person = Person(app)
        assert parse_figures(await person.says("/status"))["Context"]["model"] == "scripted"
        assert await person.says("Hello") == f"You said: Hello\n\n{gone}"
        assert await person.says("Hello again") == "You said: Hello again"
    async with start(llm_models=MODELS) as app:
        await Person(app).says("And now?")
    assert list_requested_models(model) == ["scripted"] * 3


@needs_feature("media")
async def test_photos_follow_the_vision_of_the_chosen_model(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    model.sees = True
    async with serve(llm_model="gpt-4o-mini", llm_models="qwen2.5-coder-1.5b"):
        telegram.user_says("/model qwen", chat_id=ANN)
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 1)
        telegram.user_says(chat_id=ANN, sends=create_photo("sea"), caption="What is this?")
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 2)
        telegram.user_says("/model default", chat_id=ANN)
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 3)
        telegram.user_says(chat_id=ANN, sends=create_photo("hill"), caption="And this?")
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 4)
    assert "The model qwen2.5-coder-1.5b can't see pictures" in list_texts(telegram)[1]
    assert "does not see" not in list_texts(telegram)[3]


async def test_model_button_edits_its_message(serve: Serve, telegram: BotApiServer, model: ModelServer) -> None:
    async with serve(llm_models=MODELS) as app:
        telegram.user_says("/model", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
        assert list_labels(telegram) == ["gpt-4o-mini", "gpt-4", "All settings"]
        press(telegram, "gpt-4o-mini")
        await telegram.wait_for(lambda: "uses gpt-4o-mini" in list_texts(telegram)[0])
        assert len(telegram.list_sent(ANN)) == 1
        await telegram.wait_for(lambda: list_labels(telegram) == ["scripted", "gpt-4", "All settings"])
        telegram.user_says("Hello", chat_id=ANN)
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 2)
        await app.runner.wait_until_idle(f"telegram:{ANN}")
    assert list_requested_models(model) == ["gpt-4o-mini"]


async def test_group_model_is_changed_by_managers_only(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    async with serve(telegram_allowed_ids=f"{ANN},{GROUP}", llm_models=MODELS):
        telegram.user_says("/model gpt-4", chat_id=GROUP, user_id=STRANGER, chat_type="supergroup")
        await telegram.wait_for(lambda: len(telegram.list_sent(GROUP)) == 1)
        telegram.user_says("/model gpt-4o-mini", chat_id=GROUP, user_id=ANN, chat_type="supergroup")
        await telegram.wait_for(lambda: len(telegram.list_sent(GROUP)) == 2)
    assert "only administrators" in list_texts(telegram, GROUP)[0]
    assert "uses gpt-4o-mini" in list_texts(telegram, GROUP)[1]
