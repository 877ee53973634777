"""The transport over standard input and output of a program.

The library's own transport has no limit for the length of a line and copies it with each received chunk. A server could
use gigabytes and hours with a line that never ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, TextIO

import anyio

from bot.features.mcp_tools.bounds import ByteLimiter, TooMuch, parse_message
from bot.features.mcp_tools.config import StdioServer
from config.json_stream import TooComplex

if TYPE_CHECKING:
    from anyio.abc import ByteReceiveStream, Process
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.client._transport import TransportStreams
    from mcp.shared.message import SessionMessage

FLUSH_SECONDS = 0.5
EXIT_SECONDS = 2.0
"""How long a program may take to exit after its input is closed, and again after SIGTERM."""
_POLL_SECONDS = 0.01
_LARGE_BYTES = 100_000
"""Longer lines are parsed in a thread."""


@contextlib.asynccontextmanager
async def program_streams(server: StdioServer, errors: TextIO, limiter: ByteLimiter) -> AsyncIterator[TransportStreams]:
    """Run a server's program and exchange messages with it. Raises OSError or ValueError if it can't be started."""
    from mcp.client.stdio import get_default_environment
    from mcp.shared.message import SessionMessage

    process = await anyio.open_process(
        [server.command, *server.args],
        env=get_default_environment() | dict(server.env),
        stderr=errors,
        cwd=server.cwd,
        start_new_session=True,
    )
    # No await before the task group is entered, since a cancellation there would leave the process running.
    arrived, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, written = anyio.create_memory_object_stream[SessionMessage](0)
    flushed = anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_read, process, arrived, limiter)
        tasks.start_soon(_write, process, written, arrived, flushed)
        try:
            yield incoming, outgoing
        finally:
            with anyio.CancelScope(shield=True):
                incoming.close()
                outgoing.close()
                with anyio.move_on_after(FLUSH_SECONDS):
                    await flushed.wait()
                await _end(process)
                for stream in (arrived, written):
                    stream.close()
            tasks.cancel_scope.cancel()


async def _read(
    process: Process, arrived: MemoryObjectSendStream[SessionMessage | Exception], limiter: ByteLimiter
) -> None:
    """Forward messages until the program ends or sends too much. Then drain its output, so that it can exit."""
    assert process.stdout is not None, "it is a pipe"  # noqa: S101  # open_process creates pipes.
    gone = (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError, OSError)
    with contextlib.suppress(*gone):
        try:
            async with arrived:
                async for message in _parse_messages(process.stdout, limiter):
                    await arrived.send(message)
        finally:
            with anyio.CancelScope(shield=True), contextlib.suppress(*gone):
                while True:
                    await process.stdout.receive()


async def _parse_messages(stdout: ByteReceiveStream, limiter: ByteLimiter) -> AsyncIterator[SessionMessage | Exception]:
    """Yield the parsed lines of a server. Stop if it sends too much."""
    with contextlib.suppress(TooMuch):
        async for line in _split_lines(stdout, limiter):
            try:
                is_large = len(line) > _LARGE_BYTES
                message = await asyncio.to_thread(parse_message, line) if is_large else parse_message(line)
            except TooComplex:
                limiter.give_up()
            yield message


async def _split_lines(stdout: ByteReceiveStream, limiter: ByteLimiter) -> AsyncIterator[bytes]:
    """Split the output into lines in linear time. Raises TooMuch."""
    pieces: list[bytes] = []
    size = 0
    async for chunk in stdout:
        first, *rest = chunk.split(b"\n")
        pieces.append(first)
        size += len(first)
        limiter.add(len(chunk), size)
        for following in rest:
            line = b"".join(pieces)
            pieces, size = [following], len(following)
            if line.strip():
                yield line


async def _write(
    process: Process,
    written: MemoryObjectReceiveStream[SessionMessage],
    arrived: MemoryObjectSendStream[SessionMessage | Exception],
    flushed: anyio.Event,
) -> None:
    assert process.stdin is not None, "it is a pipe"  # noqa: S101  # open_process creates pipes.
    try:
        async with written:
            async for message in written:
                line = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                await process.stdin.send(line.encode("utf-8", "replace") + b"\n")
    except (anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
        # The program may be alive. The closed stream shows the session that the connection has ended.
        await arrived.aclose()
    finally:
        flushed.set()


async def _end(process: Process) -> None:
    """Stop a program: close its input, then send signals to it and its children."""
    with contextlib.suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        if process.stdin is not None:
            await process.stdin.aclose()
    if not await _has_ended(process):
        for number in (signal.SIGTERM, signal.SIGKILL):
            # The process group has the ID of its leader, even after the leader has exited.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, number)
            if await _has_ended(process):
                break
    with contextlib.suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        if process.stdout is not None:
            await process.stdout.aclose()
    # A surviving child may hold the pipe open, and the transport would wait for it.
    transport = getattr(getattr(process, "_process", None), "_transport", None)
    if transport is not None:
        with contextlib.suppress(PermissionError):
            transport.close()


async def _has_ended(process: Process) -> bool:
    """Wait for the process itself, since a child may hold its pipes open. Return True if it has exited."""
    with anyio.move_on_after(EXIT_SECONDS):
        while process.returncode is None:  # noqa: ASYNC110  # Process.wait() would also wait for the pipes.
            await anyio.sleep(_POLL_SECONDS)
    return process.returncode is not None
