"""Parsing of names and URLs of files on the Hugging Face hub."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import quote, unquote, urlsplit

from config.errors import ConfigurationError

HUB = "https://huggingface.co"
HUB_FOLDER = "hub"
"""The subfolder of the local models for files of the hub, as ORG/REPO/FILE."""

_HUB_HOSTS = frozenset(("huggingface.co", "www.huggingface.co", "hf.co"))
_PART = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,94}[A-Za-z0-9_-])?")
_FILE_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+-]{0,199}")
_REVISION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,99}")
_SPLIT_FILE = re.compile(r"-\d{5}-of-\d{5}\.gguf$", re.IGNORECASE)
_MAX_FOLDERS = 4


class HubNameError(ConfigurationError):
    """Raised if a text doesn't name a file of the hub that can be downloaded. The message is for the user."""


def get_hub_endpoint() -> str:
    """Return the URL of the hub, or of the mirror in HF_ENDPOINT. Raises HubNameError."""
    address = os.environ.get("HF_ENDPOINT", "").strip().rstrip("/") or HUB
    try:
        parts = urlsplit(address)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        usable = False
    if not usable:
        raise HubNameError("HF_ENDPOINT is no address of a hub: set one such as https://huggingface.co, or unset it.")
    return address


@dataclass(frozen=True, slots=True)
class HubFile:
    """A file in a repository of the hub. `path` may contain folders."""

    repository: str
    path: str
    revision: str = "main"

    @property
    def name(self) -> str:
        return f"{self.repository}/{self.path}"

    @property
    def location(self) -> PurePosixPath:
        return PurePosixPath(HUB_FOLDER, self.repository, self.path)

    @property
    def page(self) -> str:
        return f"{get_hub_endpoint()}/{self.repository}"

    @property
    def url(self) -> str:
        return f"{self.page}/resolve/{quote(self.revision, safe='')}/{quote(self.path)}"

    @property
    def tree_url(self) -> str:
        return f"{get_hub_endpoint()}/api/models/{self.repository}/tree/{quote(self.revision, safe='')}?recursive=1"


def parse_hub_file(text: str) -> HubFile:
    """Parse `ORG/REPO/FILE.gguf`, with or without `hf.co/` in front, or a URL of the hub. Raises HubNameError."""
    pieces = _split_name(text.strip())
    if len(pieces) < 3 or not all(_PART.fullmatch(piece) for piece in pieces[:2]):
        raise HubNameError(f"{text!r} names no file of the Hugging Face hub: give ORG/REPO/FILE.gguf.")
    organisation, repository, *path = pieces
    revision = "main"
    if len(path) >= 3 and path[0] in ("resolve", "blob"):
        revision, path = unquote(path[1]), path[2:]
    if not _REVISION.fullmatch(revision) or ".." in revision:
        raise HubNameError(f"{text!r} names no revision of a repository: give ORG/REPO/FILE.gguf.")
    if len(path) > _MAX_FOLDERS or not all(_FILE_PART.fullmatch(piece) for piece in path):
        raise HubNameError(f"{text!r} names no file of the Hugging Face hub: give ORG/REPO/FILE.gguf.")
    if not path[-1].lower().endswith(".gguf"):
        raise HubNameError(f"{path[-1]} is no GGUF file, and the engine reads no other: give ORG/REPO/FILE.gguf.")
    if _SPLIT_FILE.search(path[-1]):
        raise HubNameError(f"{path[-1]} is one part of a split model: choose a quantization in a single file.")
    return HubFile(f"{organisation}/{repository}", "/".join(path), revision)


def is_hub_name(text: str) -> bool:
    """Return True if the text names a file of the hub, such as `ORG/REPO/FILE.gguf`."""
    try:
        parse_hub_file(text)
    except HubNameError:
        return False
    return True


def _split_name(text: str) -> list[str]:
    scheme, separator, rest = text.partition("://")
    if not separator:
        rest = text
        if text.partition("/")[0].lower() in _HUB_HOSTS:
            rest = text.partition("/")[2]
        return rest.split("/")
    try:
        address = urlsplit(text)
        host = address.netloc.rpartition("@")[2].lower()
    except ValueError:
        host = ""
    if scheme.lower() not in ("http", "https") or host not in {
        *_HUB_HOSTS,
        urlsplit(get_hub_endpoint()).netloc.lower(),
    }:
        raise HubNameError(
            f"{text!r} is not on the Hugging Face hub, which alone states the hash of its files: download it yourself "
            "and set LLM_MODEL to the path of the file."
        )
    base = urlsplit(get_hub_endpoint()).path if host == urlsplit(get_hub_endpoint()).netloc.lower() else ""
    return [unquote(piece) for piece in address.path.removeprefix(base).strip("/").split("/")]
