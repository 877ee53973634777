"""The importer of files, for commands that open only the memory."""

from __future__ import annotations

from bot.feature import find_importer
from bot.features.registry import load_features
from bot.services import MemoryServices
from memory.transfer.file_importer import FileImporter


def find_installed_importer(memory: MemoryServices) -> FileImporter | None:
    return find_importer(load_features()[0], memory)
