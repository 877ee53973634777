"""Tests of `mneme memory`, `recall`, `export`, `import` and `reindex`."""

from __future__ import annotations

import asyncio
import json
import os
import re
import resource
import socket
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from bot.cli.main import cli, main
from memory.access import AccessList
from memory.store.database import Database
from memory.store.entry import NewEntry
from tests.support import exports
from tests.support.blank import write_blank
from tests.support.fakes import FakeClock
from tests.support.features import needs_feature
from tests.support.servers.model import ModelServer
from tests.support.starter import run_mneme
from tests.support.talk import Store

ROOT = Path(__file__).parents[2]
MINE, THEIRS = "console:local", "telegram:1"

pytestmark = pytest.mark.usefixtures("own_logging")


class Shell:
    """Runs `mneme` in this process."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch = monkeypatch
        self._capsys = capsys

    def run(self, *arguments: str) -> tuple[int, str, str]:
        """Return exit status, standard output and standard error."""
        self._monkeypatch.setattr(sys, "argv", ["mneme", *arguments])
        with pytest.raises(SystemExit) as left:
            main()
        out, err = self._capsys.readouterr()
        return int(left.value.code or 0), out, err

    def run_successfully(self, *arguments: str) -> str:
        """Run a command that must succeed and return its standard output."""
        status, out, err = self.run(*arguments)
        assert (status, err) == (0, "")
        return out

    def json(self, *arguments: str) -> Any:
        """Return the parsed output of a command with `--json`."""
        return json.loads(self.run_successfully(*arguments, "--json"))


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(monkeypatch, capsys)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Create a data directory with a note and a conversation of a Telegram user."""

    async def fill() -> None:
        database = await Database.open(write_blank(tmp_path / "data" / "mneme.db"))
        store = Store.create(database, FakeClock())
        await store.entries.add(THEIRS, NewEntry("The lighthouse is red", name="lighthouse"))
        await store.commit_exchange(await store.session("1"), "Which lighthouse is red?", "That of Odesa.")
        await database.close()

    asyncio.run(fill())
    return tmp_path / "data"


def test_memory_operations_and_undo_work(shell: Shell) -> None:
    added = shell.json("memory", "add", "key", "at Ann's", "--kind", "fact")
    assert added == {
        "name": "key",
        "aliases": [],
        "kind": "fact",
        "content": "at Ann's",
        "tags": [],
        "scope": None,
        "priority": "normal",
        "owner": MINE,
        "author": "user",
        "created_at": added["created_at"],
        "superseded_by": None,
        "quote": None,
        "unconfirmed": None,
        "valid_until": None,
    }
    assert shell.json("memory", "rename", "key", "door key")["aliases"] == ["key"]
    assert shell.json("memory", "alias", "key", "spare")["aliases"] == ["key", "spare"]
    assert shell.json("memory", "write", "spare", "at Olena's")["content"] == "at Olena's"
    assert shell.json("memory", "show", "KEY") == shell.json("memory", "list")[0]
    assert shell.json("memory", "remove", "key")["name"] == "door key"
    assert shell.json("memory", "list") == []
    for operation, names in (
        ("remove", ["door key"]),
        ("write", ["door key"]),
        ("alias", ["door key"]),
        ("rename", ["key"]),
        ("add", ["key"]),
    ):
        assert shell.json("memory", "undo") == {"operation": operation, "author": "user", "names": names}
    assert shell.json("memory", "undo") is None
    assert shell.run_successfully("memory", "undo") == "There is nothing to undo.\n"


def test_entry_is_printed_as_text_without_json(shell: Shell) -> None:
    assert shell.run_successfully("memory", "add", "key", "at Ann's").startswith(
        "**key**\n\nat Ann's\n\n_note, you wrote it, "
    )
    assert shell.run_successfully("memory", "list") == f"{MINE}  note  1  key  at Ann's\n"
    assert shell.run_successfully("memory", "undo") == "Undone: at Ann's\n"


def test_recall_prints_objects_of_seven_fields(shell: Shell, data: Path) -> None:
    note, *messages = sorted(shell.json("recall", "red lighthouse"), key=lambda hit: hit["kind"] == "message")
    assert note == {
        "name": "lighthouse",
        "kind": "note",
        "content": "The lighthouse is red",
        "score": note["score"],
        "created_at": "2026-02-07T12:15:00.000Z",
        "owner": THEIRS,
        "source": "user",
    }
    assert [(m["name"], m["kind"], m["content"], m["source"]) for m in messages] == [
        (None, "message", "Which lighthouse is red?", "user"),
        (None, "message", "That of Odesa.", "assistant"),
    ]
    assert all(isinstance(hit["score"], float) and hit["score"] > 0 for hit in (note, *messages))


def test_recall_filters_by_owner_kind_and_limit(shell: Shell, data: Path) -> None:
    shell.run_successfully("memory", "add", "mine", "a lighthouse")
    assert {hit["owner"] for hit in shell.json("recall", "lighthouse")} == {MINE, THEIRS}
    assert [hit["name"] for hit in shell.json("recall", "lighthouse", "--owner", MINE)] == ["mine"]
    assert len(shell.json("recall", "lighthouse", "--kind", "message")) == 2
    assert len(shell.json("recall", "lighthouse", "--limit", "1")) == 1
    assert shell.json("recall", "zebra") == []
    assert shell.json("recall", "\"' NOT (") == []
    assert "[2026-02-07 12:15, note lighthouse] The lighthouse is red" in shell.run_successfully("recall", "lighthouse")


def test_entry_is_added_with_scope_priority_and_tags(shell: Shell) -> None:
    more = ("--kind", "policy", "--scope", "./src/api/**", "--priority", "high", "--tags", "api, #Json", "--tags", "v2")
    added = shell.json("memory", "add", "naming", "Names are in snake case", *more)
    assert (added["scope"], added["priority"], added["tags"]) == ("src/api/**", "high", ["api", "Json", "v2"])
    assert shell.json("memory", "show", "naming") == added
    shown = shell.run_successfully("memory", "show", "naming")
    assert shown.endswith("priority high, for src/api/**, #api, #Json, #v2_\n")
    status, _, err = shell.run("memory", "add", "x", "x", "--priority", "urgent")
    assert status == 2
    assert "urgent" in err
    status, _, err = shell.run("memory", "add", "x", "x", "--scope", "src/[a")
    assert (status, err) == (1, "mneme: 'src/[a' isn't a path pattern: write one such as src/api/** or docs/*.md.\n")


def test_recall_filters_by_scope_and_tags(shell: Shell, data: Path) -> None:
    shell.run_successfully("memory", "add", "one", "lighthouse one", "--scope", "src/api/**", "--tags", "Маяк,sea")
    shell.run_successfully("memory", "add", "two", "lighthouse two", "--scope", "docs/*.md", "--tags", "sea")
    shell.run_successfully("memory", "add", "three", "lighthouse three")

    def found(query: str, *filters: str) -> set[str | None]:
        return {hit["name"] for hit in shell.json("recall", query, *filters)}

    assert found("lighthouse") == {"one", "two", "three", "lighthouse", None}
    assert found("lighthouse", "--scope", "src/api/users.py") == {"one"}
    assert found("lighthouse", "--scope", "docs/*.md") == {"two"}
    assert found("lighthouse", "--scope", "elsewhere") == set()
    assert found("lighthouse", "--tags", "sea") == found("lighthouse", "--tags", "SEA") == {"one", "two"}
    assert (
        found("lighthouse", "--tags", "sea,#маяк") == found("lighthouse", "--tags", "sea", "--tags", "маяк") == {"one"}
    )
    assert found("lighthouse", "--tags", "land") == set()
    assert found("two", "--tags", "маяк") == set()
    assert found("lighthouse", "--tags", "sea", "--scope", "docs/a.md") == {"two"}
    assert "lighthouse two" not in shell.run_successfully("recall", "lighthouse", "--tags", "маяк")


def test_shell_reads_all_owners_and_writes_its_own(shell: Shell, data: Path) -> None:
    assert shell.json("memory", "show", "lighthouse")["owner"] == THEIRS
    assert [entry["owner"] for entry in shell.json("memory", "list")] == [THEIRS]
    assert shell.json("memory", "list", "--owner", MINE) == []
    status, _, err = shell.run("memory", "remove", "lighthouse")
    assert (status, err) == (
        1,
        "mneme: I don't remember anything called 'lighthouse': `mneme memory list` shows what I remember.\n",
    )
    assert shell.json("memory", "add", "lighthouse", "mine")["owner"] == MINE
    assert shell.json("memory", "show", "lighthouse")["owner"] == MINE
    assert shell.json("memory", "show", "lighthouse", "--owner", THEIRS)["content"] == "The lighthouse is red"
    assert shell.json("memory", "write", "lighthouse", "It is white", "--owner", THEIRS)["content"] == "It is white"
    assert shell.json("memory", "undo", "--owner", THEIRS)["operation"] == "write"


def test_shared_memory_is_written_by_the_shell(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_SCOPE", "shared")
    assert shell.json("memory", "add", "key", "x")["owner"] == "shared"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("memory", "show", "nobody"), "mneme: I don't remember anything called 'nobody'"),
        (("memory", "write", "nobody", "x"), "mneme: I don't remember anything called 'nobody'"),
        (("memory", "add", "", "x"), "mneme: A name can't be empty"),
        (("memory", "add", "x", " "), "mneme: I can't remember an empty text"),
        (("memory", "add", "lighthouse", "x", "--owner", THEIRS), "mneme: The name 'lighthouse' is taken by a note"),
        (("memory", "add", "x", "my password is hunter22"), "mneme: This looks like a password, which I never store"),
        (("export", "out", "--owner", "telegram:9"), "mneme: telegram:9 has no data"),
    ],
)
def test_failing_command_exits_with_1_and_one_sentence(
    shell: Shell, data: Path, arguments: tuple[str, ...], says: str
) -> None:
    status, out, err = shell.run(*arguments)
    assert (status, out) == (1, "")
    assert err.startswith(says)
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("memory", "add", "x"),
        ("memory", "paint"),
        ("memory", "add", "x", "y", "--kind", "poem"),
        ("recall",),
        ("recall", "x", "--limit", "0"),
        ("recall", "x", "--colour"),
    ],
)
def test_wrong_usage_exits_with_2(shell: Shell, arguments: tuple[str, ...]) -> None:
    status, out, err = shell.run(*arguments)
    assert (status, out) == (2, "")
    assert "Usage" in err


def test_wrong_configuration_exits_with_2(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_SCOPE", "nobody")
    status, _, err = shell.run("memory", "list")
    assert status == 2
    assert err.startswith("mneme: MEMORY_SCOPE")


def test_help_is_available_in_the_usual_ways(shell: Shell) -> None:
    assert shell.run_successfully("-h") == shell.run_successfully("--help")
    assert "Upkeep" in shell.run_successfully("help")
    assert "Usage" in shell.run_successfully("memory", "-h")


def test_run_without_a_token_exits_at_once(shell: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("TELEGRAM_BOT_TOKEN", raising=False)
    status, out, err = shell.run("run")
    assert (status, out) == (2, "")
    assert err.startswith(f"mneme: TELEGRAM_BOT_TOKEN is missing, and there is no {tmp_path / '.env'}: ")
    assert err.count("\n") == 1


@needs_feature("page")
def test_web_at_a_port_in_use_names_the_option(shell: Shell) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        _status, out, err = shell.run("web", "--port", str(port))
    assert out == "Starting the memory page. This can take some seconds.\n"
    assert err.endswith(f"mneme: Port {port} is in use: choose another with --port.\n")


@pytest.mark.parametrize("command", ["memory", "recall", "export", "import", "reindex", "migrate"])
def test_each_command_has_a_help_text(shell: Shell, command: str) -> None:
    assert "Usage" in shell.run_successfully(command, "--help")


def list_commands() -> list[str]:
    """Return all commands of the command line, beginning with the one without a name."""

    def list_below(command: Any, path: str) -> list[str]:
        children = getattr(command, "commands", {}).items()
        return [path, *(line for name, child in children for line in list_below(child, f"{path} {name}".strip()))]

    return list_below(get_command(cli), "")


@pytest.mark.parametrize("command", list_commands())
def test_help_fits_80_columns_and_breaks_no_word(shell: Shell, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = shell.run_successfully(*command.split(), "--help").splitlines()
    assert max(map(len, lines)) <= 80
    broken = re.compile(r"<[a-z|]+ *│")  # The type of a value continues on the next line
    assert not [line for line in lines if broken.search(line)]
    assert not [line for line in lines if "…" in line or "<bool>" in line or ("Usage:" in line and "{" in line)]


@needs_feature("imports")
def test_help_wraps_each_paragraph(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = [line.strip() for line in shell.run_successfully("import", "--help").splitlines()]
    first = lines.index("Import the export of another program, or a whole export of Mneme.")
    paragraph = lines[first + 2 : lines.index("", first + 2)]
    assert len(paragraph) > 3
    assert min(map(len, paragraph[:-1])) > 60


@pytest.mark.parametrize("command", [line for line in list_commands() if line])
def test_every_argument_and_option_is_explained(command: str) -> None:
    found: Any = get_command(cli)
    for name in command.split():
        found = found.commands[name]
    unexplained = [p.name for p in found.params if p.help is None]
    assert unexplained == []


@pytest.mark.parametrize(
    "command",
    [
        "memory list",
        pytest.param("web", marks=needs_feature("page")),
        "backup copy.zip",
        "restore missing.zip",
        pytest.param("mcp list", marks=needs_feature("mcp_tools")),
    ],
)
def test_file_as_data_directory_is_one_sentence(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: str
) -> None:
    file = tmp_path / "file"
    file.touch()
    monkeypatch.setenv("MNEME_DATA_DIR", str(file / "below"))
    status, _, err = shell.run(*command.split())
    if status:
        assert err.startswith("mneme: ")
        assert err.count("\n") == 1


@needs_feature("imports")
def test_shell_takes_the_number_that_it_lists(shell: Shell, data: Path) -> None:
    shell.run_successfully("memory", "add", "boat", "Aurora")
    rows = [line.split() for line in shell.run_successfully("memory", "list").splitlines()]
    numbers = {row[3]: row[2] for row in rows}
    assert "Aurora" in shell.run_successfully("memory", "show", numbers["boat"])
    assert "The lighthouse is red" in shell.run_successfully("memory", "show", numbers["lighthouse"])
    shell.run_successfully("memory", "remove", numbers["boat"])
    assert "boat" not in shell.run_successfully("memory", "list")


def test_memory_in_a_read_only_folder_can_be_read(shell: Shell, data: Path, tmp_path: Path) -> None:
    # SQLite can't create its shared files, as in a read-only folder or on a full disk. Root may write everywhere.
    (data / "mneme.db-shm").symlink_to("missing/mneme.db-shm")
    assert "The lighthouse is red" in shell.run_successfully("recall", "lighthouse")
    assert "lighthouse" in shell.run_successfully("memory", "list")
    assert "The lighthouse is red" in shell.run_successfully("memory", "show", "lighthouse")
    assert "1 memory" in shell.run_successfully("export", str(tmp_path / "elsewhere"))
    assert "1 memory" in shell.run_successfully("backup", str(tmp_path / "backup.zip"))
    status, _, err = shell.run("memory", "add", "boat", "Aurora")
    assert status == 1
    assert "can't be written: check the owner and permissions of its folder" in err


@pytest.mark.parametrize("arguments", [("recall", "lighthouse"), ("memory", "list"), ("memory", "show", "lighthouse")])
def test_memory_on_a_full_disk_can_be_read(shell: Shell, data: Path, arguments: tuple[str, ...]) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))  # No file may grow.
    try:
        assert "The lighthouse is red" in shell.run_successfully(*arguments)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@needs_feature("imports")
def test_foreign_export_is_previewed_imported_and_undone(shell: Shell, data: Path, tmp_path: Path) -> None:
    file = str(exports.write_chatgpt(tmp_path, 20))
    what = "Imported from ChatGPT: 2 conversations (20 messages, 2023-03-14 to 2023-03-14)."
    preview = what.replace("Imported", "Would be imported")
    shown = shell.run_successfully("import", file, "--dry-run").splitlines()
    assert shown == [f"{preview} Nothing was written.", "Left out: messages of replaced branches (2)."]
    assert "missing.zip doesn't exist" in re.sub(r"[│\s]+", " ", shell.run("import", "missing.zip")[2])
    assert "number7" not in shell.run("recall", "number7")[1]
    done = shell.run_successfully("import", file).splitlines()
    assert (done[0], done[1]) == (what, shown[1])
    assert done[2].startswith("To undo this, run `mneme memory undo --owner console:local`, or")
    assert "number7" in shell.run_successfully("recall", "number7")
    assert shell.run_successfully("import", file).startswith("Imported from ChatGPT: nothing new.\nAlready there: 2.\n")
    shell.run_successfully("memory", "undo", "--owner", "console:local")
    assert "number7" not in shell.run("recall", "number7")[1]
    refusal = re.sub(r"[│\s]+", " ", shell.run("import", _export_own(shell), "--learn")[2])
    assert "leave out --learn" in refusal


@needs_feature("imports")
def test_own_export_is_previewed_without_writing(
    shell: Shell, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export = _export_own(shell)
    assert "This installation is not empty" in shell.run("import", export, "--dry-run")[2]
    monkeypatch.setenv("MNEME_DATA_DIR", str(tmp_path / "new"))
    said = shell.run_successfully("import", export, "--dry-run")
    assert said.startswith("2 messages, 1 conversation, 1 memory and the Markdown files would be imported from ")
    assert said.endswith(". Nothing was written.\n")
    assert shell.json("memory", "list") == []
    assert shell.run_successfully("import", export) == said.replace("would be", "were").replace(
        " Nothing was written.", ""
    )
    assert shell.json("memory", "show", "lighthouse")["content"] == "The lighthouse is red"


@needs_feature("imports")
def test_import_of_a_chat_lists_speakers_and_takes_me(shell: Shell, data: Path, tmp_path: Path) -> None:
    file = str(exports.write_whatsapp(tmp_path, 10))
    refusal = re.sub(r"[│\s]+", " ", shell.run("import", file)[2])
    assert "add --me NAME with one of Ann, Bob, or --me '' if none is" in refusal
    assert shell.run_successfully("import", file, "--me", "Bob").startswith("Imported from WhatsApp: 1 conversation")


@needs_feature("imports")
@pytest.mark.parametrize("owner", ["ftp://x", "telegram:ann", "ann", "telegram:1:2"])
def test_import_for_an_impossible_owner_is_refused(shell: Shell, data: Path, tmp_path: Path, owner: str) -> None:
    status, _, err = shell.run("import", str(exports.write_chatgpt(tmp_path, 10)), "--owner", owner)
    assert status == 2
    refusal = re.sub(r"[│\s]+", " ", err)
    assert f"'{owner}' isn't a chat: write it like telegram:12345." in refusal


def _export_own(shell: Shell) -> str:
    shell.run_successfully("export", "own")
    return "own"


def test_export_can_be_imported_elsewhere(
    shell: Shell, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exported = "2 messages, 1 conversation, 1 memory and the Markdown files are in one.\n"
    assert shell.run_successfully("export", "one") == exported
    assert "is not empty: choose a new folder" in shell.run("export", "one")[2]
    amounts = "2 messages, 1 conversation, 1 memory"
    assert f"This installation is not empty ({amounts}): import into" in shell.run("import", "one")[2]
    before = shell.json("recall", "lighthouse")
    monkeypatch.setenv("MNEME_DATA_DIR", str(tmp_path / "new"))
    # Reading leaves a new installation empty.
    shell.json("memory", "undo")
    shell.run("memory", "show", "nobody")
    assert "were imported from one" in shell.run_successfully("import", "one")
    assert shell.json("recall", "lighthouse") == before
    shell.run_successfully("export", "two")
    for path in (tmp_path / "one" / "rows").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / "rows" / path.name).read_bytes()


def test_export_of_one_owner_contains_no_other(shell: Shell, data: Path, tmp_path: Path) -> None:
    shell.run_successfully("memory", "add", "mine", "a lighthouse")
    shell.run_successfully("export", "one", "--owner", MINE)
    assert "a lighthouse" in (tmp_path / "one" / "entries" / MINE / "note.md").read_text()
    assert "telegram" not in "".join(path.read_text() for path in (tmp_path / "one" / "rows").iterdir())


def test_reindex_and_migrate_keep_the_memory(shell: Shell, data: Path) -> None:
    before = shell.json("recall", "lighthouse")
    assert shell.run_successfully("reindex") == "The search index was rebuilt.\n"
    assert shell.json("recall", "lighthouse") == before
    assert shell.run_successfully("migrate").startswith(f"{data / 'mneme.db'} has format ")


@pytest.mark.slow
async def test_shell_and_chat_share_one_memory(model: ModelServer) -> None:
    async def mneme(*arguments: str) -> tuple[int, str, str]:
        environment = os.environ | {"OPENAI_BASE_URL": model.url, "LLM_MODEL": "scripted"}
        return await asyncio.to_thread(run_mneme, *arguments, environment=environment)

    status, _, err = await mneme("memory", "add", "gate", "The gate code is a prime number")
    assert (status, err) == (0, "")
    status, out, err = await mneme("chat", "-m", "What is the gate code?")
    assert (status, err) == (0, "")
    assert out == "You said: What is the gate code?\n"
    assert "note gate] The gate code is a prime number" in model.requests[-1].system()
    status, out, _ = await mneme("chat", "-m", "/undo")
    assert (status, out) == (0, "Undone: The gate code is a prime number\n")
    status, out, err = await mneme("memory", "show", "gate")
    assert (status, out, err) == (
        1,
        "",
        "mneme: I don't remember anything called 'gate': `mneme memory list` shows what I remember.\n",
    )
    status, _, _ = await mneme("memory", "paint")
    assert status == 2


def test_recall_by_name_or_alias_lists_the_entry_first(shell: Shell) -> None:
    shell.run_successfully("memory", "add", "wifi", "The guests use Kolibri")
    shell.run_successfully("memory", "alias", "wifi", "network")
    for number in range(3):
        shell.run_successfully(
            "memory", "add", f"note {number}", "The network is down, the network is up, network, wifi"
        )
    assert shell.json("recall", "network")[0]["name"] == "wifi"
    assert shell.json("recall", "WiFi")[0]["name"] == "wifi"


def test_message_identical_to_the_query_is_no_hit(shell: Shell, data: Path) -> None:
    assert [hit["content"] for hit in shell.json("recall", "which lighthouse is red?")] == [
        "The lighthouse is red",
        "That of Odesa.",
    ]


@pytest.mark.parametrize("command", [("recall", "key"), ("memory", "list"), ("memory", "add", "key", "at Ann's")])
def test_unknown_kind_is_refused_with_the_known_ones(shell: Shell, command: tuple[str, ...]) -> None:
    status, out, err = shell.run(*command, "--kind", "bogus")
    assert (status, out) == (2, "")
    assert "bogus" in err
    assert "preference" in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("recall", "x", "--limit", "many"), "Invalid value for '--limit': use a whole number."),
        (("recall", "x", "--limit", "0"), "Invalid value for '--limit': it should be greater than or equal to 1"),
        (("members", "revoke", "ann"), "Invalid value for 'ID': use a whole number."),
        (("memory", "add", "a", "b", "--priority", "much"), "Invalid value for '--priority': 'much' is not one of"),
    ],
)
def test_wrong_argument_is_explained_without_programming_terms(
    shell: Shell, arguments: tuple[str, ...], said: str
) -> None:
    assert said in re.sub(r"[│\s]+", " ", shell.run(*arguments)[2])


def test_empty_result_is_reported(shell: Shell) -> None:
    assert shell.run("recall", "anything") == (0, "", "No results.\n")
    assert shell.run("memory", "list") == (0, "", "No results.\n")
    assert shell.json("recall", "anything") == []


def test_scores_are_rounded_and_sorted(shell: Shell, data: Path) -> None:
    for hit in shell.json("recall", "red lighthouse"):
        assert len(f"{hit['score']}".replace(".", "").partition("e")[0].strip("0")) <= 3
    shares = [int(line.partition("%")[0]) for line in shell.run_successfully("recall", "red lighthouse").splitlines()]
    assert shares[0] == 100
    assert shares == sorted(shares, reverse=True)
    assert shares[-1] > 0


def test_version_and_help_are_printed(shell: Shell) -> None:
    assert re.fullmatch(r"mneme \d+\.\d+\.\d+\n", shell.run_successfully("--version"))
    text = shell.run_successfully("--help")
    places = [text.index(word) for word in ("Talk", "chat", "Memory", "recall", "Upkeep", "backup")]
    assert places == sorted(places)
    assert 'mneme chat -m "' in text


def test_24_members_are_listed_and_revoked_from_the_shell(shell: Shell, tmp_path: Path, clock: FakeClock) -> None:
    async def claim() -> None:
        database = await Database.open(tmp_path / "data" / "mneme.db")
        access = AccessList(database, "telegram", clock)
        assert await access.claim(12345, await access.new_claim_code())
        await database.close()

    assert shell.run("members", "list") == (0, "", "The bot has no members yet.\n")
    asyncio.run(claim())
    assert shell.run_successfully("members", "list") == "12345  since 2026-02-07 12:15 UTC\n"
    assert "12345 can no longer use the bot" in shell.run_successfully("members", "revoke", "12345")
    status, _, said = shell.run("members", "revoke", "12345")
    assert (status, said.strip()) == (1, "mneme: 12345 has not claimed the bot: `mneme members list` shows who has.")
