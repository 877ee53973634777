"""Files at the local Telegram: sending, getFile and download."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from tests.support.bot_api.params import ApiError, JsonObject, create_bad_request

MAX_DOWNLOAD_BYTES = 20 * 1024 * 1024
"""Size of the largest file that bots can download."""
WIDTHS = (90, 320, 800, 1280, 2560)
"""The sizes in which Telegram gives a photo."""
JPEG = b"\xff\xd8\xff\xe0 a picture "


@dataclass(frozen=True, slots=True)
class SentFile:
    """A file that a person sends.

    Attributes:
        kind: The field of the message, such as `document`.
        size: The size in bytes that Telegram reports. None reports the true size.
    """

    kind: str
    content: bytes = JPEG
    name: str | None = None
    mime_type: str | None = None
    size: int | None = None


def create_photo(label: str = "") -> SentFile:
    """Return a photo with distinguishable bytes."""
    return SentFile("photo", JPEG + label.encode())


def create_document(name: str, content: bytes | str, mime_type: str | None = None) -> SentFile:
    """Return a document."""
    return SentFile("document", content.encode() if isinstance(content, str) else content, name, mime_type)


def create_voice(content: bytes = b"OggS spoken words") -> SentFile:
    """Return a voice message."""
    return SentFile("voice", content, mime_type="audio/ogg")


class Files:
    """The files of all chats. A file can be downloaded only after getFile."""

    def __init__(self) -> None:
        self._contents: dict[str, tuple[bytes, int]] = {}
        self._paths: dict[str, bytes] = {}
        self.fetched: list[str] = []

    def build_fields(self, sent: SentFile) -> JsonObject:
        """Return the message fields of the file."""
        if sent.kind == "photo":
            return {"photo": [self._size(sent, width) for width in WIDTHS]}
        known = self._build_file(sent.content, sent.size)
        known |= {"file_name": sent.name} if sent.name is not None else {}
        known |= {"mime_type": sent.mime_type} if sent.mime_type is not None else {}
        if sent.kind in ("voice", "audio", "video_note", "video", "animation"):
            known["duration"] = 7
        if sent.kind in ("video", "animation"):
            known |= {"width": 640, "height": 480}
        if sent.kind == "video_note":
            known["length"] = 240
        # For older bots, Telegram also sends an animation as a document.
        return {sent.kind: known} | ({"document": known} if sent.kind == "animation" else {})

    def get_file(self, params: JsonObject) -> JsonObject:
        """Return the download path of a file."""
        file_id = params.get("file_id")
        if not isinstance(file_id, str) or file_id not in self._contents:
            raise create_bad_request("invalid file_id" if file_id else "file_id not specified")
        content, size = self._contents[file_id]
        if size > MAX_DOWNLOAD_BYTES:
            raise create_bad_request("file is too big")
        path = f"files/{file_id}.bin"
        self._paths[path] = content
        return {"file_id": file_id, "file_unique_id": make_unique_id(content), "file_size": size, "file_path": path}

    def download(self, path: str) -> bytes:
        """Return the bytes at a path that getFile has returned."""
        if path not in self._paths:
            raise ApiError(404, "Not Found")
        self.fetched.append(path)
        return self._paths[path]

    def forget(self) -> None:
        """Delete all files."""
        self._contents.clear()
        self._paths.clear()

    def _size(self, sent: SentFile, width: int) -> JsonObject:
        shown = self._build_file(sent.content + f" {width} wide".encode(), sent.size)
        return shown | {"width": width, "height": width * 3 // 4}

    def _build_file(self, content: bytes, size: int | None) -> JsonObject:
        file_id = f"AgACAgIAAx-{len(self._contents)}-{make_unique_id(content)}"  # another one each time it is sent
        self._contents[file_id] = (content, len(content) if size is None else size)
        return {
            "file_id": file_id,
            "file_unique_id": make_unique_id(content),
            "file_size": self._contents[file_id][1],
        }


def make_unique_id(content: bytes) -> str:
    """Return the unique id of a file, which is equal for repeated sending."""
    return f"AQAD{hashlib.sha256(content).hexdigest()[:12]}"
