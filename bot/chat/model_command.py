"""The command that chooses who talks: /model."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from bot.chat.commands import Answer, Command, CommandCall, CommandResult, WrongArgument
from bot.chat.settings_command import all_settings
from config.texts import N_, _, dollars, number
from memory.buttons import Button

if TYPE_CHECKING:
    from memory.buttons import Keyboard
    from memory.service.usage import PriceOf
    from pipeline.models.model import ChatModel
    from pipeline.models.routing import ModelChoice

DEFAULT = "default"


class ModelCommand:
    """Shows the models that can talk, and keeps which one does in a chat."""

    def __init__(self, models: ModelChoice, price_of: PriceOf) -> None:
        self._models = models
        self._price_of = price_of

    def commands(self) -> list[Command]:
        """The command."""
        description = N_("See which models there are, and choose who talks here")
        return [Command("model", description, self.model, "[NAME|default]", repeatable=True)]

    async def model(self, call: CommandCall) -> CommandResult:
        """/model [NAME|default]"""
        chat = call.session.address.owner
        if call.argument:
            await self._models.choose(chat, self._named(call.argument))
        present = await self._models.of(chat)
        # where an endpoint says how much its models read
        await asyncio.gather(*(model.get_to_know() for model in self._models.models.values()))
        lines = [_("In this chat I talk with **{model}**.", model=present.name), ""]
        lines += [self._line(model, chosen=model is present) for model in self._models.models.values()]
        lines += ["", self._how()]
        return Answer("\n".join(lines), self._keyboard(present))

    def _named(self, wanted: str) -> str | None:
        """The model that somebody means; None for the usual one. A part of a name will do where it fits one only."""
        if wanted.casefold() == DEFAULT:
            return None
        names = list(self._models.models)
        exact = [name for name in names if name.casefold() == wanted.casefold()]
        fitting = exact or [name for name in names if wanted.casefold() in name.casefold()]
        if len(fitting) != 1:
            known = ", ".join(f"`{name}`" for name in names)
            raise WrongArgument(_("I don't know which model you mean: choose one of {models}.", models=known))
        return fitting[0]

    def _line(self, model: ChatModel, *, chosen: bool) -> str:
        price = self._price_of(model.name)
        window = number(model.window.max_input_tokens)
        if price is None:
            said = _("**{model}** reads {window} tokens; I don't know its price.", model=model.name, window=window)
        elif not price.usual.input and not price.usual.output:
            said = _("**{model}** reads {window} tokens and is free.", model=model.name, window=window)
        else:
            said = _(
                "**{model}** reads {window} tokens; a million cost {input} to read and {output} to write.",
                model=model.name,
                window=window,
                input=dollars(price.usual.input),
                output=dollars(price.usual.output),
            )
        return f"- ✓ {said}" if chosen else f"- {said}"

    def _how(self) -> str:
        if len(self._models.models) == 1:
            return _("There is no other: LLM_MODELS in the settings names those to choose from.")
        return _(
            "`/model NAME` chooses another one for this chat, `/model default` goes back to {usual}.",
            usual=self._models.usual.name,
        )

    def _keyboard(self, present: ChatModel) -> Keyboard:
        others = (model for model in self._models.models.values() if model is not present)
        rows = [(Button(model.name, f"/model {model.name}", in_place=True),) for model in others]
        return (*rows, (all_settings(),))
