"""Access to the features: which are installed, and the opened ones of a running App."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import pytest

from bot.features.registry import FEATURES
from bot.kernel import App

if TYPE_CHECKING:  # A test must be able to import this module if a feature is deleted.
    from bot.features.capture.job import CaptureJudging
    from bot.features.imports.importing import ForeignImport
    from bot.features.imports.job import BackgroundImportLearning
    from bot.features.mcp_tools.tools import McpTools
    from bot.features.reminders.feature import RemindersFeature
    from bot.features.tidying.job import WeeklySchedule
    from bot.features.tidying.tidying import WeeklyConsolidation
    from bot.features.vectors.job import BackgroundEmbedding

Opened = TypeVar("Opened")
INSTALLED = frozenset(feature.name for feature in FEATURES)
OWN = (
    *("capture", "guest", "voice", "rich", "persona", "imports", "skills", "mcp_tools", "web_tools"),
    *("tidying", "lightrag", "mcp_server", "page", "metrics"),
    *("local_model", "vectors", "reminders", "media", "replica"),
)
"""The features of this repository, of which a copy may have deleted some."""


def needs_feature(*names: str) -> pytest.MarkDecorator:
    """Return a mark that skips tests if one of these features is not part of this program."""
    missing = sorted(set(names) - INSTALLED)
    return pytest.mark.skipif(bool(missing), reason=f"needs the feature {', '.join(missing)}")


whole_program = needs_feature(*OWN)
"""Skips tests of what all features have together, such as the texts or the documents."""


def find_feature(app: App, kind: type[Opened]) -> Opened:
    """Return the feature of that class. It must be on."""
    return next(feature for feature in app.features if isinstance(feature, kind))


def find_capture(app: App) -> CaptureJudging:
    from bot.features.capture.feature import CaptureFeature

    return find_feature(app, CaptureFeature).job


async def wait_for_captures(app: App) -> None:
    """Wait until a model has judged what was captured, if that feature is on."""
    if any(getattr(feature, "name", None) == "capture" for feature in app.features):
        await find_capture(app).wait_until_idle()


def find_importer(app: App) -> ForeignImport:
    from bot.features.imports.feature import ImportsFeature

    return find_feature(app, ImportsFeature).create_importer(app.memory)


def find_import_learning(app: App) -> BackgroundImportLearning:
    from bot.features.imports.feature import ImportsFeature

    return find_feature(app, ImportsFeature).learning


def find_mcp_tools(app: App) -> McpTools:
    from bot.features.mcp_tools.feature import McpToolsFeature

    tools = find_feature(app, McpToolsFeature).tools
    assert tools is not None
    return tools


def find_reminders(app: App) -> RemindersFeature:
    from bot.features.reminders.feature import RemindersFeature

    return find_feature(app, RemindersFeature)


def find_tidying(app: App) -> WeeklyConsolidation:
    from bot.features.tidying.feature import TidyingFeature

    return find_feature(app, TidyingFeature).weekly


def find_embedding(app: App) -> BackgroundEmbedding:
    from bot.features.vectors.feature import VectorsFeature

    job = find_feature(app, VectorsFeature).job
    assert job is not None
    return job


def find_weekly_schedule(app: App) -> WeeklySchedule:
    from bot.features.tidying.feature import TidyingFeature

    return find_feature(app, TidyingFeature).schedule
