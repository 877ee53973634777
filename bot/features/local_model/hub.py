"""A client for files of the Hugging Face hub: their hashes, and resumable downloads.

The hub redirects downloads to another host, which must not get the token. An interrupted download requests the rest
only if the file has not changed.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import httpx
from pydantic import BaseModel, TypeAdapter, ValidationError

from config.hub_files import HUB, HubFile, get_hub_endpoint

MAX_TREE_BYTES = 8_000_000
"""Maximum size of a list of files. Even the lists of repositories with thousands of files are shorter."""
MAX_HOPS = 5
MAX_NAMED_FILES = 8
_CONNECT_SECONDS = 5.0
_READ_SECONDS = 30.0
_CHUNK_BYTES = 256 * 1024
_SHA256 = re.compile(r"[0-9a-f]{64}")
_CONTENT_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")

OnBytes = Callable[[int], None]
"""Called with the number of bytes downloaded so far."""


class HubError(Exception):
    """Raised with a reason such as "it cannot be reached", and a remedy for the user."""

    def __init__(self, reason: str, remedy: str = "try again later") -> None:
        super().__init__(reason)
        self.remedy = remedy


class _RangeRefused(Exception):
    """Raised if the file is shorter than the downloaded part, so the part is invalid."""


@dataclass(frozen=True, slots=True)
class HubStatement:
    sha256: str
    size_bytes: int


class _Lfs(BaseModel):
    oid: str
    size: int


class _TreeEntry(BaseModel):
    path: str
    lfs: _Lfs | None = None


_TREE = TypeAdapter(list[_TreeEntry])


def fetch_statement(file: HubFile) -> HubStatement:
    """Ask the hub for the hash and the size of a file. Raises HubError."""
    with _errors_as_reasons(), _create_client() as client:
        response = _request_head(client, file.url)
        oid = response.headers.get("X-Linked-Etag", "").removeprefix("W/").strip('"').lower()
        size = response.headers.get("X-Linked-Size", "")
        if response.status_code < 400 and _SHA256.fullmatch(oid):
            return HubStatement(oid, int(size) if size.isdecimal() else _request_length(client, file.url))
        if response.status_code in (401, 403):
            raise _explain_denial(file, response)
        entries = _fetch_tree(client, file)
        entry = next((entry for entry in entries if entry.path == file.path), None)
        if entry is None:
            raise _explain_missing(file, entries)
        oid = "" if entry.lfs is None else entry.lfs.oid.removeprefix("sha256:")
        if entry.lfs is None or not _SHA256.fullmatch(oid):
            raise HubError("it states no SHA-256 for this file", "choose a file of another repository")
        return HubStatement(oid, entry.lfs.size)


def fetch(url: str, part: Path, size_bytes: int, report: OnBytes) -> None:
    """Fetch a whole file into `part`, continuing at its end. Raises HubError."""
    with _errors_as_reasons(), _create_client() as client:
        while (have := _get_size(part)) != size_bytes:
            if have > size_bytes:
                discard(part)
                have = 0
            broken: httpx.TransportError | None = None
            try:
                _fetch_rest(client, url, part, have, size_bytes, report)
            except _RangeRefused:
                discard(part)
                continue
            except httpx.TransportError as error:
                broken = error
            # Reconnect as long as each attempt makes progress.
            if _get_size(part) <= have:
                raise broken or HubError(f"its file ends after {_get_size(part)} of {size_bytes} bytes")


def discard(part: Path) -> None:
    for path in (part, _get_etag_file(part)):
        path.unlink(missing_ok=True)


def replace_hub_host(url: str) -> str:
    """Move a hub URL to the host in HF_ENDPOINT. Other URLs are returned unchanged."""
    return f"{get_hub_endpoint()}{url.removeprefix(HUB)}" if url.startswith(f"{HUB}/") else url


@contextlib.contextmanager
def _errors_as_reasons() -> Iterator[None]:
    try:
        yield
    except httpx.TransportError as error:
        reason = f"it cannot be reached ({str(error) or type(error).__name__})"
        raise HubError(reason, "check the network, HTTPS_PROXY and HF_ENDPOINT, then try again") from error
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise HubError(f"it failed ({error})") from error


def _create_client() -> httpx.Client:
    timeout = httpx.Timeout(_READ_SECONDS, connect=_CONNECT_SECONDS)
    try:
        return httpx.Client(timeout=timeout)
    except (ValueError, ImportError, OSError) as error:
        # httpx reads these variables, but its messages are for programmers.
        remedy = "correct HTTPS_PROXY, ALL_PROXY, NO_PROXY and SSL_CERT_FILE, or unset them"
        raise HubError(f"the network settings of the environment are wrong ({error})", remedy) from error


def _build_headers(url: str) -> dict[str, str]:
    """Return the headers of a request. Only the hub itself gets the token."""
    # Compression would change the bytes that the hash and the range refer to.
    headers = {"Accept-Encoding": "identity"}
    token = os.environ.get("HF_TOKEN", "").strip()
    if token and _get_origin(url) == _get_origin(get_hub_endpoint()):
        if not (token.isascii() and token.isprintable() and " " not in token):
            raise HubError("HF_TOKEN isn't a token", "copy it again from the settings of your account, or unset it")
        headers["Authorization"] = f"Bearer {token}"
    return headers


def _get_origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc.lower()


def _request_head(client: httpx.Client, url: str) -> httpx.Response:
    """Request the headers of a file. Follow redirects within the hub, such as those of a renamed repository."""
    for _ in range(MAX_HOPS):
        response = client.head(url, headers=_build_headers(url))
        target = urljoin(url, response.headers.get("Location", ""))
        if not response.has_redirect_location or "X-Linked-Etag" in response.headers:
            return response
        if _get_origin(target) != _get_origin(url):
            return response
        url = target
    raise HubError("it redirects in a circle")


def _request_length(client: httpx.Client, url: str) -> int:
    with client.stream("GET", url, headers=_build_headers(url), follow_redirects=True) as response:
        length = response.headers.get("Content-Length", "")
        if response.status_code != 200 or not length.isdecimal():
            raise HubError("it does not state the size of the file")
        return int(length)


def _fetch_tree(client: httpx.Client, file: HubFile) -> list[_TreeEntry]:
    url, entries, read = file.tree_url, list[_TreeEntry](), 0
    for _ in range(MAX_HOPS):
        with client.stream("GET", url, headers=_build_headers(url)) as response:
            if response.has_redirect_location and _get_origin(target := urljoin(url, response.headers["Location"])) == (
                _get_origin(url)
            ):
                url = target
                continue
            if response.status_code in (401, 403):
                raise _explain_denial(file, response)
            if response.status_code == 404:
                raise HubError(f"it has no {file.repository}", f"check the name at {get_hub_endpoint()}")
            if response.status_code != 200:
                raise _explain_refusal(response)
            content = bytearray()
            for chunk in response.iter_bytes(_CHUNK_BYTES):
                content += chunk
                read += len(chunk)
                if read > MAX_TREE_BYTES:
                    raise HubError("its list of files is too long", "choose a file of another repository")
        try:
            entries += _TREE.validate_json(bytes(content))
        except ValidationError as error:
            raise HubError("its list of files can't be read", "check HF_ENDPOINT, or try again later") from error
        following = response.links.get("next", {}).get("url")
        if following is None or _get_origin(urljoin(url, following)) != _get_origin(url):
            break
        url = urljoin(url, following)
    return entries


def _explain_denial(file: HubFile, response: httpx.Response) -> HubError:
    """Explain a 401 or 403. The hub sends these for gated, private and unknown repositories."""
    code = response.headers.get("X-Error-Code", "")
    has_token = bool(os.environ.get("HF_TOKEN", "").strip())
    if code == "GatedRepo" or response.status_code == 403:
        then = "the account of HF_TOKEN has no access yet" if has_token else "a token is needed"
        return HubError(
            f"{file.repository} is gated and {then}",
            f"accept its terms at {file.page}, and set HF_TOKEN to a token of that account",
        )
    if code == "RepoNotFound" or not has_token:
        return HubError(
            f"{file.repository} is private or does not exist",
            "check the name, or set HF_TOKEN if it is private or gated",
        )
    return HubError(
        "it does not accept HF_TOKEN", "copy the token again from the settings of your account, or unset it"
    )


def _explain_missing(file: HubFile, entries: list[_TreeEntry]) -> HubError:
    gguf_files = [entry.path for entry in entries if entry.path.lower().endswith(".gguf")]
    if not gguf_files:
        return HubError(f"{file.repository} has no GGUF file", "choose another repository")
    named = ", ".join(gguf_files[:MAX_NAMED_FILES])
    rest = f" and {len(gguf_files) - MAX_NAMED_FILES} more" if gguf_files[MAX_NAMED_FILES:] else ""
    return HubError(f"{file.repository} has no {file.path}", f"choose one of {named}{rest}")


def _explain_refusal(response: httpx.Response) -> HubError:
    return HubError(f"it answers with status {response.status_code}")


def _fetch_rest(client: httpx.Client, url: str, part: Path, have: int, size_bytes: int, report: OnBytes) -> None:
    headers, etag_file = _build_headers(url), _get_etag_file(part)
    if have:
        headers["Range"] = f"bytes={have}-"
        with contextlib.suppress(OSError, UnicodeDecodeError):
            headers["If-Range"] = etag_file.read_text(encoding="ascii")
    # httpx removes the token before it follows a redirect to another host.
    with client.stream("GET", url, headers=headers, follow_redirects=True) as response:
        if response.status_code == 416 and have:
            raise _RangeRefused
        if response.status_code not in (200, 206):
            raise _explain_refusal(response)
        # The server sends the whole file if it ignores ranges or the file has changed.
        if response.status_code == 200:
            have = 0
        _check_range(response, have, size_bytes)
        _store_etag(etag_file, response.headers.get("ETag", ""))
        with part.open("r+b" if have else "wb") as file:
            file.seek(have)
            for chunk in response.iter_bytes(_CHUNK_BYTES):
                file.write(chunk)
                report(file.tell())
                if file.tell() > size_bytes:
                    raise HubError(f"its file has more than {size_bytes} bytes")


def _check_range(response: httpx.Response, have: int, size_bytes: int) -> None:
    coming = response.headers.get("Content-Length", "")
    if coming.isdecimal() and have + int(coming) != size_bytes:
        raise HubError(f"its file has {have + int(coming)} bytes instead of {size_bytes}")
    sent = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", ""))
    if sent is not None and (int(sent[1]) != have or sent[2] not in ("*", str(size_bytes))):
        raise HubError("it sends another part of the file than the one asked for")


def _store_etag(etag_file: Path, etag: str) -> None:
    """Store the ETag for If-Range, which allows only strong ones."""
    if etag.startswith('"') and etag.isascii():
        etag_file.write_text(etag, encoding="ascii")
    else:
        etag_file.unlink(missing_ok=True)


def _get_etag_file(part: Path) -> Path:
    return part.with_name(f"{part.name}.etag")


def _get_size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
