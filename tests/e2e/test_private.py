"""Tests of /private: memory is read, and no word of the talk is in any file, then or later."""

from __future__ import annotations

import asyncio
from pathlib import Path

from bot.kernel import App
from memory.store.database import Database
from memory.transfer.exporting import Exporter
from memory.transfer.importing import Importer
from tests.conftest import OpenApp
from tests.support.bot_api.files import create_document
from tests.support.bot_api.server import BotApiServer
from tests.support.fakes import FakeClock, Person
from tests.support.features import needs_feature
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Calls, Fails, Holds, Says
from tests.support.serving import ANN, GROUP, STRANGER, Serve, list_labels, list_texts, list_toasts, press
from tests.support.talk import Store

WORD = "quetzal"
MINE = f"telegram:{ANN}"


def find_files_containing(folder: Path, word: str = WORD) -> list[str]:
    """Return the names of the files in a folder that contain a word, ignoring case."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path.name for path in files if word.encode() in path.read_bytes().lower()]


async def say(telegram: BotApiServer, app: App, text: str, chat_id: int = ANN, **more: object) -> str:
    """Send a message and return the bot's answer."""
    before = len(telegram.list_sent(chat_id))
    telegram.user_says(text, chat_id=chat_id, **more)  # type: ignore[arg-type]  # The keyword arguments of user_says.
    await telegram.wait_for(lambda: len(telegram.list_sent(chat_id)) > before)
    await wait_until_settled(app)
    return list_texts(telegram, chat_id)[-1]


async def wait_until_settled(app: App) -> None:
    """Wait until all messages are processed and all answers are settled."""
    for lane in app.runner.queues.list_all():
        if lane.worker is not None:
            await lane.worker


async def wait_until(database: Database, sql: str) -> None:
    """Wait until a query returns true."""
    async with asyncio.timeout(20):
        while not await database.value(sql):
            pass


async def wait_until_sent(app: App) -> None:
    """Wait until the outbox has marked everything as sent."""
    for database in app.database.private.list_databases():
        await wait_until(database, "SELECT NOT EXISTS (SELECT 1 FROM outbox WHERE state = 'waiting')")


async def snapshot_memory(app: App) -> tuple[object, ...]:
    """Return everything in memory."""
    store = Store.create(app.database, app.clock)  # type: ignore[arg-type]  # Tests use a fake clock.
    entries = [
        (e.name, e.content, e.kind, e.reinforcement_count, e.superseded_by) for e in await store.entries.list(MINE)
    ]
    folder = app.settings.mneme_data_dir / "memory"
    files = {path.name: path.read_text() for path in folder.rglob("*.md")}
    counts = [
        await app.database.value(f"SELECT count(*) FROM {table}")  # noqa: S608  # The names are constants.
        for table in ("changes", "notices", "reminders", "spoken", "vectors", "search_parts_docsize", "search_docsize")
    ]
    return entries, files, counts


@needs_feature("media", "reminders")
async def test_private_talk_reads_memory_and_writes_no_file(
    serve: Serve, telegram: BotApiServer, model: ModelServer, tmp_path: Path
) -> None:
    async with serve() as app:
        await say(telegram, app, "/remember The boat Nimrod lies in Odesa")
        await say(telegram, app, "Good morning, today I paint the fence")
        before = await snapshot_memory(app)
        assert "private from now on" in await say(telegram, app, "/private")
        model.script(Says(f"Aha, {WORD} soup. And Nimrod lies in Odesa."))
        await say(telegram, app, f"I prefer {WORD} soup in the boat Nimrod")
        request = model.requests[-1]
        assert "The boat Nimrod lies in Odesa" in request.added
        assert any("paint the fence" in said for said in request.said)
        assert "nothing of this talk is kept" in request.added
        # By request, command, tool call, file and failure.
        await say(telegram, app, f"Remember that the {WORD} is in the attic")
        assert "This wasn't saved, because the conversation is private" in await say(
            telegram, app, f"/remember {WORD} lessons are on Mondays"
        )
        assert WORD not in await say(telegram, app, "/recall soup")
        model.script(
            Calls((("note_add", {"name": WORD, "content": f"a {WORD} in the garden"}),)),
            Calls((("reminder_set", {"text": f"feed the {WORD}", "when": "2026-03-01T09:00"}),)),
            Calls((("memory_file", {"action": "append", "text": f"Has a {WORD}"}),)),
            Calls((("memory_recall", {"queries": ["boat Nimrod"]}),)),
            Says("I can't keep that here."),
        )
        await say(telegram, app, f"Note the {WORD} and remind me of it")
        refused = [str(one.last) for one in model.requests[-4:-1]]
        assert all("/new first" in text for text in refused)
        assert "The boat Nimrod" in str(model.requests[-1].last)
        telegram.user_says(
            chat_id=ANN, sends=create_document(f"{WORD}.csv", f"bird\n{WORD}\n", "text/csv"), caption="What?"
        )
        await telegram.wait_for(lambda: "What?" in list_texts(telegram)[-1])
        model.script(Fails(500), Fails(500), Fails(500), Fails(500))
        await say(telegram, app, f"Does a {WORD} fail?")
        telegram.user_says(f"And the {WORD} again", chat_id=ANN)
        await telegram.wait_for(lambda: "again" in list_texts(telegram)[-1])
        await say(telegram, app, "/retry")
        assert "Nothing in this conversation is saved" in await say(telegram, app, "/status")
        assert await snapshot_memory(app) == before
        # The messages before it leave the model's view too. They are consolidated later.
        assert "until /new. Kept unchanged: 2." in await say(telegram, app, "/compact 2")
        await say(telegram, app, f"One more {WORD}")
        assert WORD in model.requests[-1].prompt
        assert WORD not in str(await snapshot_memory(app))
        await wait_until_sent(app)
        assert find_files_containing(tmp_path) == []

        assert "The private conversation has ended and was deleted" in await say(telegram, app, "/new")
        await wait_until_sent(app)
        assert find_files_containing(tmp_path) == []
        # Messages before it are stored and consolidated as usual.
        spoken = await app.database.rows("SELECT content FROM spoken ORDER BY id")
        assert "Good morning, today I paint the fence" in [row["content"] for row in spoken]
        assert await app.database.value("SELECT sum(consolidation_due) FROM conversations") > 0
        await say(telegram, app, "/remember tea from the samovar")
        await say(telegram, app, "Good evening")
        assert any("samovar" in entry[1] for entry in (await snapshot_memory(app))[0])  # type: ignore[attr-defined]
        assert not any(WORD in str(message) for message in model.requests[-1].messages)
    assert find_files_containing(tmp_path) == []


async def test_private_talk_explains_itself_and_its_button_ends_it(
    serve: Serve, telegram: BotApiServer, tmp_path: Path
) -> None:
    async with serve() as app:
        assert "/private" in await say(telegram, app, "/help")
        await say(telegram, app, "/private")
        assert "already private" in await say(telegram, app, "/private")
        await say(telegram, app, f"My {WORD} is ill")
        press(telegram, "End and delete it")
        await telegram.wait_for(lambda: "has ended and was deleted" in list_texts(telegram)[-1])
        await wait_until_settled(app)
        await wait_until_sent(app)
        assert find_files_containing(tmp_path) == []
        assert "Private" not in await say(telegram, app, "/status")


async def test_restart_deletes_the_private_talk_and_stays_private(
    serve: Serve, telegram: BotApiServer, model: ModelServer, tmp_path: Path
) -> None:
    async with serve() as app:
        await say(telegram, app, "The fence is green")
        await say(telegram, app, "/private")
        await say(telegram, app, f"My {WORD} is called Rex")
        await wait_until_sent(app)
        assert find_files_containing(tmp_path) == []
    async with serve() as app:
        assert "private conversation are deleted" in await say(
            telegram, app, f"I always prefer the {WORD} to the parrot"
        )
        said = model.requests[-1].said
        assert any("fence is green" in text for text in said)
        assert not any("called Rex" in text for text in said)
        assert "is gone" not in await say(telegram, app, f"And what of the {WORD}?")
        assert any("to the parrot" in text for text in model.requests[-1].said)
        assert (await snapshot_memory(app))[0] == []
        assert WORD not in await say(telegram, app, "/recall parrot")
        await say(telegram, app, "/new")
        await wait_until_sent(app)
        assert find_files_containing(tmp_path) == []


async def begin_private_behind_a_turn(telegram: BotApiServer, model: ModelServer) -> None:
    """Send /private while an answer is being written, so that it waits."""
    model.script(Holds("It takes a while"))
    telegram.user_says("Tell me of the fence", chat_id=ANN)
    await telegram.wait_for(lambda: telegram.list_drafts(ANN))
    telegram.user_says("/private", chat_id=ANN)


async def test_messages_after_a_waiting_private_are_in_no_file(
    serve: Serve, telegram: BotApiServer, model: ModelServer, tmp_path: Path
) -> None:
    async with serve() as app:
        await begin_private_behind_a_turn(telegram, model)
        telegram.user_says(f"My {WORD} is called Rex", chat_id=ANN)
        await telegram.wait_for(lambda: app.runner.queues.count_waiting(MINE) == 2)
        assert find_files_containing(tmp_path) == []
        telegram.user_says("/stop", chat_id=ANN)
        await telegram.wait_for(lambda: any("2 waiting" in text for text in list_texts(telegram)))
        telegram.user_says("Go on", chat_id=ANN)
        await telegram.wait_for(lambda: any("You said: Go on" in text for text in list_texts(telegram)))
        await wait_until_sent(app)
        assert any("private from now on" in text for text in list_texts(telegram))
        assert any(WORD in said for said in model.requests[-1].said)
        assert find_files_containing(tmp_path) == []


async def test_waiting_private_is_not_lost_by_another_answer(
    serve: Serve, telegram: BotApiServer, model: ModelServer, tmp_path: Path
) -> None:
    async with serve() as app:
        await begin_private_behind_a_turn(telegram, model)
        await telegram.wait_for(lambda: app.runner.queues.count_waiting(MINE) == 1)
        telegram.user_says("/status", chat_id=ANN)  # Answered while the turn runs.
        await telegram.wait_for(lambda: list_texts(telegram))
        telegram.user_says(f"My {WORD} is called Rex", chat_id=ANN)
        await telegram.wait_for(lambda: app.runner.queues.count_waiting(MINE) == 2)
        assert find_files_containing(tmp_path) == []
        telegram.user_says("/stop", chat_id=ANN)
        await telegram.wait_for(lambda: any("2 waiting" in text for text in list_texts(telegram)))
    assert find_files_containing(tmp_path) == []


async def test_group_topic_is_private_alone_and_for_managers_only(
    serve: Serve, telegram: BotApiServer, model: ModelServer, tmp_path: Path
) -> None:
    telegram.register_chat(GROUP, chat_type="supergroup")
    telegram.register_thread(GROUP, 7)
    telegram.register_thread(GROUP, 8)
    telegram.owns(ANN, GROUP)

    async def in_topic(app: App, topic: int, text: str, user: int = ANN) -> str:
        return await say(
            telegram, app, f"@mneme_test_bot {text}", GROUP, user_id=user, chat_type="supergroup", thread_id=topic
        )

    async with serve(telegram_allowed_ids=str(GROUP)) as app:
        guest = await say(
            telegram, app, "/private@mneme_test_bot", GROUP, user_id=STRANGER, chat_type="supergroup", thread_id=7
        )
        assert "administrators" in guest
        await say(telegram, app, "/private@mneme_test_bot", GROUP, user_id=ANN, chat_type="supergroup", thread_id=7)
        model.script(Calls((("memory_recall", {"queries": ["parrot"]}),)), Says("No."))
        await in_topic(app, 7, f"The {WORD} is dearer than the parrot")
        await in_topic(app, 8, "The parrot is called Coco")
        assert not any(WORD in str(message) for message in model.requests[-1].messages)
        spoken = [row["content"] for row in await app.database.rows("SELECT content FROM spoken WHERE role = 'user'")]
        assert spoken == ["The parrot is called Coco"]
        await say(telegram, app, "/new@mneme_test_bot", GROUP, user_id=ANN, chat_type="supergroup", thread_id=7)
        await wait_until_sent(app)
        assert find_files_containing(tmp_path) == []
        assert find_files_containing(tmp_path, "coco") != []


async def test_private_talk_of_a_group_is_ended_by_managers_only(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    telegram.register_chat(GROUP, chat_type="supergroup")

    async def in_group(app: App, text: str, user: int) -> str:
        return await say(telegram, app, text, GROUP, user_id=user, chat_type="supergroup")

    async with serve(telegram_allowed_ids=f"{ANN},{GROUP}") as app:
        assert "already a new" in await in_group(app, "/new@mneme_test_bot", STRANGER)
        await in_group(app, "/private@mneme_test_bot", ANN)
        await in_group(app, f"@mneme_test_bot The {WORD} is dear", ANN)
        for name in ("new", "compact"):
            refused = await in_group(app, f"/{name}@mneme_test_bot", STRANGER)
            assert refused == f"In a group, only administrators and the bot's owner can use /{name}."
        press(telegram, "End and delete it", GROUP, STRANGER)
        await telegram.wait_for(lambda: list_toasts(telegram))
        await in_group(app, "@mneme_test_bot And now?", ANN)
        assert WORD in model.requests[-1].prompt
        assert "ended and was deleted" in await in_group(app, "/new@mneme_test_bot", ANN)
        await in_group(app, "@mneme_test_bot Hello", STRANGER)
        assert "New conversation" in await in_group(app, "/new@mneme_test_bot", STRANGER)


@needs_feature("media")
async def test_document_is_searched_in_its_private_talk_only(
    serve: Serve, telegram: BotApiServer, model: ModelServer, tmp_path: Path
) -> None:
    pages = "\n".join([f"Line {number} of a report that says little" for number in range(2_000)])
    report = create_document("report.txt", f"{pages}\nThe {WORD} costs 4,312 euros.\n", "text/plain")
    async with serve(telegram_allowed_ids=f"{ANN},{STRANGER}", memory_scope="shared") as app:
        await say(telegram, app, "/private")
        model.script(
            Calls((("document_search", {"query": f"what does the {WORD} cost"}),)),
            Says("4,312 euros."),
        )
        telegram.user_says(chat_id=ANN, sends=report, caption="What is dear?")
        await telegram.wait_for(lambda: "4,312" in list_texts(telegram)[-1])
        assert "4,312 euros" in str(model.requests[-1].last)
        for call in (("document_search", {"query": "euros"}), ("document_read", {"document": 1, "part": 1})):
            model.script(Calls((call,)), Says("Nothing."))
            await say(telegram, app, "And mine?", STRANGER)
            assert "4,312" not in str(model.requests[-1].last)
        await say(telegram, app, "/new")
        await wait_until_sent(app)
        assert find_files_containing(tmp_path) == []
        assert await app.database.value("SELECT count(*) FROM media") == 0
        await app.database.write("INSERT INTO search_parts (search_parts) VALUES ('integrity-check')")


async def test_late_confirmation_and_late_edit_leave_nothing(
    serve: Serve, telegram: BotApiServer, tmp_path: Path
) -> None:
    confirmed = asyncio.Event()
    async with serve() as app:
        await say(telegram, app, "/private")
        await wait_until_sent(app)
        telegram.fault("sendMessage", late=confirmed)
        update = telegram.user_says(f"My {WORD} is called Rex", chat_id=ANN)
        await telegram.wait_for(lambda: "called Rex" in list_texts(telegram)[-1])
        telegram.user_says("/new", chat_id=ANN)
        await wait_until(app.database, "SELECT NOT private FROM sessions")
        confirmed.set()
        await telegram.wait_for(lambda: "has ended" in list_texts(telegram)[-1])
        await wait_until_sent(app)
        assert find_files_containing(tmp_path) == []
        telegram.user_says(f"My {WORD} is called Tom", chat_id=ANN, edit_of=telegram.find_message_id(update))
        await telegram.wait_for(lambda: "before you edited it" in list_texts(telegram)[-1])
        await wait_until_sent(app)
        assert find_files_containing(tmp_path) == []


async def test_message_held_by_stop_is_not_answered_after_the_talk(
    serve: Serve, telegram: BotApiServer, model: ModelServer, tmp_path: Path
) -> None:
    async with serve() as app:
        await say(telegram, app, "/private")
        model.script(Holds(f"The {WORD} is"))
        telegram.user_says(f"What is a {WORD}?", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.list_drafts(ANN))
        telegram.user_says(f"And a second {WORD}", chat_id=ANN)
        await telegram.wait_for(lambda: app.runner.queues.count_waiting(MINE) == 1)
        telegram.user_says("/stop", chat_id=ANN)
        await telegram.wait_for(lambda: any("Stopped" in text for text in list_texts(telegram)))
        await wait_until_settled(app)
        await say(telegram, app, "/new")
        await wait_until_sent(app)
        assert find_files_containing(tmp_path) == []
        await say(telegram, app, "Good morning")
        assert model.requests[-1].said == ["Good morning"]
    async with serve() as app:
        await say(telegram, app, "Good night")
    assert not any(WORD in text for text in list_texts(telegram)[-2:])


async def test_retry_leaves_messages_before_the_talk_unchanged(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    async with serve() as app:
        await say(telegram, app, "The fence is green")
        await say(telegram, app, "/private")
        assert "There is no message since /private" in await say(telegram, app, "/retry")
        await say(telegram, app, "And the door?")
        model.script(Says("Blue."))
        assert await say(telegram, app, "/retry") == "Blue."
        assert [said.split("\n")[0] for said in model.requests[-1].said][-1] == "And the door?"
        await say(telegram, app, "/new")
        kept = [row["content"] for row in await app.database.rows("SELECT content FROM messages ORDER BY id")]
    assert kept == ["The fence is green", "You said: The fence is green"]


async def test_long_private_talk_is_compacted_and_its_summary_deleted(
    start: OpenApp, model: ModelServer, tmp_path: Path
) -> None:
    async with start(memory_window=6, compaction_keep_last_messages=2) as app:
        person = Person(app)
        await person.says("The fence is green")
        await person.says("/private")
        for number in range(6):
            await person.says(f"The {WORD} number {number} sings")
        assert "[Conversation summary]" in model.requests[-1].system()
        assert await app.database.value("SELECT count(*) FROM entries") == 0
        await person.says("/new")
        assert find_files_containing(tmp_path) == []
        assert await app.database.value("SELECT count(*) FROM messages") == 2


async def test_undo_in_a_private_talk_reverts_an_earlier_change(person: Person, tmp_path: Path) -> None:
    await person.says("/remember The spare key is at Ann's")
    await person.says("/private")
    await person.says(f"The {WORD} sings")
    assert "spare key" in await person.says("/undo")
    assert "Nothing" not in await person.says("/new")
    assert find_files_containing(tmp_path) == []
    assert "spare key" not in await person.says("/recall key")


async def test_export_contains_nothing_of_a_private_talk(
    serve: Serve, telegram: BotApiServer, tmp_path: Path, clock: FakeClock
) -> None:
    async with serve() as app:
        await say(telegram, app, "The fence is green")
        await say(telegram, app, "/private")
        telegram.user_says(
            chat_id=ANN, sends=create_document(f"{WORD}.csv", f"bird\n{WORD}\n", "text/csv"), caption="What?"
        )
        await telegram.wait_for(lambda: "What?" in list_texts(telegram)[-1])
        for number in range(4):
            await say(telegram, app, f"The {WORD} {number} sings")
        await say(telegram, app, "/compact 2")
        for owner in (None, MINE):
            folder = tmp_path / f"export {owner}"
            await Exporter(app.database, app.settings.mneme_data_dir / "memory").export(folder, owner)
            assert find_files_containing(folder) == []
            assert find_files_containing(folder, "fence") != []
            empty = await Database.open(tmp_path / f"restored {owner}" / "mneme.db", clock=clock)
            await Importer(empty, tmp_path / f"restored {owner}" / "memory").run(folder)
            assert not await empty.value("SELECT max(private) FROM sessions")
            assert await empty.rows("PRAGMA foreign_key_check") == []
            await empty.close()


async def test_notice_due_in_a_private_talk_is_sent_afterwards(serve: Serve, telegram: BotApiServer) -> None:
    async with serve() as app:
        await say(telegram, app, "/private")
        await app.database.write(
            "INSERT INTO owners (name) SELECT ? WHERE NOT EXISTS (SELECT 1 FROM owners WHERE name = ?)", (MINE, MINE)
        )
        await app.database.write(
            "INSERT INTO notices (owner_id, text, buttons, at) SELECT id, 'Learned: the fence is green',"
            """ '[[{"label": "Undo", "text": "/undo_1"}]]', '2026-02-07' FROM owners WHERE name = ?""",
            (MINE,),
        )
        assert "Learned" not in await say(telegram, app, "Hello")
        await say(telegram, app, "/new")
        assert "Learned" in await say(telegram, app, "Hello again")
    assert "Undo" in list_labels(telegram)
