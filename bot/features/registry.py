"""The list of features. Only the composition root and the command line read it."""

from __future__ import annotations

from bot.feature import Feature
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


def installed_features() -> list[Feature]:
    """Return all features, those of other packages last. Raises ConfigurationError if one can't be loaded."""
    features = [feature() for feature in FEATURES]
    for entry in find_entry_points():
        try:
            features.append(entry.load()())
        except Exception as error:
            package = entry.dist.name if entry.dist is not None else entry.value
            raise ConfigurationError(
                f"The feature {entry.name} of {package} can't be loaded ({type(error).__name__}: {error}): "
                "upgrade or uninstall that package."
            ) from error
    return features
