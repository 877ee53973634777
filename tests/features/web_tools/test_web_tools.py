"""Tests of web search and page reading over real HTTP."""

from __future__ import annotations

import contextlib
import gzip
import importlib.util
import ipaddress
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from bot.app import open_app
from bot.doctor.finding import DoctorContext, Verdict
from bot.features.registry import FEATURES
from bot.features.web_tools.addresses import NOT_PUBLIC, PublicTransport, is_public
from bot.features.web_tools.check import check_web
from bot.features.web_tools.errors import PageUnreadable, SearchFailed
from bot.features.web_tools.feature import WebToolsFeature
from bot.features.web_tools.fetching import MAX_BYTES, FetchedPage, PageFetcher
from bot.features.web_tools.reader import PageReader
from bot.features.web_tools.search import SearchResult
from bot.kernel import App
from config.errors import ConfigurationError
from config.models import load_catalogue
from config.settings import Settings
from memory.clock import system_clock
from memory.messages import Provenance
from memory.store.entry import Kind
from memory.store.integrity import inspect_database
from tests.conftest import OpenApp, copy_blank
from tests.support.attacks import INJECTED, OBEYS
from tests.support.fakes import FakeClock, Person
from tests.support.mcp_servers import call_tools, list_offered_tools
from tests.support.papers import create_pdf
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Says
from tests.support.servers.web import Answer, Request, Streamed, WebServer, drip
from tests.support.talk import Store
from tests.support.tool_use import OWNER
from tests.support.tool_use import call_tools as call_citing

PIER = b"""<!doctype html><html><head><title>The  pier</title><style>p {}</style></head><body>
<header>Site name</header><nav>Menu</nav><form><div>
<h1>Opening <b>hours</b></h1><p>The pier is <a href="/x">open</a>
daily.<br>Until ten.</p><ul><li>Boats</li><li><p>Birds</p></li></ul>
<table><tr><th>Day</th><th>Time</th></tr><tr><td>Monday</td><td>9</td></tr></table>
<pre>a
  b</pre><script>evil()</script><div hidden>Unseen</div><button>Buy</button></div></form>
<footer>Imprint</footer></body>"""
PIER_TEXT = """# Opening hours

The pier is open daily.
Until ten.

- Boats

- Birds

Day | Time
Monday | 9

a
  b"""


class Site:
    """A server of pages by their paths."""

    def __init__(self) -> None:
        self.pages: dict[str, Answer | Streamed] = {}
        self.requests: list[Request] = []
        self.web = WebServer(self._handle)

    async def _handle(self, request: Request) -> Answer | Streamed:
        self.requests.append(request)
        return self.pages.get(request.target, Answer(404, b"nothing", "text/html"))

    def url(self, path: str, host: str = "pages.example") -> str:
        return f"http://{host}:{self.web.port}{path}"

    def put(self, path: str, body: bytes, content_type: str = "text/html", **headers: str) -> str:
        named = tuple((name.replace("_", "-"), value) for name, value in headers.items())
        self.pages[path] = Answer(200, body, content_type, headers=named)
        return self.url(path)

    def redirect(self, path: str, target: str) -> str:
        self.pages[path] = Answer(302, b"", "text/html", headers=(("Location", target),))
        return self.url(path)


class Engine:
    """A search engine with scripted results."""

    def __init__(self, *results: SearchResult) -> None:
        self.results = results
        self.queries: list[tuple[str, str, int]] = []
        self.fails = False

    async def search(self, query: str, language: str, max_results: int) -> Sequence[SearchResult]:
        self.queries.append((query, language, max_results))
        if self.fails:
            raise SearchFailed("no search engine has answered: try again later")
        return self.results


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    """Run a server of pages."""
    served = Site()
    await served.web.start()
    yield served
    await served.web.stop()


async def resolve_locally(host: str, port: int) -> list[str]:
    """Resolve names of the tests to this machine, and addresses to themselves."""
    with contextlib.suppress(ValueError):
        return [str(ipaddress.ip_address(host.strip("[]")))]
    return ["127.0.0.2" if host == "private.example" else "127.0.0.1"]


def allow_local(address: str) -> bool:
    """Allow the server of the tests, and otherwise judge by the real rule."""
    return address == "127.0.0.1" or is_public(address)


@pytest.fixture
async def fetcher() -> AsyncIterator[PageFetcher]:
    """Return a fetcher that may read the server of the tests."""
    opened = PageFetcher(PublicTransport(resolve_locally, allow_local), seconds=10)
    yield opened
    await opened.close()


Open = Callable[..., AbstractAsyncContextManager[App]]


@pytest.fixture
def engine() -> Engine:
    return Engine(SearchResult("The pier", "https://pier.example/", "Open\n daily"))


@pytest.fixture
def start_web(model: ModelServer, clock: FakeClock, tmp_path: Path, blank: Path, engine: Engine) -> Open:
    """Open an App with web tools that use the engine and the server of the tests."""

    @contextlib.asynccontextmanager
    async def opened() -> AsyncIterator[App]:
        copy_blank(blank, tmp_path / "data")
        web = WebToolsFeature(engine, PublicTransport(resolve_locally, allow_local))
        features = [web if feature is WebToolsFeature else feature() for feature in FEATURES]
        settings = Settings.model_validate(
            {"openai_base_url": model.url, "llm_model": "scripted", "llm_timeout": 20, "web_search": True}
        )
        async with open_app(settings, clock, load_catalogue(), features) as app:
            yield app

    return opened


async def test_search_returns_numbered_results_as_web_text(start_web: Open, model: ModelServer, engine: Engine) -> None:
    engine.results = (*engine.results, *(SearchResult("x" * 999, f"https://{n}.example", "") for n in range(20)))
    async with start_web() as app:
        (answer,) = await call_tools(Person(app), model, ("web_search", {"query": "pier hours"}))
        rows = await app.database.rows("SELECT provenance FROM messages WHERE role = 'tool'")
    assert answer.startswith("1. The pier\nhttps://pier.example/\nOpen daily\n\n2. xxx")
    assert "8. " in answer
    assert "9. " not in answer
    assert len(answer) < 3_000
    assert engine.queries == [("pier hours", "en", 8)]
    assert [row["provenance"] for row in rows] == [Provenance.WEB]


async def test_search_masks_secrets_and_explains_failures(start_web: Open, model: ModelServer, engine: Engine) -> None:
    engine.results = ()
    async with start_web() as app:
        secret = "sk-proj-" + "a1B2c3D4" * 5
        (nothing,) = await call_tools(Person(app), model, ("web_search", {"query": f"what is {secret}"}))
        engine.fails = True
        (failed,) = await call_tools(Person(app), model, ("web_search", {"query": "pier"}))
    assert nothing == "Nothing was found: try other words."
    assert secret not in engine.queries[0][0]
    assert failed == "error: no search engine has answered: try again later"


async def test_read_returns_main_text_of_page(start_web: Open, model: ModelServer, site: Site) -> None:
    url = site.put("/pier", PIER)
    async with start_web() as app:
        (answer,) = await call_tools(Person(app), model, ("web_read", {"url": url}))
        rows = await app.database.rows("SELECT provenance FROM messages WHERE role = 'tool'")
    assert answer == f"The pier\n{url}\n\n{PIER_TEXT}"
    assert [row["provenance"] for row in rows] == [Provenance.WEB]
    assert site.requests[0].header("host") == f"pages.example:{site.web.port}"
    assert site.requests[0].header("cookie") == ""


async def test_long_page_is_read_in_parts(start_web: Open, model: ModelServer, site: Site) -> None:
    url = site.put("/long", b"".join(b"<p>Paragraph %d of a long story.</p>" % n for n in range(1000)))
    async with start_web() as app:
        first, last, beyond, wrong = await call_tools(
            Person(app), model, *(("web_read", {"url": url, "page": page}) for page in (1, 3, 4, 0))
        )
    assert "(page 1 of 3; go on with page=2)" in first
    assert "Paragraph 0 of" in first
    assert "(page 3 of 3)" in last
    assert "Paragraph 999 of" in last
    assert len(first) < 13_000
    assert beyond == "error: there is no page 4, the last one is 3"
    assert wrong.startswith("error: the arguments are wrong: page")


async def test_private_talk_may_search_and_read(start_web: Open, model: ModelServer, site: Site) -> None:
    url = site.put("/pier", PIER)
    async with start_web() as app:
        person = Person(app)
        await person.says("/private")
        found, read = await call_tools(person, model, ("web_search", {"query": "pier"}), ("web_read", {"url": url}))
    assert "pier.example" in found
    assert "Until ten." in read


@pytest.mark.parametrize("way", ["read", "searched"])
async def test_model_that_obeys_a_page_stores_nothing_of_it(
    start_web: Open, model: ModelServer, site: Site, engine: Engine, clock: FakeClock, way: str
) -> None:
    url = site.put("/evil", f"<p>{INJECTED}</p>".encode())
    engine.results = (SearchResult("Rules", "https://evil.example", INJECTED),)
    model.second_look = lambda _: Says('{"1": {"verdict": "unclear"}}')
    call = ("web_read", {"url": url}) if way == "read" else ("web_search", {"query": "rules"})
    async with start_web() as app:
        person = Person(app)
        answers = await call_citing(person, model, call, *OBEYS, say="What does it say?", quote="What does it say?")
        assert INJECTED in answers[0]
        entries = await Store.create(app.database, clock).entries.list(OWNER)
        assert not [e for e in entries if e.trusted]
        assert all(e.kind is Kind.EPISODE for e in entries if e.unconfirmed is None)
        clock.forward(days=60)
        await person.says("/new")
        await person.says("How do I make tea?")
        assert "zanzibar" not in model.requests[-1].prompt.lower()
    for request in model.requests:
        assert all(INJECTED not in str(m["content"]) for m in request.messages if m["role"] == "system")


async def test_tools_are_off_unless_asked_for(start: OpenApp, model: ModelServer) -> None:
    async with start() as app:
        await Person(app).says("Hello")
    assert not {"web_search", "web_read"}.intersection(list_offered_tools(model))
    assert WebToolsFeature().why_off(Settings()) == "WEB_SEARCH is not true"


async def test_missing_package_stops_start_with_remedy(start: OpenApp, monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name == "ddgs" else find(name, *rest))
    with pytest.raises(ConfigurationError, match="run `make web`"):
        async with start(web_search=True):
            pass


async def test_doctor_reports_search(app: App, engine: Engine, tmp_path: Path) -> None:
    data = tmp_path / "data" / "mneme.db"

    async def check(*, on: bool) -> Verdict:
        settings = Settings(mneme_data_dir=app.settings.mneme_data_dir, web_search=on)
        context = DoctorContext(settings, data, inspect_database(data), system_clock)
        (finding,) = await check_web(context, engine)
        return finding.verdict

    assert await check(on=True) is Verdict.OK
    engine.fails = True
    assert await check(on=True) is Verdict.WARNING
    assert await check(on=False) is Verdict.OK


@pytest.mark.parametrize(
    "address",
    [
        *(
            "127.0.0.1",
            "127.8.8.8",
            "0.0.0.0",  # noqa: S104
            "10.0.0.5",
            "172.16.0.1",
            "192.168.1.1",
            "100.64.0.1",
            "169.254.169.254",
        ),
        *("224.0.0.1", "240.0.0.1", "255.255.255.255", "168.63.129.16", "192.0.2.1", "100.100.100.200"),
        *("::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "ff02::1", "2001:db8::1", "::7f00:1"),
        *(
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "64:ff9b::a00:1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "2002:a00:1::",
        ),
        *("64:ff9b:1::a00:1", "2001:0:4136:e378:8000:63bf:80ff:fffe", "not an address", ""),
    ],
)
def test_address_that_is_not_public_is_refused(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize(
    "address", ["1.1.1.1", "93.184.216.34", "2606:4700::1111", "64:ff9b::101:101", "::ffff:1.1.1.1"]
)
def test_public_address_is_accepted(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "127.1", "[::1]", "[::ffff:127.0.0.1]", "0"]
)
async def test_names_of_this_machine_are_refused_with_real_resolver(site: Site, host: str) -> None:
    site.put("/pier", PIER)
    fetcher = PageFetcher(PublicTransport())
    with pytest.raises(PageUnreadable):
        await fetcher.fetch(site.url("/pier", host))
    await fetcher.close()
    assert site.requests == []


async def test_redirect_to_private_address_is_refused(site: Site, fetcher: PageFetcher) -> None:
    site.put("/secret", b"<p>Secret</p>")
    for target in (site.url("/secret", "private.example"), "http://169.254.169.254/latest", "http://[::1]/"):
        with pytest.raises(PageUnreadable, match=NOT_PUBLIC):
            await fetcher.fetch(site.redirect("/go", target))
    for target in ("file:///etc/passwd", "ftp://pages.example/", "gopher://pages.example/"):
        with pytest.raises(PageUnreadable):
            await fetcher.fetch(site.redirect("/go", target))
    assert {request.target for request in site.requests} == {"/go"}


async def test_host_with_one_private_address_is_refused(site: Site) -> None:
    async def resolve(host: str, port: int) -> list[str]:
        return ["127.0.0.1", "10.0.0.1"]

    fetcher = PageFetcher(PublicTransport(resolve, allow_local))
    with pytest.raises(PageUnreadable, match=NOT_PUBLIC):
        await fetcher.fetch(site.put("/pier", PIER))
    await fetcher.close()


async def test_second_dns_answer_is_never_used(site: Site) -> None:
    answers = ["127.0.0.1", "10.0.0.1"]

    async def resolve(host: str, port: int) -> list[str]:
        return [answers.pop(0)]

    fetcher = PageFetcher(PublicTransport(resolve, allow_local))
    page = await fetcher.fetch(site.put("/pier", PIER))
    await fetcher.close()
    assert page.content == PIER
    assert answers == ["10.0.0.1"]


async def test_redirects_are_followed_up_to_the_limit(site: Site, fetcher: PageFetcher) -> None:
    site.put("/0", PIER)
    for number in range(1, 7):
        site.redirect(f"/{number}", f"/{number - 1}")
    assert (await fetcher.fetch(site.url("/5"))).url == site.url("/0")
    with pytest.raises(PageUnreadable, match="redirects more than 5 times"):
        await fetcher.fetch(site.url("/6"))


async def test_body_is_cut_at_limit_even_if_compressed(site: Site, fetcher: PageFetcher) -> None:
    plain = await fetcher.fetch(site.put("/plain", b"a" * (MAX_BYTES + 10), "text/plain"))
    bomb = gzip.compress(b"a" * 100_000_000)
    packed = await fetcher.fetch(site.put("/bomb", bomb, "text/plain", Content_Encoding="gzip"))
    small = await fetcher.fetch(site.put("/small", gzip.compress(PIER), Content_Encoding="gzip"))
    assert (len(plain.content), plain.is_whole) == (MAX_BYTES, False)
    assert (len(packed.content), packed.is_whole) == (MAX_BYTES, False)
    assert (small.content, small.is_whole) == (PIER, True)
    with pytest.raises(PageUnreadable, match="compresses"):
        await fetcher.fetch(site.put("/odd", PIER, Content_Encoding="br"))


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("file:///etc/passwd", "begin with http"),
        ("ftp://pages.example/x", "begin with http"),
        ("http://ann:pass@pages.example/", "name or password"),
        ("http://", "begin with http"),
        ("http://pages.example:99999/", "port in the address"),
        ("https://example.org/" + "x" * 3_000, "longer than 2,000"),
    ],
)
async def test_address_that_is_no_page_is_refused(fetcher: PageFetcher, url: str, reason: str) -> None:
    with pytest.raises(PageUnreadable, match=reason):
        await fetcher.fetch(url)


async def test_other_content_and_failures_are_explained(site: Site, fetcher: PageFetcher) -> None:
    with pytest.raises(PageUnreadable, match="neither a web page"):
        await fetcher.fetch(site.put("/film", b"x", "video/mp4"))
    with pytest.raises(PageUnreadable, match="status 404"):
        await fetcher.fetch(site.url("/missing"))


async def test_slow_server_is_given_up(site: Site) -> None:
    site.pages["/slow"] = Streamed(drip(), "text/html")
    fetcher = PageFetcher(PublicTransport(resolve_locally, allow_local), seconds=0.5)
    with pytest.raises(PageUnreadable, match=r"longer than 0\.5 seconds"):
        await fetcher.fetch(site.url("/slow"))
    await fetcher.close()


@pytest.mark.parametrize(
    ("content", "charset", "text"),
    [
        ("<p>Причал".encode("windows-1251"), "windows-1251", "Причал"),
        ('<meta charset="windows-1251"><p>Причал'.encode("windows-1251"), None, "Причал"),
        ("<p>Причал".encode("utf-16"), None, "Причал"),
        ("<p>Причал".encode()[:-1], None, "Прича"),
        ("<p>Причал".encode(), "no-such-charset", "Причал"),
        (b"<main><p>Short</p></main><p>" + b"More words. " * 30, None, "Short\n\nMore words."),
        (b"<nav>x</nav><main><p>" + b"Main words. " * 30 + b"</main><p>Other", None, "Main words."),
    ],
)
async def test_page_is_decoded_and_its_main_part_found(content: bytes, charset: str | None, text: str) -> None:
    page = FetchedPage("https://pages.example", "text/html", charset, content, is_whole=True)
    read = (await PageReader().read(page)).parts[0]
    assert read.startswith(text)
    assert "Other" not in read


@pytest.mark.parametrize(
    "content", [b"<script>app()</script>", b"", b"<div>" * 300_000], ids=["script", "empty", "deep"]
)
async def test_page_without_readable_text_is_explained(content: bytes) -> None:
    page = FetchedPage("https://pages.example", "text/html", None, content, is_whole=True)
    with pytest.raises(PageUnreadable, match=r"has no text|too complex"):
        await PageReader(seconds=2).read(page)


async def test_plain_text_json_and_pdf_are_read() -> None:
    reader = PageReader()
    for kind, content in (("text/plain", b"\xef\xbb\xbfThe pier"), ("application/json", b'{"pier": 1}')):
        (part,) = (await reader.read(FetchedPage("https://pages.example", kind, None, content, is_whole=True))).parts
        assert "pier" in part
        assert not part.startswith("\ufeff")
    pdf = FetchedPage("https://pages.example", "application/pdf", None, create_pdf("The pier is open"), is_whole=True)
    assert "The pier is open" in (await reader.read(pdf)).parts[0]
