"""Creates the pipeline of a turn with its tools and its prompt, each extended by the features."""

from __future__ import annotations

from dataclasses import dataclass
from operator import itemgetter

from bot.feature import Contributions
from bot.jobs.learning import LearningJobs
from bot.kernel import Kernel
from pipeline.media.reading import MediaReader
from pipeline.models.model import ChatModel
from pipeline.order import ORDER
from pipeline.prompt.budget import Budget
from pipeline.prompt.memory_part import MemoryPart
from pipeline.prompt.part import HintsPart, PartOrder, PromptPart, QuotedPart, SharedPart, SummaryPart
from pipeline.prompt.prompts import with_name, without_memory
from pipeline.runner import Pipeline
from pipeline.systems.context_building import AutoCompaction, ContextBuilding, PromptBuilder
from pipeline.systems.input_sanitizing import InputSanitizing
from pipeline.systems.reply_delivery import MemoryPersist, ReplyDelivery
from pipeline.systems.tool_loop import ToolLoop
from pipeline.tools.cited_writes import CitedWrites
from pipeline.tools.entries import (
    episode_tool,
    history_search_tool,
    learn_tool,
    memory_file_tool,
    note_tools,
    procedure_tool,
    stats_tool,
)
from pipeline.tools.memory_recall import memory_recall_tool
from pipeline.tools.toolbox import Tool, Toolbox, TurnLimits
from pipeline.turn import System


@dataclass(frozen=True, slots=True)
class Turns:
    """The pipeline, and the builder of its prompts."""

    pipeline: Pipeline
    builder: PromptBuilder


def create_turns(kernel: Kernel, added: Contributions, jobs: LearningJobs) -> Turns:
    settings, memory, setup, clock = kernel.settings, kernel.memory, kernel.setup, kernel.clock
    enabled = settings.memory_enabled
    style = with_name(setup.style if enabled else without_memory(setup.style), settings.bot_name)

    async def budget(owner: str, talks: ChatModel) -> Budget:
        specs = await toolbox.specs(owner, talks.window)
        return Budget(talks.name, talks.window, memory.counter, style.identity, specs)

    reader = MediaReader(memory.media, kernel.media, budget, added.content_readers, added.files)
    toolbox = _create_toolbox(kernel, added)
    in_order = [part for _, part in sorted((*_create_prompt_parts(kernel), *added.prompt), key=itemgetter(0))]
    builder = PromptBuilder(style, in_order, budget, clock, memory.zone_of)
    limits = TurnLimits(settings.turn_max_model_calls, settings.turn_max_tool_calls, settings.turn_max_seconds)
    systems: list[System] = [
        InputSanitizing(reader, kernel.models, toolbox.wait_until_ready),
        AutoCompaction(memory.sessions, jobs.compaction, jobs.consolidation.mark_compacted),
        ContextBuilding(memory.sessions, builder),
        ToolLoop(toolbox, limits, memory.recall if enabled else None, added.aids, kernel.models, clock),
        ReplyDelivery(memory.turns, memory.notices, clock, notes=enabled),
        MemoryPersist(memory.daily_notes if enabled else None, memory.uses if enabled else None),
        *(system for _, system in added.systems),
    ]
    order = (*ORDER, *(step for step, _ in added.systems))
    return Turns(Pipeline(systems, order=order, observers=added.on_turn, owe=memory.turns.defer), builder)


def _create_prompt_parts(kernel: Kernel) -> list[tuple[int, PromptPart]]:
    memory = kernel.memory
    parts: list[tuple[int, PromptPart]] = [
        (PartOrder.QUOTED, QuotedPart()),
        (PartOrder.SUMMARY, SummaryPart()),
        (PartOrder.HINTS, HintsPart()),
    ]
    if kernel.settings.memory_enabled:
        tokens = kernel.settings.memory_activation_tokens
        remembered = MemoryPart(memory.daily_notes, memory.recall, memory.activation, tokens)
        parts += [(PartOrder.SHARED, SharedPart(memory.sharing)), (PartOrder.MEMORY, remembered)]
    return parts


def _create_toolbox(kernel: Kernel, added: Contributions) -> Toolbox:
    memory, offered = kernel.memory, kernel.setup.tools
    tools: list[Tool] = []
    if kernel.settings.memory_enabled:
        writes = CitedWrites(kernel.checker, memory.entries, memory.zone_of)
        tools += [
            memory_file_tool(memory.long_term, writes),
            *note_tools(memory.entries, writes),
            memory_recall_tool(memory.reading),
            history_search_tool(memory.history),
            learn_tool(memory.learning, memory.facts, memory.entries, writes),
            episode_tool(memory.entries, writes),
            procedure_tool(memory.procedures, memory.entries, writes),
            stats_tool(memory.stats),
        ]
    tools = [tool for tool in (*tools, *added.tools) if offered is None or tool.name in offered]
    return Toolbox(tools, kernel.effects, added.tool_sources)
