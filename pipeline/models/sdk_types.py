"""Delays the import of the OpenAI SDK's types until they are used.

`import openai` imports some five hundred modules, of which three hundred describe APIs that Mneme doesn't call. They
take 9 MB and a third of the CPU time of a one-off command.
"""

from __future__ import annotations

import functools
import importlib
import re
import sys
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

PACKAGES = ("openai.types", "openai.types.responses", "openai.types.chat")
_IMPORT = re.compile(r"^from \.(\w+) import (\([^)]*\)|.+)", re.MULTILINE)
_NAME = re.compile(r"(\w+)(?:,|\s*\)|$)", re.MULTILINE)


class _DelayedPackage(ModuleType):
    """A package that imports the module of a name when the name is used.

    If the package doesn't say where a name comes from, the whole package is imported, as usual.
    """

    def __getattr__(self, name: str) -> object:
        spec = self.__spec__
        if spec is None or spec.loader is None or spec.origin is None or name.startswith("__"):
            raise AttributeError(name)
        importlib.import_module("openai")  # A program may use a type first.
        file = Path(spec.origin)
        found = read_origins(file).get(name)
        if found is not None:
            value: object = getattr(importlib.import_module(f"{spec.name}.{found}"), name)
            setattr(self, name, value)
            return value
        if (file.parent / f"{name}.py").exists() or (file.parent / name).is_dir():
            return importlib.import_module(f"{spec.name}.{name}")
        self.__class__ = ModuleType  # type: ignore[assignment]  # Ends the delay.
        spec.loader.exec_module(self)
        return getattr(self, name)


@functools.cache
def read_origins(file: Path) -> dict[str, str]:
    """Return the module of each name that the file of a package imports from its own modules."""
    imports = _IMPORT.findall(file.read_text(encoding="utf-8"))
    return {name: module for module, names in imports for name in _NAME.findall(names)}


def delay_sdk_types() -> None:
    """Let later imports of the SDK skip its types. Call this before anything imports it."""
    if "openai" in sys.modules:
        return
    top = find_spec("openai")
    if top is None or top.origin is None:
        return
    for name in PACKAGES:
        folder = Path(top.origin).parent.joinpath(*name.split(".")[1:])
        spec = spec_from_file_location(name, folder / "__init__.py", submodule_search_locations=[str(folder)])
        if spec is not None:
            sys.modules[name] = _create_package(spec)


def _create_package(spec: ModuleSpec) -> ModuleType:
    module = module_from_spec(spec)
    module.__class__ = _DelayedPackage
    return module
