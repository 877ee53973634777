"""/tools, and the answers to questions about a tool: /yes, /no, /always and /never."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from bot.commands.command import SETTINGS, Access, Command, CommandCall, WrongArgument, command, tapped_number
from bot.commands.figures import Group
from bot.features.mcp_tools.approval import Answer, Approvals
from bot.features.mcp_tools.tools import McpTools
from config.texts import N_, _, format_number, name_setting, ngettext
from memory.log.sessions import Session
from pipeline.models.routing import ModelChoice

RESET = "reset"

_SAID = {
    Answer.ONCE: N_("I'll run `{tool}` this once."),
    Answer.NOT_NOW: N_("I won't run `{tool}`."),
    Answer.ALWAYS: N_("I'll run `{tool}`, and in this chat always without asking. /tools reset undoes that."),
    Answer.NEVER: N_("I won't run `{tool}`, and in this chat never again. /tools reset undoes that."),
}


@dataclass(frozen=True, slots=True)
class ToolReport:
    tools: McpTools
    models: ModelChoice

    async def groups(self, session: Session) -> list[Group]:
        """Return the part of `/status` about tools. It is empty if no server is configured."""
        if self.tools.config.is_empty:
            return []
        states = self.tools.list_states()
        rows = tuple((state.name, format_number(state.tools)) for state in states if state.trouble is None)
        notes = [f"{state.name}: {state.trouble}" for state in states if state.trouble is not None]
        notes += [_("Servers that are off are retried automatically.")] if self.tools.is_retrying else []
        notes += [str(self.tools.config.trouble)] if self.tools.config.trouble is not None else []
        model = await self.models.get(session.address.owner)
        left_out = self.tools.count - len(self.tools.select_specs(model.window))
        if left_out:
            notes.append(
                name_setting(
                    ngettext(
                        "{n} tool is left out, because its description is too long.",
                        "{n} tools are left out, because their descriptions are too long together.",
                        left_out,
                    ),
                    "MCP_TOOL_TOKENS",
                )
            )
        if refused := model.refused_tools():
            notes.append(_("The model's server rejects these tools: {names}.", names=", ".join(sorted(refused))))
        return [Group(_("Tools from other programs"), rows, notes=tuple(notes))]


_answering = partial(Command, immediate=True, repeatable=True, listed=False)


class ToolCommands:
    heading: ClassVar = SETTINGS

    def __init__(self, approvals: Approvals, report: ToolReport) -> None:
        self._approvals = approvals
        self._report = report

    @command(
        "tools",
        N_("Show tools from other programs, and which may run without asking"),
        "[reset]",
        access=Access.MANAGERS,
    )
    async def tools(self, call: CommandCall) -> str:
        chat = call.session.address.owner
        if call.argument == RESET:
            await self._approvals.forget_answers(chat)
            return _("From now on I'll ask again before I run a tool that changes something.")
        if call.argument:
            raise WrongArgument(_("/tools shows the tools, and after /tools reset I ask again before I run them."))
        settled = await self._approvals.get_answers(chat)
        lines = [
            _("- `{tool}`: always", tool=tool) if answer is Answer.ALWAYS else _("- `{tool}`: never", tool=tool)
            for tool, answer in settled.items()
        ]
        groups = [str(group) for group in await self._report.groups(call.session)]
        asks = [_("I ask before I run a tool, unless it is marked as read-only.")]
        known = ["\n".join([_("Your choices in this chat, until /tools reset:"), *lines])] if lines else []
        return "\n\n".join([*groups, *asks, *known])

    @_answering("yes", N_("Run the tool once"))
    async def yes(self, call: CommandCall) -> str:
        return self._answer(call, Answer.ONCE)

    @_answering("no", N_("Don't run the tool"))
    async def no(self, call: CommandCall) -> str:
        return self._answer(call, Answer.NOT_NOW)

    @_answering("always", N_("Always run the tool in this chat"), access=Access.MANAGERS)
    async def always(self, call: CommandCall) -> str:
        return self._answer(call, Answer.ALWAYS)

    @_answering("never", N_("Never run the tool in this chat"), access=Access.MANAGERS)
    async def never(self, call: CommandCall) -> str:
        return self._answer(call, Answer.NEVER)

    def _answer(self, call: CommandCall, answer: Answer) -> str:
        asked = tapped_number(call) if call.argument else None
        tool = self._approvals.answer(call.session.id, call.asker, asked, answer)
        if tool is None:
            return _("I'm no longer waiting for an answer to that.")
        return _(_SAID[answer], tool=tool)
