"""Creates the jobs that learn from conversations: compaction and consolidation."""

from __future__ import annotations

from dataclasses import dataclass

from bot.jobs.background import BackgroundConsolidation
from bot.kernel import Kernel
from bot.models import ModelSetup
from config.settings import Settings
from memory.clock import Clock
from memory.consolidation.compression import Compression
from memory.consolidation.consolidation import ConsolidationService
from memory.consolidation.extractor import Extractor
from memory.consolidation.fact_writer import FactWriter
from memory.facts.checker import FactChecker
from memory.facts.second_look import SecondLook
from memory.log.compaction import CompactionLimits, CompactionService
from pipeline.models.memory_prompts import ModelConsolidator, ModelSummarizer


@dataclass(frozen=True, slots=True)
class LearningJobs:
    compaction: CompactionService
    consolidation: BackgroundConsolidation


def create_checker(setup: ModelSetup, clock: Clock) -> FactChecker:
    return FactChecker(SecondLook(ModelConsolidator(setup.model, clock), setup.abilities.is_reliable))


def create_learning_jobs(kernel: Kernel) -> LearningJobs:
    settings, memory, setup, clock = kernel.settings, kernel.memory, kernel.setup, kernel.clock
    ask = ModelConsolidator(setup.model, clock)
    consolidation = ConsolidationService(
        memory.database,
        memory.sessions,
        Extractor(ask, setup.abilities, memory.facts, memory.counter, clock, memory.zone_of, memory.find_candidates),
        kernel.checker,
        FactWriter(memory.ledger, memory.facts, memory.view),
        Compression(ModelConsolidator(setup.model, clock, json=False), memory.ledger, settings.memory_max_size, clock),
        memory.history,
        clock,
        settings.consolidation_timeout,
        settings.memory_enabled,
    )
    return LearningJobs(
        CompactionService(
            memory.sessions,
            memory.entries,
            ModelSummarizer(setup.model, clock),
            _create_limits(settings),
            memory.counter,
            clock,
        ),
        BackgroundConsolidation(
            consolidation, memory.notices, kernel.languages, setup.quiet, memory.jobs, kernel.tasks
        ),
    )


def _create_limits(settings: Settings) -> CompactionLimits:
    return CompactionLimits(
        settings.compaction_max_context_tokens,
        settings.compaction_keep_last_messages,
        settings.memory_window,
        enabled=settings.compaction_enabled,
    )
