"""Access to the opened features of a running App."""

from __future__ import annotations

from typing import TypeVar

from bot.features.imports.feature import ImportsFeature
from bot.features.imports.importing import ForeignImport
from bot.features.imports.job import BackgroundImportLearning
from bot.features.mcp_tools.feature import McpToolsFeature
from bot.features.mcp_tools.tools import McpTools
from bot.features.near_dates.dates import NearDates
from bot.features.near_dates.feature import NearDatesFeature
from bot.features.tidying.feature import TidyingFeature
from bot.features.tidying.job import WeeklySchedule
from bot.features.tidying.tidying import WeeklyConsolidation
from bot.kernel import App

Opened = TypeVar("Opened")


def find_feature(app: App, kind: type[Opened]) -> Opened:
    """Return the feature of that class. It must be on."""
    return next(feature for feature in app.features if isinstance(feature, kind))


def find_importer(app: App) -> ForeignImport:
    return find_feature(app, ImportsFeature).create_importer(app.memory)


def find_import_learning(app: App) -> BackgroundImportLearning:
    return find_feature(app, ImportsFeature).learning


def find_mcp_tools(app: App) -> McpTools:
    tools = find_feature(app, McpToolsFeature).tools
    assert tools is not None
    return tools


def find_near_dates(app: App) -> NearDates:
    return find_feature(app, NearDatesFeature).near


def find_tidying(app: App) -> WeeklyConsolidation:
    return find_feature(app, TidyingFeature).weekly


def find_weekly_schedule(app: App) -> WeeklySchedule:
    return find_feature(app, TidyingFeature).schedule
