"""Comparison of tokenizers for search in twelve languages, and search by paraphrased questions.

Each language has notes, and questions for them with other word forms. All notes are in one index. This prints the share
of questions that find their note in the first place or in the first five.

Then it measures the whole search with questions in other words (benchmarks/paraphrases.py), by words or by meaning too:

    python -m benchmarks.languages --embedder                          the local embedding model
    python -m benchmarks.languages --model NAME --base-url ADDRESS     one at an endpoint (key: OPENAI_API_KEY)
"""

from __future__ import annotations

import argparse
import asyncio
import re
import sqlite3
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.embedding import create_endpoint_embedder, create_local_embedder, measure_embedder
from benchmarks.paraphrases import build_table
from config.logs import configure_logging
from memory.clock import system_clock
from memory.ledger.entries import EntryStore
from memory.search.search import Search
from memory.store.database import Database
from memory.store.entry import NewEntry
from tests.support.talk import create_ledger

if TYPE_CHECKING:
    from bot.features.vectors.embedders import EndpointEmbedder, LocalEmbedder

# Language, notes in one line each, and questions, each under its note after a ">"
NOTES = """
en
The spare keys are with our neighbour Ann
> who has the spare key? > which neighbours keep our keys
We painted the kitchen walls light grey in spring
> what colour did I paint the kitchen wall
Tom's bicycle was repaired at the shop on Mill Street
> repairing Tom's bike bicycles > where are bicycles repaired
The dentist moved my appointment to the third of May
> when are my dentist appointments
The neighbours' dog barks at every bicycle
de
Die Ersatzschlüssel liegen bei unserer Nachbarin Anna
> wo liegt der Ersatzschlüssel > hat eine Nachbarin unseren Schlüssel
Im Frühling haben wir die Küchenwände hellgrau gestrichen
> welche Farbe hat die Küchenwand
Der Zahnarzt hat meinen Termin auf den dritten Mai verschoben
> wann habe ich einen Termin beim Zahnärzten > Termine im Mai
Unsere Straße wird im Herbst gesperrt
> ist unsere Strasse gesperrt > wann sperren sie die Straßen
es
Las llaves de repuesto las tiene nuestra vecina Ana
> quién tiene la llave de repuesto > vecinas con llaves
Pintamos las paredes de la cocina de gris claro
> de qué color pintaste la pared de la cocina > pintar cocinas
El dentista cambió mi cita al tres de mayo
> cuándo son mis citas con el dentista
A mi hija le gustan las canciones antiguas
> qué canción le gusta a mi hija
fr
Les clés de secours sont chez notre voisine Anne
> où est la clé de secours > quelle voisine garde nos clés
Nous avons repeint les murs de la cuisine en gris clair
> de quelle couleur repeindre le mur de la cuisine
Le dentiste a déplacé mon rendez-vous au trois mai
> quand déplacer le rendez-vous chez les dentistes
Ma fille aime les chansons anciennes
> quelle chanson ancienne aime ma fille > mes filles aimaient des chansons
L'école de Paul ferme à seize heures
> à quelle heure fermera l’école > les écoles fermées
Le voisin de Paul chante dans la cuisine
ru
Запасные ключи лежат у нашей соседки Анны
> у кого запасной ключ > соседка с ключами
Весной мы покрасили стены на кухне в светло-серый
> в какой цвет покрашена стена кухни
Зубной врач перенёс мою запись на третье мая
> когда я записан к зубному врачу
Бабушка живёт в деревне под Киевом
> где живет бабушка > в какой деревне живут бабушки
Моя дочь любит старые песни
> какую песню любит дочка > что любят мои дочери
Соседка Анна поёт в деревенском хоре
uk
Запасні ключі лежать у нашої сусідки Ганни
> у кого запасний ключ > сусідка з ключами
Навесні ми пофарбували стіни на кухні у світло-сірий
> в який колір пофарбована стіна кухні
Зубний лікар переніс мій запис на третє травня
> коли запис до зубного лікаря
Бабуся живе в селі під Києвом
> де живе моя бабуся > у якому селі живуть бабусі
Моя донька любить старі пісні про п'ять козаків
> яку пісню любить донька > пісня про п’ятьох козаків
it
Le chiavi di riserva sono dalla nostra vicina Anna
> chi ha la chiave di riserva > vicine con le chiavi
Abbiamo dipinto le pareti della cucina di grigio chiaro
> di che colore dipingere la parete della cucina
zh
备用钥匙在邻居安娜那里
> 谁有备用钥匙 > 邻居的钥匙
春天我们把厨房的墙刷成了浅灰色
> 厨房墙是什么颜色
牙医把我的预约改到了五月三号
> 牙医预约是什么时候 > 五月的预约
我女儿喜欢听老歌
> 女儿喜欢什么歌
安娜在厨房里唱歌
ja
予備の鍵は隣のアンナさんが持っています
> 予備の鍵はどこ > 誰が鍵を持っている
春に台所の壁を薄い灰色に塗りました
> 台所の壁の色
歯医者の予約は五月三日に変わりました
> 歯医者の予約はいつ > ﾖﾔｸ 予約 五月
娘は古い歌が好きです
> 娘が好きな歌
アンナさんは台所で歌います
th
กุญแจสำรองอยู่กับเพื่อนบ้านชื่ออันนา
> ใครมีกุญแจสำรอง > กุญแจอยู่กับเพื่อนบ้าน
เราทาสีผนังห้องครัวเป็นสีเทาอ่อน
> ผนังห้องครัวสีอะไร
หมอฟันเลื่อนนัดของฉันเป็นวันที่สามพฤษภาคม
> นัดหมอฟันเมื่อไหร่
ลูกสาวของฉันชอบเพลงเก่า
> ลูกสาวชอบเพลงอะไร
ko
여분의 열쇠는 이웃 안나가 가지고 있다
> 열쇠를 누가 가지고 있어 > 이웃에게 열쇠가 있나
봄에 부엌의 벽을 밝은 회색으로 칠했다
> 부엌 벽은 무슨 색
치과 예약이 오월 삼일로 바뀌었다
> 치과의 예약은 언제
딸은 오래된 노래를 좋아한다
> 딸이 좋아하는 노래
hi
अतिरिक्त चाबियाँ हमारी पड़ोसी अन्ना के पास हैं
> अतिरिक्त चाबी किसके पास है > पड़ोसी की चाबियाँ
हमने रसोई की दीवारें हल्के भूरे रंग में रंगीं
> रसोई की दीवार का रंग
मेरी बेटी को पुराने गाने पसंद हैं
> बेटी को कौन सा गाना पसंद है
"""
DEPTHS = (1, 5)
WAYS = {"unicode61": "unicode61 remove_diacritics 2", "porter": "porter unicode61 remove_diacritics 2"}


def read_notes() -> tuple[list[str], list[tuple[str, str, int]]]:
    """Parse the notes, and the questions with their language and the number of their note."""
    notes: list[str] = []
    questions: list[tuple[str, str, int]] = []
    language = ""
    for line in NOTES.strip().splitlines():
        if re.fullmatch("[a-z]{2}", line):
            language = line
        elif line.startswith(">"):
            questions += [(language, text.strip(), len(notes) - 1) for text in line.split(">") if text.strip()]
        else:
            notes.append(line)
    return notes, questions


async def main() -> None:
    """Print recall by language and tokenizer, and recall of paraphrases."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--embedder", action="store_true", help="compare meanings by the local embedding model")
    parser.add_argument("--model", help="compare meanings by this embedding model at --base-url")
    parser.add_argument("--base-url", help="address of an endpoint, such as http://127.0.0.1:11434/v1")
    arguments = parser.parse_args()
    if (arguments.model is None) != (arguments.base_url is None):
        parser.error("--model and --base-url need each other.")
    configure_logging("critical", "console")
    notes, questions = read_notes()
    found = {
        way: [_search_plain(notes, tokenizer, text) for _, text, _ in questions] for way, tokenizer in WAYS.items()
    }
    found["trigram"] = [_search_plain(notes, "trigram", text) for _, text, _ in questions]
    found["Mneme"] = await _search_mneme(notes, [text for _, text, _ in questions])
    print(f"{'R@1 / R@5':12}" + "".join(f"{way:>14}" for way in found))
    for language in [*dict.fromkeys(language for language, _, _ in questions), "all"]:
        chosen = [n for n, question in enumerate(questions) if language in (question[0], "all")]
        cells = []
        for answers in found.values():
            hits = [sum(questions[n][2] in answers[n][:depth] for n in chosen) for depth in DEPTHS]
            cells.append(" / ".join(f"{100 * hit / len(chosen):3.0f}" for hit in hits))
        print(f"{language:3} {len(chosen):4}    " + "".join(f"{cell:>14}" for cell in cells))
    embedder: EndpointEmbedder | LocalEmbedder | None = None
    if arguments.model is not None:
        embedder = create_endpoint_embedder(arguments.model, arguments.base_url)
    elif arguments.embedder:
        embedder = create_local_embedder()
    try:
        print("\n" + "\n".join(await build_table(embedder)))
        if embedder is not None:
            print(f"\n{embedder.name}: {1000 * await measure_embedder(embedder, notes):.0f} ms a message")
    finally:
        if embedder is not None:
            await embedder.close()


def _search_plain(notes: list[str], tokenizer: str, question: str) -> list[int]:
    """Return the results of one FTS5 tokenizer, best first."""
    connection = sqlite3.connect(":memory:")
    connection.execute(f"CREATE VIRTUAL TABLE notes USING fts5 (body, tokenize = '{tokenizer}')")
    connection.executemany("INSERT INTO notes (rowid, body) VALUES (?, ?)", enumerate(notes))
    words = re.findall(r"[^\W_]+", question)
    if tokenizer == "trigram":
        words = [word[at : at + 3] for word in words for at in range(max(1, len(word) - 2))]
    match = " OR ".join(f'"{word}"' for word in words)
    rows = connection.execute("SELECT rowid FROM notes WHERE notes MATCH ? ORDER BY bm25(notes)", (match,))
    return [row[0] for row in rows]


async def _search_mneme(notes: list[str], questions: list[str]) -> list[list[int]]:
    with tempfile.TemporaryDirectory() as folder:
        database = await Database.open(Path(folder) / "mneme.db")
        try:
            entries = EntryStore(database, create_ledger(database, system_clock))
            numbers = [(await entries.add("o", NewEntry(note, name=f"n{n}"))).id for n, note in enumerate(notes)]
            search = Search(database)
            return [[numbers.index(hit.id) for hit in await search.find(text, "o")] for text in questions]
        finally:
            await database.close()


if __name__ == "__main__":
    asyncio.run(main())
