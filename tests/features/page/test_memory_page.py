"""Tests of the memory page with plain requests."""

from __future__ import annotations

import contextlib
import io
import json
import re
import zipfile
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from urllib.parse import parse_qsl, quote, urlencode

import httpx
import pytest
from pydantic import HttpUrl

from bot.features import page as page_feature
from bot.features.page.access import COOKIE
from bot.kernel import App
from bot.web import build_host_header
from memory.access import AccessList
from memory.log.sessions import Address
from memory.store.entry import Author, Kind, NewEntry
from tests.features.page.serving import add_memories, served
from tests.support.fakes import FakeClock, Person
from tests.support.mini_apps import enter, mini_app, sign_init_data
from tests.support.serving import ANN, STRANGER, Serve
from tests.support.talk import note_down


@contextlib.asynccontextmanager
async def open_client(app: App, person: Person) -> AsyncIterator[httpx.AsyncClient]:
    """Yield an HTTP client that has opened the link."""
    async with (
        served(app, person) as (url, link),
        httpx.AsyncClient(base_url=url, headers={"x-mneme": "1"}, follow_redirects=True) as client,
    ):
        assert (await client.get(link.url)).status_code == 200
        yield client


async def test_link_admits_one_browser_once(app: App, person: Person) -> None:
    async with served(app, person) as (url, link), httpx.AsyncClient(base_url=url, headers={"x-mneme": "1"}) as first:
        assert (await first.get("/api/overview")).status_code == 403
        assert (await first.get("/")).status_code == 403
        assert (await first.get("/enter/wrong")).status_code == 403
        entered = await first.get(link.url)
        assert entered.status_code == 303
        assert {"httponly", "samesite=strict"} <= set(entered.headers["set-cookie"].lower().split("; "))
        assert (await first.get("/api/overview")).status_code == 200
        async with httpx.AsyncClient(base_url=url, cookies={COOKIE: "guess"}) as second:
            assert (await second.get(link.url)).status_code == 403
            assert (await second.get("/api/overview")).status_code == 403


async def test_other_site_can_neither_read_nor_change(app: App, person: Person) -> None:
    await add_memories(app, person)
    async with open_client(app, person) as client:
        entry = (await client.get("/api/entries")).json()["entries"][0]["id"]
        without = await client.post(f"/api/entries/{entry}/forget", headers={"x-mneme": ""})
        elsewhere = await client.get("/api/entries", headers={"host": "rebound.example"})
        assert (without.status_code, elsewhere.status_code) == (403, 403)
        page = await client.get("/")
        assert "default-src 'none'" in page.headers["content-security-policy"]
        assert "frame-ancestors 'none'" in page.headers["content-security-policy"]
        assert page.headers["cache-control"] == "no-store"


async def test_data_of_another_owner_is_not_found(app: App, person: Person) -> None:
    other = await app.memory.entries.add("console:other", NewEntry("A secret of somebody else"))
    await person.says("Hello")
    async with open_client(app, person) as client:
        for path in (f"entries/{other.id}", "conversations/999"):
            assert (await client.get(f"/api/{path}")).status_code == 409
        for path in ("edit", "confirm", "forget"):
            answer = await client.post(f"/api/entries/{other.id}/{path}", json={"content": "mine"})
            assert answer.status_code == 409
        change = await app.memory.undo.find_newest(other)
        assert (await client.post(f"/api/changes/{change}/undo")).json()["text"] == "That was already undone."
        assert (await client.get("/api/search", params={"q": "secret"})).json() == {"found": []}
    assert (await app.memory.entries.get("console:other", f"#{other.id}")).content == "A secret of somebody else"


async def test_change_that_is_too_old_to_undo_says_so(app: App, person: Person, clock: FakeClock) -> None:
    entry = await app.memory.entries.add(person.address.owner, NewEntry("The spare key is at Ann's"))
    change = await app.memory.undo.find_newest(entry)
    clock.forward(days=31)
    await app.memory.ledger.purge()
    async with open_client(app, person) as client:
        answer = await client.post(f"/api/changes/{change}/undo")
    assert answer.json()["text"] == "A change can be undone for 30 days."


async def test_changes_after_a_line_of_the_file_are_listed(app: App, person: Person) -> None:
    await note_down(app, "the bins go out on Tuesday")
    await app.memory.long_term.append(person.address.owner, "- a line alone", Author.USER)
    async with open_client(app, person) as client:
        answer = await client.get("/api/changes")
    assert answer.status_code == 200
    changes = answer.json()["changes"]
    assert [change["in_file"] for change in changes] == [True, True]
    assert changes[1]["verb"] == "Learned"
    assert changes[1]["texts"] == ["the bins go out on Tuesday"]


async def test_change_names_the_memory_that_it_replaced(app: App, person: Person, clock: FakeClock) -> None:
    learning, owner = app.memory.learning, person.address.owner
    former = await learning.learn(owner, NewEntry("I live in Kyiv.", kind=Kind.FACT))
    clock.forward(days=1)
    await learning.learn(owner, NewEntry("I live in Lviv.", kind=Kind.FACT), former.entry.name)
    async with open_client(app, person) as client:
        changes = (await client.get("/api/changes")).json()["changes"]
    assert [change["texts"] for change in changes] == [
        ["I live in Lviv.", "I live in Kyiv. (replaced)"],
        ["I live in Kyiv."],
    ]


async def test_found_texts_are_for_people(app: App, person: Person) -> None:
    await add_memories(app, person)
    async with open_client(app, person) as client:
        found = (await client.get("/api/search", params={"q": "boat house"})).json()["found"]
        assert found[0]["lines"][0] == {"who": "user", "text": "What does the boat house on the Dnipro cost?"}
        (entry,) = (await client.get("/api/search", params={"q": "spare key"})).json()["found"]
        assert (entry["entry"]["content"], entry["entry"]["where"]) == (
            "The spare key is at Ann's.",
            "note, you wrote it",
        )


async def test_search_reads_all_found_memories_with_one_query(app: App, person: Person) -> None:
    statements: list[str] = []
    reader = app.database._reader  # noqa: SLF001  # Counts the queries of a request.
    counts = []
    for keys in (1, 10):
        for number in range(keys):
            await app.memory.entries.add(person.address.owner, NewEntry(f"Spare key number {keys}{number}"))
        await person.says("Hello")
        async with open_client(app, person) as client:
            await client.get("/api/search", params={"q": "spare key"})
            await reader.set_trace_callback(statements.append)
            statements.clear()
            found = (await client.get("/api/search", params={"q": "spare key"})).json()["found"]
            # SQLite marks the statements of its search index with dashes
            counts.append((len(found), sum(not statement.startswith("--") for statement in statements)))
            await reader.set_trace_callback(lambda _statement: None)
    assert [hits for hits, _ in counts] == [1, 11]
    assert counts[0][1] == counts[1][1]


async def test_found_memory_of_another_names_who_shared_it(serve: Serve) -> None:
    async with serve(memory_scope="family", telegram_allowed_ids=f"{ANN},{STRANGER}") as app:
        await app.memory.entries.add(f"telegram:{ANN}", NewEntry("The spare key is at Olga's.", name="key"))
        await app.memory.sharing.share(f"telegram:{ANN}", "key", "Ann")
        person = Person(app, Address("telegram", str(STRANGER)))
        await person.says("Hello")
        async with open_client(app, person) as client:
            (found,) = (await client.get("/api/search", params={"q": "spare key"})).json()["found"]
    assert "entry" not in found  # It can't be edited.
    assert found["lines"] == [{"who": None, "text": "The spare key is at Olga's."}]
    assert found["shared_by"] == "Ann"


async def test_browser_without_access_gets_a_page(app: App, person: Person) -> None:
    async with (
        served(app, person) as (url, _),
        httpx.AsyncClient(base_url=url, headers={"accept": "text/html"}) as client,
    ):
        refused = await client.get("/")
        assert refused.status_code == 403
        assert "Open the link that <code>mneme web</code> has printed" in refused.text
        assert (await client.get("/page.css")).status_code == 200
        assert (await client.get("/page.js")).status_code == 403
        assert (await client.get("/page.css", headers={"host": "rebound.example"})).status_code == 403


async def test_changed_file_is_not_overwritten(app: App, person: Person) -> None:
    await note_down(app, "the bins go out on Tuesday")
    async with open_client(app, person) as client:
        answer = await client.post("/api/file", json={"before": "- something else", "after": "- mine"})
        assert answer.status_code == 409
        assert "MEMORY.md has changed since you loaded it" in answer.json()["error"]
        wrong = await client.post("/api/file", json={"text": "x"})
        assert wrong.status_code == 422


async def test_page_shows_the_last_answer_and_monthly_counts(app: App, person: Person) -> None:
    await add_memories(app, person)
    await person.says("Who keeps bees?")
    async with open_client(app, person) as client:
        last = (await client.get("/api/last")).json()
        assert any("bees" in (memory["content"] or "") for memory in last["memories"])
        assert last["tokens"] > 0
        assert {memory["layer"] for memory in last["memories"]} <= {"it fits your message", "it was looked up"}
        overview = (await client.get("/api/overview")).json()
        assert overview["growth"] == [{"month": "2026-02", "learned": 3, "holding": 2}]
        assert overview["unsure"] == 1


def compute_contrast(one: str, other: str) -> float:
    """Return the contrast of two colours (WCAG 2)."""

    def luminance(colour: str) -> float:
        digits = colour if len(colour) == 6 else "".join(digit * 2 for digit in colour)
        parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
        red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_colours_have_enough_contrast(theme: int) -> None:
    css = Path(page_feature.__file__).with_name("static").joinpath("page.css").read_text(encoding="utf-8")
    modes = re.findall(r"--([a-z-]+): light-dark\(#([0-9a-f]+), #([0-9a-f]+)\)", css)
    colours = {name: values[theme] for name, *values in modes}
    pairs = [(text, ground) for text in ("text", "quiet") for ground in ("ground", "card", "soft")]
    pairs += [("accent", "card"), ("accent", "soft"), ("accent-text", "accent-ground"), ("warn", "warn-soft")]
    pairs += [("bad", "card"), ("text", "mark"), ("text", "good-soft"), ("text", "bad-soft"), ("ground", "text")]
    weak = [pair for pair in pairs if compute_contrast(colours[pair[0]], colours[pair[1]]) < 4.5]
    assert weak == []


async def test_mini_app_shows_the_users_own_memory(serve: Serve) -> None:
    async with mini_app(serve) as (app, client):
        await app.memory.entries.add(f"telegram:{ANN}", NewEntry("The boat is called Seagull."))
        await app.memory.entries.add("telegram:5", NewEntry("A secret of somebody else"))
        page = await client.get("")
        assert "https://telegram.org/js/telegram-web-app.js" in page.text
        policy = page.headers["content-security-policy"]
        assert "script-src 'self' https://telegram.org;" in policy
        assert "frame-ancestors https://web.telegram.org" in policy
        entered = await client.post("enter", content=sign_init_data(ANN, app.clock()))
        shown = {"x-mneme": entered.json()["session"]}
        entries = (await client.get("api/entries", headers=shown)).json()["entries"]
        assert [entry["content"] for entry in entries] == ["The boat is called Seagull."]


async def test_export_is_downloaded_as_a_file(app: App, person: Person, clock: FakeClock) -> None:
    async with open_client(app, person) as client:
        assert (await client.post("/api/export")).json()["error"].startswith("There is nothing to export")
        await person.says("/remember The spare key is at Ann's")
        prepared = (await client.post("/api/export")).json()
        assert prepared["name"] == "mneme-export-2026-02-07.zip"
        got = await client.get(f"/{prepared['url']}")
        assert got.headers["content-disposition"] == 'attachment; filename="mneme-export-2026-02-07.zip"'
        assert got.headers["content-type"] == "application/zip"
        assert got.headers["cache-control"] == "no-store"
        with zipfile.ZipFile(io.BytesIO(got.content)) as archive:
            assert any(b"spare key" in archive.read(name) for name in archive.namelist())
        again = (await client.post("/api/export")).json()
        assert (await client.get(f"/{prepared['url']}")).status_code == 404
        clock.forward(minutes=5)
        assert (await client.get(f"/{again['url']}")).status_code == 404
        assert (await client.get("/export/made-up")).status_code == 404
        async with httpx.AsyncClient(base_url=client.base_url) as other:
            assert (await other.get(f"/{again['url']}")).status_code == 403


async def test_mini_app_exports_by_an_address_without_a_pass(serve: Serve) -> None:
    async with mini_app(serve) as (app, client):
        headers = await enter(app, client)
        assert (await client.post("api/export")).status_code == 403
        await app.memory.entries.add(f"telegram:{ANN}", NewEntry("The spare key is at Ann's", name="key"))
        prepared = (await client.post("api/export", headers=headers)).json()
        got = await client.get(prepared["url"])
        assert got.status_code == 200
        assert got.headers["access-control-allow-origin"] == "https://web.telegram.org"


async def test_mini_app_admits_nobody_else(serve: Serve) -> None:
    async with mini_app(serve) as (app, client):
        now = app.clock()
        good = sign_init_data(ANN, now)
        assert (await client.post("enter", content=good)).status_code == 200
        refused = [
            good,  # Used before.
            sign_init_data(STRANGER, now),
            sign_init_data(ANN, now - timedelta(hours=2)),
            sign_init_data(ANN, now + timedelta(hours=1)),
            sign_init_data(ANN, now, token="7654321:another-bot"),
            sign_init_data(STRANGER, now, user=json.dumps({"id": ANN})),
            sign_init_data(ANN, now - timedelta(hours=2), auth_date=str(int(now.timestamp()))),
            sign_init_data(ANN, now, signature="other"),
            "",
            "hash=x",
            "user=%7B%7D&hash=x&auth_date=999999999999999999",
        ]
        assert [(await client.post("enter", content=data)).status_code for data in refused] == [403] * len(refused)
        for headers in ({}, {"x-mneme": "1"}, {"x-mneme": ""}, {"x-mneme": "guess"}):
            assert (await client.get("api/overview", headers=headers)).status_code == 403
        assert (await client.get("", headers={"host": "rebound.example"})).status_code == 403


async def test_mini_app_shows_nothing_to_a_revoked_user(serve: Serve) -> None:
    async with mini_app(serve) as (app, client):
        access = AccessList(app.database, "telegram", app.clock)
        await access.let_in(STRANGER)
        entered = await client.post("enter", content=sign_init_data(STRANGER, app.clock()))
        shown = {"x-mneme": entered.json()["session"]}
        assert (await client.get("api/overview", headers=shown)).status_code == 200
        await access.refuse(STRANGER)
        assert (await client.get("api/overview", headers=shown)).status_code == 403


async def test_head_request_does_not_use_up_the_link(app: App, person: Person) -> None:
    async with served(app, person) as (url, link), httpx.AsyncClient(base_url=url) as client:
        assert (await client.head(link.url)).status_code == 200
        assert "set-cookie" not in (await client.head(link.url)).headers
        assert (await client.get(link.url)).status_code == 303


async def test_pass_of_a_link_ends_after_twelve_hours(app: App, person: Person, clock: FakeClock) -> None:
    async with served(app, person) as (url, link), httpx.AsyncClient(base_url=url, headers={"x-mneme": "1"}) as client:
        await client.get(link.url)
        clock.forward(hours=11, minutes=59)
        assert (await client.get("/api/overview")).status_code == 200
        clock.forward(minutes=2)
        assert (await client.get("/api/overview")).status_code == 403
        assert (await client.get(link.url)).status_code == 403


async def test_pages_on_two_ports_are_open_in_one_browser(app: App, person: Person) -> None:
    async with (
        served(app, person) as (one, first),
        served(app, person) as (two, second),
        httpx.AsyncClient(headers={"x-mneme": "1"}) as client,
    ):
        for link in (first, second):
            assert (await client.get(link.url)).status_code == 303
        for url in (one, two):
            assert (await client.get(f"{url}/api/overview")).status_code == 200
        # The pass of one port does not open the other.
        cookie = next(iter(client.cookies.jar))
        others = two if str(cookie.name).endswith(one.rpartition(":")[2]) else one
        renamed = {f"{COOKIE}-{others.rpartition(':')[2]}": str(cookie.value)}
        async with httpx.AsyncClient(headers={"x-mneme": "1"}, cookies=renamed) as stranger:
            assert (await stranger.get(f"{others}/api/overview")).status_code == 403


def write_differently(data: str) -> list[str]:
    """Return other ways to write the data that Telegram has signed."""
    pairs = parse_qsl(data)
    shown = dict(pairs)["hash"]
    return [
        urlencode(list(reversed(pairs))),
        urlencode(sorted(pairs)),
        "&".join(f"{name}={''.join(f'%{byte:02X}' for byte in value.encode())}" for name, value in pairs),
        urlencode(pairs, quote_via=quote),
        data.replace("%7B", "%7b").replace("%22", '"'),
        f"{data}&hash={shown}",
        f"hash={'0' * 64}&{data}",
        f"user=%7B%22id%22%3A5%7D&{data}",
        f"{data}&extra=1",
        data.replace(shown, shown.upper()),
        f"{data}&",
        f"&{data}",
        data.replace("hash=", "%68ash="),
        data.replace("&signature=s", "%0Asignature=s"),
        f"{data}\n",
    ]


async def test_signed_data_written_differently_is_taken_once(serve: Serve) -> None:
    async with mini_app(serve) as (app, client):
        data = sign_init_data(ANN, app.clock())
        assert (await client.post("enter", content=data)).status_code == 200
        for other in write_differently(data):
            assert (await client.post("enter", content=other)).status_code == 403, other


@pytest.mark.parametrize(
    "user",
    ['{"id": true}', '{"id": "1001"}', '{"id": -1}', '{"id": 1e3}', '{"id": 9223372036854775808}', "[]", "{}", "x"],
)
async def test_signed_data_without_an_id_is_refused(serve: Serve, user: str) -> None:
    async with mini_app(serve) as (app, client):
        assert (await client.post("enter", content=sign_init_data(ANN, app.clock(), user_json=user))).status_code == 403


async def test_guest_does_not_end_the_passes_of_others(serve: Serve) -> None:
    async with mini_app(serve) as (app, client):
        await AccessList(app.database, "telegram", app.clock).let_in(STRANGER)
        mine = await enter(app, client)
        theirs = []
        for number in range(40):
            data = sign_init_data(STRANGER, app.clock() + timedelta(seconds=number))
            theirs.append({"x-mneme": (await client.post("enter", content=data)).json()["session"]})
        assert (await client.get("api/overview", headers=mine)).status_code == 200
        statuses = [(await client.get("api/overview", headers=shown)).status_code for shown in theirs]
        assert statuses == [403] * 35 + [200] * 5


async def test_pass_ends_with_the_membership(serve: Serve) -> None:
    async with mini_app(serve) as (app, client):
        access = AccessList(app.database, "telegram", app.clock)
        await access.let_in(STRANGER)
        shown = await enter(app, client, STRANGER)
        assert (await client.get("api/overview", headers=shown)).status_code == 200
        await access.refuse(STRANGER)
        await access.let_in(STRANGER)
        assert (await client.get("api/overview", headers=shown)).status_code == 403


async def test_pass_ends_when_a_membership_is_revoked_and_claimed_again(serve: Serve) -> None:
    async with mini_app(serve) as (app, client):
        access = AccessList(app.database, "telegram", app.clock)
        await access.claim(STRANGER, await access.new_claim_code())
        shown = await enter(app, client, STRANGER)
        await AccessList(app.database, "telegram", app.clock).revoke(STRANGER)
        await access.claim(STRANGER, await access.new_claim_code())
        assert (await client.get("api/overview", headers=shown)).status_code == 403


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://a.example/", "a.example"),
        ("https://a.example:8443", "a.example:8443"),
        ("http://a.example:443", "a.example:443"),
    ],
)
def test_host_header_omits_the_default_port(url: str, host: str) -> None:
    assert build_host_header(HttpUrl(url)) == host
