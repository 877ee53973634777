"""The list of features. Only the composition root and the command line read it."""

from __future__ import annotations

from dataclasses import dataclass

from bot.feature import Feature
from bot.features.capture.feature import CaptureFeature
from bot.features.guest.feature import GuestFeature
from bot.features.imports.feature import ImportsFeature
from bot.features.lightrag.feature import LightRagFeature
from bot.features.local_model.feature import LocalModelFeature
from bot.features.mcp_server.feature import McpServerFeature
from bot.features.mcp_tools.feature import McpToolsFeature
from bot.features.media.feature import MediaFeature
from bot.features.metrics.feature import MetricsFeature
from bot.features.page.feature import PageFeature
from bot.features.persona.feature import PersonaFeature
from bot.features.reminders.feature import RemindersFeature
from bot.features.replica.feature import ReplicaFeature
from bot.features.rich.feature import RichFeature
from bot.features.skills.feature import SkillsFeature
from bot.features.tidying.feature import TidyingFeature
from bot.features.vectors.feature import VectorsFeature
from bot.features.voice.feature import VoiceFeature
from bot.features.web_tools.feature import WebToolsFeature
from config.errors import ConfigurationError
from config.groups import find_entry_points

FEATURES: tuple[type[Feature], ...] = (
    LocalModelFeature,
    VectorsFeature,
    CaptureFeature,
    RemindersFeature,
    MediaFeature,
    GuestFeature,
    VoiceFeature,
    RichFeature,
    PersonaFeature,
    ImportsFeature,
    SkillsFeature,
    McpToolsFeature,
    WebToolsFeature,
    TidyingFeature,
    LightRagFeature,
    McpServerFeature,
    PageFeature,
    ReplicaFeature,
    MetricsFeature,
)
"""The features of this package, in the order in which they are opened and listed."""
REPAIR = "upgrade or uninstall that package."


@dataclass(frozen=True, slots=True)
class BrokenFeature:
    """A feature of another package that can't be loaded, and the reason."""

    name: str
    package: str
    reason: str

    def describe(self) -> str:
        return f"The feature {self.name} of {self.package} can't be loaded ({self.reason}): {REPAIR}"


def installed_features() -> list[Feature]:
    """Return all features, those of other packages last. Raises ConfigurationError if one can't be loaded."""
    features, broken = load_features()
    if broken:
        raise ConfigurationError(broken[0].describe())
    return features


def load_features() -> tuple[list[Feature], list[BrokenFeature]]:
    """Return the features that can be loaded, those of other packages last, and the others."""
    features: list[Feature] = [feature() for feature in FEATURES]
    broken = []
    for entry in find_entry_points():
        try:
            features.append(entry.load()())
        except Exception as error:  # noqa: BLE001  # another package may raise anything
            package = entry.dist.name if entry.dist is not None else entry.value
            broken.append(BrokenFeature(entry.name, package, f"{type(error).__name__}: {error}"))
    return features, broken
