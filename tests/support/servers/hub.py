"""A model hub on this machine, as strict as the real one: files are on another host, behind signed addresses."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

SIGNATURE = "X-Signature=abc"


@dataclass
class Hub:
    """The files of the hub, its faults, and a record of its requests.

    Args:
        files: Contents by ``ORG/REPO/PATH``.
        served: Contents that replace the published ones in downloads.
        gated: Repositories that require the token.
        renamed: New names of repositories, by old name.
        breaks_after: Bytes after which each connection of a download breaks.
        etag: The ETag of downloaded files. None if the file host sends no ETag.
        states_size: Whether the headers of a file have its size.
        has_head: Whether the headers of a file can be asked for.
        status: The status of every response to a request for a file or list, or None for the normal response.
        ranges: The ranges of all downloads.
        tokens: The Authorization headers of requests, by host.
    """

    url: str = ""
    files_url: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    served: dict[str, bytes] = field(default_factory=dict)
    gated: set[str] = field(default_factory=set)
    renamed: dict[str, str] = field(default_factory=dict)
    token: str = "hf_right"  # of a server that lives in tests
    breaks_after: int | None = None
    etag: str | None = None
    states_size: bool = True
    has_head: bool = True
    status: int | None = None
    page_size: int = 1000
    ranges: list[str | None] = field(default_factory=list)
    conditions: list[str | None] = field(default_factory=list)
    tokens: dict[str, list[str | None]] = field(default_factory=lambda: {"hub": [], "files": []})


class _Handler(BaseHTTPRequestHandler):
    hub: Hub

    def do_HEAD(self) -> None:
        self.do_GET()

    def answer(self, status: int, headers: dict[str, str] | None = None, body: bytes = b"") -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        raise NotImplementedError


class _HubHandler(_Handler):
    def do_GET(self) -> None:
        hub = self.hub
        hub.tokens["hub"].append(self.headers.get("Authorization"))
        address = urlsplit(self.path)
        file = re.fullmatch(r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", address.path)
        tree = re.fullmatch(r"/api/models/([^/]+/[^/]+)/tree/([^/]+)", address.path)
        asked = file or tree
        if asked is None:
            self.answer(404)
            return
        if (new := hub.renamed.get(asked[1])) is not None:
            self.answer(307, {"Location": self.path.replace(asked[1], new, 1)})
            return
        if hub.status is not None:
            self.answer(hub.status)
        elif not self.may_read(asked[1]):
            pass
        elif file is not None:
            self.redirect(f"{file[1]}/{unquote(file[3])}")
        else:
            self.list_files(asked[1], address.query)

    def may_read(self, repository: str) -> bool:
        authorization = self.headers.get("Authorization")
        if authorization not in (None, f"Bearer {self.hub.token}"):
            self.answer(401, {"X-Error-Message": "Invalid credentials in Authorization header"})
        elif not any(name.startswith(f"{repository}/") for name in self.hub.files):
            code = {"X-Error-Code": "RepoNotFound"}
            self.answer(401 if authorization is None else 404, code)
        elif repository in self.hub.gated and authorization is None:
            self.answer(401, {"X-Error-Code": "GatedRepo"})
        else:
            return True
        return False

    def redirect(self, name: str) -> None:
        if self.command == "HEAD" and not self.hub.has_head:
            self.answer(405)
        elif (content := self.hub.files.get(name)) is None:
            self.answer(404, {"X-Error-Code": "EntryNotFound"})
        else:
            headers = {
                "Location": f"{self.hub.files_url}/{name}?{SIGNATURE}",
                "X-Linked-Etag": f'"{hashlib.sha256(content).hexdigest()}"',
                "X-Repo-Commit": "0" * 40,
            }
            if self.hub.states_size:
                headers["X-Linked-Size"] = str(len(content))
            self.answer(302, headers)

    def list_files(self, repository: str, query: str) -> None:
        entries: list[dict[str, object]] = [{"type": "file", "path": "README.md", "size": 3, "oid": "1" * 40}]
        for name, content in self.hub.files.items():
            if name.startswith(f"{repository}/"):
                lfs = {"oid": hashlib.sha256(content).hexdigest(), "size": len(content), "pointerSize": 134}
                path = name.removeprefix(f"{repository}/")
                entries.append({"type": "file", "path": path, "size": len(content), "oid": "2" * 40, "lfs": lfs})
        cursor = re.search(r"cursor=(\d+)", query)
        start = int(cursor[1]) if cursor else 0
        headers = {"Content-Type": "application/json"}
        if start + self.hub.page_size < len(entries):
            following = f"{self.hub.url}{urlsplit(self.path).path}?recursive=1&cursor={start + self.hub.page_size}"
            headers["Link"] = f'<{following}>; rel="next"'
        self.answer(200, headers, json.dumps(entries[start : start + self.hub.page_size]).encode())


class _FilesHandler(_Handler):
    def do_GET(self) -> None:
        hub, address = self.hub, urlsplit(self.path)
        hub.tokens["files"].append(self.headers.get("Authorization"))
        name = address.path.removeprefix("/")
        if address.query != SIGNATURE or self.headers.get("Authorization") is not None:
            self.answer(400)  # as stores do that are shown two kinds of credentials
            return
        content = hub.served.get(name, hub.files.get(name, b""))
        wanted, condition = self.headers.get("Range"), self.headers.get("If-Range")
        hub.ranges.append(wanted)
        hub.conditions.append(condition)
        start = int(re.findall(r"\d+", wanted)[0]) if wanted and condition in (None, hub.etag) else None
        if start is not None and start >= len(content):
            self.answer(416, {"Content-Range": f"bytes */{len(content)}"})
            return
        self.send_response(200 if start is None else 206)
        if hub.etag is not None:
            self.send_header("ETag", hub.etag)
        if start is not None:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        self.send_header("Content-Length", str(len(content) - (start or 0)))
        self.end_headers()
        self.wfile.write(content[start or 0 :][: hub.breaks_after])


@contextlib.contextmanager
def serve_hub() -> Iterator[Hub]:
    """Run a hub and its file host on two ports of this machine."""
    hub = Hub()
    with contextlib.ExitStack() as stack:
        urls = []
        for base in (_HubHandler, _FilesHandler):
            handler = type(base.__name__, (base,), {"hub": hub})
            server = stack.enter_context(ThreadingHTTPServer(("127.0.0.1", 0), handler))
            thread = threading.Thread(target=server.serve_forever, daemon=True)
            thread.start()
            stack.callback(thread.join)
            stack.callback(server.shutdown)
            urls.append(f"http://127.0.0.1:{server.server_port}")
        hub.url, hub.files_url = urls
        yield hub
