"""The importer of files, for commands that open only the memory."""

from __future__ import annotations

from bot.feature import find_importer
from bot.features.registry import installed_features
from bot.services import MemoryServices
from memory.transfer.file_importer import FileImporter


def find_installed_importer(memory: MemoryServices) -> FileImporter | None:
    return find_importer(installed_features(), memory)
