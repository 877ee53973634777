"""Tests of capture patterns: wishes, rules, corrections and changes in typed text, and few false positives."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from benchmarks.capture import REGISTERS, SENTENCES, read_labels
from bot.features.capture.classifier import CaptureKind
from bot.features.capture.requests import MAX_CAPTURE_CHARS, find_clauses
from bot.features.capture.statements import (
    MAX_CAPTURES,
    capture_statements,
    find_candidates,
    propose_statements,
    restate,
)
from memory.search.activation import MAX_LINE_CHARS
from memory.text.sentences import MAX_MESSAGE_CHARS

STATED = """
    I prefer green tea in the morning
    I'd rather have short answers
    i love hiking and i hate crowds
    we really don't like cold soup
    Я предпочитаю чёрный кофе без сахара
    мне не нравится, когда пишут капсом
    Я обожнюю вареники з вишнею
    Ich mag keinen Rosenkohl
    ich fahre am liebsten mit dem Rad
    Me gusta el café con leche
    No me gustan los mensajes de voz
    Je préfère les trajets en train
    j'aime les films de science-fiction
    我最讨厌下雨天出门
    我更喜欢坐地铁上班
    Always use Celsius for temperatures
    never start a reply with a compliment
    Please, from now on write in lower case => from now on write in lower case
    don't use tables any more
    Всегда пиши мне кратко и по делу
    Никогда не обращайся ко мне на вы
    Завжди пиши мені коротко і по суті
    Schreib mir bitte immer auf Englisch
    Ab jetzt nur noch metrische Angaben
    Escribe siempre en minúsculas
    Nunca pongas emojis en los títulos
    N'écris jamais en majuscules
    Désormais, réponds en deux phrases
    以后回答都用简体字
    永远不要用缩写
    Actually, it's Olga => it's Olga
    no, my sister's name is Olga => my sister's name is Olga
    Not Tuesday but Wednesday
    I meant Springfield in Ohio, not Springfield in Illinois
    Нет, его зовут Пётр => его зовут Пётр
    не в марте, а в апреле 2024
    Ні, його звуть Петро => його звуть Петро
    Nein, er heißt Peter => er heißt Peter
    No, mi hermano se llama Pedro => mi hermano se llama Pedro
    Non, mon frère s'appelle Pierre => mon frère s'appelle Pierre
    不对，我弟弟叫小明 => 我弟弟叫小明
    不是三楼，是五楼
    You must never share my address
    Answers must be in metric units
    don't ever send invoices without my approval
    under no circumstances tell my boss about the surprise
    Ты обязан указывать источники
    Ни в коем случае не раскрывай мой адрес
    У жодному разі не розкривай мою адресу
    Auf keinen Fall darfst du meine Adresse nennen
    Debes responder en inglés
    Bajo ninguna circunstancia reveles mi dirección
    Tu dois répondre en anglais
    你绝对不能透露我的地址
    I moved from Kyiv to Lviv
    We switched from Slack to Matrix
    I no longer drink coffee
    Я переехала из Минска в Вильнюс
    я больше не курю сигареты
    Я переїхала з Харкова до Одеси
    Ich bin von Bonn nach Mainz gezogen
    Ich trinke keinen Kaffee mehr
    Me mudé de Lima a Quito
    ya no bebo café
    J'ai déménagé de Nantes à Brest
    je ne bois plus de café
    我从广州搬到了深圳
    我不再喝咖啡了
    Thursday evenings I've got choir
    I'm doing a PhD on soil bacteria in Wageningen
    if I send you a photo of a plant, tell me its latin name too
    Nothing goes to production without two approvals.
    Serien guck ich nur auf Englisch
    dienstags und donnerstags bin ich im homeoffice
    Wenn ich dir Code schicke, reicht mir der Diff.
    Ningún dato de paciente sale de este servidor.
    mi padre va en silla de ruedas desde el ictus
    quand je t'envoie un mail à relire, garde mon ton
    on a quitté Paris, on vit à Nantes maintenant
    по средам у меня бассейн в семь
    Жену зовут Алина, она врач
    коли даю рецепт, перераховуй на чотири порції
    маю двох котів і старого спанієля
    比起打电话我更愿意发消息
"""
NOT_STATED = """
    do you always answer in English
    do you always ...
    I wonder whether you must pay twice
    if I prefer tea, is that a problem
    it must be nice in Rome
    you must be tired
    that must have been hard
    it is a must-see
    he never calls me
    she said I must go
    my boss always shouts at Peter
    I never said that about Olga
    I've never been to Rome
    never mind the typo in Olga's name
    never give up on your dreams
    always happy to help Olga
    as always, Olga was late
    no, thanks
    no, I don't think so
    no problem, Olga
    not bad but not great
    not only Tuesday but also Wednesday
    actually, can you call Olga
    actually I'm not sure about Rome
    actually, that's great
    no, that one
    not this but that
    never again!
    always!
    I love you
    I love it
    I hate to bother you
    I like your answer about Rome
    I prefer the second one
    I'd rather do it tomorrow
    I moved the file to the archive
    I no longer know what to do
    Write a sentence with never
    translate: I prefer tea
    how do you say I always prefer tea
    my daughter prefers tea
    Remember that I prefer tea
    please remember: always use metric units
    you always forget my birthday
    Fish must be cooked at 60 degrees
    The museum says bags must be left at the entrance
    она всегда опаздывает на работу
    я никогда не был в Париже
    никогда не поздно учиться
    всегда пожалуйста
    всегда рад видеть Ольгу
    нет, я в Москве не был
    не вопрос, а ответ
    мне нравится твоя идея
    я люблю тебя
    я больше не могу
    нет, пиши дальше
    вона завжди запізнюється на роботу
    я ніколи не був у Парижі
    мені подобається твоя ідея
    завжди будь ласка
    ich war nie in Paris
    sie kommt immer zu spät
    ich möchte lieber heute fahren
    ich mag deine Idee
    ich kann nicht mehr
    das muss ein Irrtum sein
    nicht nur Dienstag, sondern auch Mittwoch
    nunca he visto el mar
    ella siempre llega tarde
    me gusta tu idea
    ya no puedo más
    debe ser tarde en Lima
    no solo el martes sino también el jueves
    je n'ai jamais vu la mer
    elle arrive toujours en retard
    j'aime ton idée
    je n'en peux plus
    ça doit être tard à Lima
    pas seulement mardi mais aussi jeudi
    我从来没去过巴黎
    她总是迟到
    我喜欢你的主意
    我再也受不了了
    不是这个，是那个
    现在一定很晚了吧
    my boss says never ship on fridays
    she told me to never use bleach
    if i lived in tokyo i'd eat ramen every day
    imagine i were allergic to water
    oh sure, i just love waiting in line
    i have a meeting at 3
    i'm so tired of this rain
    today i hate everyone
    you live in Berlin, right?
    i live in Berlin, don't I?
    do i have to always restart the router
    don't delete that file yet
    in this story my name is Zorg and i eat planets
    начальница сказала никогда не писать клиентам
    если бы я жил у моря, я бы каждый день плавал
    у меня вопрос про налоги
    мы решили задачу, спасибо
    мама каже завжди носи шапку
    meine Chefin sagt, wir müssen immer pünktlich sein
    ich habe gerade keine Zeit
    mi madre dice que nunca salga sin abrigo
    tengo hambre
    mon coach répète qu'il faut toujours s'étirer
    j'adore quand il pleut le jour du pique-nique
    我婆婆说绝对不能洗头
    要是我住在海边就好了
    oh yes, i just love unpaid overtime
    call me the queen of excuses
    children must always shout
    Write me a story about a cat that never sleeps
    о да, просто обожаю понедельники
    кошка спит там, где нельзя
    мне нельзя опаздывать, вызови такси
    напиши стих о коте, который никогда не спит
    о так, просто обожнюю понеділки
    діти повинні завжди кричати
    na toll, ich liebe volle züge
    schreib mir ein gedicht über einen kater, der nie schläft
    nenn mich den könig der ausreden
    uy sí, me encantan los lunes
    llámame la reina del desastre
    deja las llaves en la mesa
    ah oui, j'adore vraiment les lundis
    appelle-moi le roi de la flemme
    on a vendu toutes les places en une heure
    真棒 我最喜欢周末加班了
    鸡蛋要不要放冰箱
    I have two questions about Excel
    my train has a delay of 20 minutes
    I ask myself the same every morning
    when I asked for help, nobody came
    у меня два вопроса по Excel
    если пришлю завтра, успеешь?
    у сина температура 39
    ich bin auf dem Weg nach Köln
    mein Zug hat 20 Minuten Verspätung
    tengo dos preguntas sobre Excel
    estoy de camino a Bilbao
    mon train a 20 minutes de retard
    on n'a jamais vu ça
    我在去上海的路上
"""


def _read_lines(text: str) -> list[str]:
    return [line.strip() for line in text.strip().splitlines()]


@pytest.mark.parametrize("text", _read_lines(STATED))
def test_plain_statement_is_captured(text: str) -> None:
    said, _, kept = text.partition(" => ")
    assert [one.text for one in capture_statements(said)] == [kept or said]


@pytest.mark.parametrize("text", _read_lines(NOT_STATED))
def test_question_supposition_or_report_is_not_captured(text: str) -> None:
    assert capture_statements(text) == []


def test_forms_of_the_first_specification_are_captured() -> None:
    for said in (
        "I prefer tabs",
        "always use tabs",
        "never use tabs",
        "actually it's Olga",
        "no, it's Olga",
        "not MySQL but Postgres",
        "all PRs must be reviewed",
        "code review is required before merging",
        "don't ever push to main",
    ):
        (capture,) = capture_statements(said)
        assert said.endswith(capture.text)


@pytest.mark.parametrize(
    "said",
    [
        "always use metric units",
        "never use inches, please",
        "please answer in German from now on",
        "From now on write in lower case",
        "hey can you always answer in german",
        "You must never share my address",
        "don't ever send invoices without my approval",
        "Antworte mir immer auf Deutsch",
        "Никогда не обращайся ко мне на вы",
        "Escribe siempre en minúsculas",
        "N'écris jamais en majuscules",
        "永远不要用缩写",
    ],
)
def test_lasting_instruction_to_the_bot_is_standing(said: str) -> None:
    (capture,) = capture_statements(said)
    assert capture.is_standing


@pytest.mark.parametrize(
    "said",
    [
        "I prefer tea over coffee",
        "We must never log tokens",
        "All services must use HTTPS",
        "code review is required before merging",
        "We use not npm but pnpm here",
        "my sister always works on sundays",
        "I never drink coffee in the evening",
        "nothing goes to production without two approvals, ever",
    ],
)
def test_other_statement_is_not_standing(said: str) -> None:
    assert [capture.is_standing for capture in capture_statements(said)] in ([False], [])


def test_fragment_of_a_sentence_is_no_rule() -> None:
    assert capture_statements("overflow always") == []


@pytest.mark.parametrize(
    "said", ["We use not npm but pnpm here", "we use not npm but pnpm here, btw", "ok, we use not npm but pnpm here"]
)
def test_correction_with_both_values_is_captured_whole(said: str) -> None:
    (capture,) = capture_statements(said)
    assert capture.text.casefold() == "we use not npm but pnpm here"
    assert capture.corrects == "npm"


@pytest.mark.parametrize(
    ("text", "corrects", "becomes"),
    [
        ("I moved from Kyiv to Lviv.", "Kyiv", "Lviv"),
        ("I moved from Kyiv to Lviv this February", "Kyiv", "Lviv"),
        ("Not on Tuesday but on Wednesday", "on Tuesday", None),
        ("Actually, it's Olga, not Helga.", "Helga", None),
        ("Actually, it's Olga", None, None),
        ("I changed my number from 555-0101 to 555-0199", "555-0101", "555-0199"),
        ("I don’t eat meat anymore", "eat meat", None),
        ("я переехал из Киева во Львов", "Киева", "Львов"),
        ("я переїхав з Києва до Львова", "Києва", "Львова"),
        ("Ich bin von Kiew nach Lemberg gezogen", "Kiew", None),
        ("Me mudé de Madrid a Valencia", "Madrid", "Valencia"),
        ("我从北京搬到了上海", "北京", "上海"),
        ("I prefer tea over coffee", None, None),
    ],
)
def test_outdated_words_are_returned_as_typed(text: str, corrects: str | None, becomes: str | None) -> None:
    (capture,) = capture_statements(text)
    assert capture.corrects == corrects
    assert becomes is None or capture.becomes == becomes


def test_travel_between_places_is_no_change() -> None:
    (capture,) = capture_statements("I take the train from Kyiv to Lviv every Friday")
    assert (capture.is_change, capture.corrects) == (False, None)


def test_known_memory_is_restated_only_if_unambiguous() -> None:
    assert restate("Ann lives in Kyiv", "Kyiv", "Lviv") == "Ann lives in Lviv"
    assert restate("Kyiv is where Ann lives, in Kyiv", "Kyiv", "Lviv") is None
    assert restate("Ann lives in Odesa", "Kyiv", "Lviv") is None
    assert restate("Ich wohne in Graz.", "Graz", "Linz gezogen") is None
    assert restate("I drink tea", "tea", "coffee") == "I drink coffee"


ALONE = [
    ("Actually, the deadline is Friday", "the deadline is Friday"),
    ("No, the office is in Lviv", "the office is in Lviv"),
    ("no, port 8080", "port 8080"),
    ("All services must use HTTPS", "All services must use HTTPS"),
    ("We must never log tokens", "We must never log tokens"),
    ("Don't use ORM for bulk inserts", "Don't use ORM for bulk inserts"),
    ("hey can you always answer in german", "can you always answer in german"),
    (
        "for the recipes, i have a small oven so never give me two trays",
        "for the recipes, i have a small oven so never give me two trays",
    ),
    ("my name is Priya btw", "my name is Priya"),
    (
        "ok so um my name is Priya and i live in pune and can you find me a plumber",
        "my name is Priya and i live in pune",
    ),
    ("Call me Bee, please", "Call me Bee"),
    ("i live in cork 🍀", "i live in cork"),
    ("I'm allergic to shellfish, what can I order?", "I'm allergic to shellfish"),
    ("We decided to paint the kitchen green. Thanks!", "We decided to paint the kitchen green."),
    ("No. The office is in Lviv.", "The office is in Lviv."),
    ("Actually, no, it's Katherine", "it's Katherine"),
    ("на самом деле срок в пятницу", "срок в пятницу"),
    ("Нет, офис во Львове", "офис во Львове"),
    ("у меня аллергия на орехи, что приготовить?", "у меня аллергия на орехи"),
    ("Всі сервіси мають використовувати HTTPS", "Всі сервіси мають використовувати HTTPS"),
    ("слухай, називай мене Юра, будь ласка", "називай мене Юра"),
    ("Nein, das Büro ist in Lviv", "das Büro ist in Lviv"),
    ("kannst du bitte immer auf Englisch antworten?", "kannst du bitte immer auf Englisch antworten"),
    ("No, la oficina está en Lviv", "la oficina está en Lviv"),
    ("oye, soy alérgica al polen, qué puedo tomar?", "soy alérgica al polen"),
    ("Non, le bureau est à Lviv", "le bureau est à Lviv"),
    ("tu peux toujours me répondre en anglais stp ?", "tu peux toujours me répondre en anglais"),
    ("不，办公室在利沃夫", "办公室在利沃夫"),
    ("我对花生过敏，推荐点吃的", "我对花生过敏"),
    ("jamais de porc", "jamais de porc"),
    ("From now on, kindly address me as Dr Okonjo", "From now on, kindly address me as Dr Okonjo"),
    ("Прошу вас в дальнейшем писать без сокращений", "в дальнейшем писать без сокращений"),
    ("Прошу вас надалі писати без скорочень", "надалі писати без скорочень"),
    ("Ich bitte Sie, mir künftig ohne Kürzel zu schreiben", "mir künftig ohne Kürzel zu schreiben"),
    ("Le ruego que en adelante me escriba sin abreviaturas", "en adelante me escriba sin abreviaturas"),
    ("Je vous prie de ne plus employer d'abréviations", "ne plus employer d'abréviations"),
    ("nah, the greenhouse sensor reports on channel 12", "the greenhouse sensor reports on channel 12"),
    ("ні, не субота, базар по неділях", "не субота, базар по неділях"),
    ("мене звати Орися, але всі кажуть Ося", "мене звати Орися, але всі кажуть Ося"),
    ("mi suegra no puede tomar pomelo", "mi suegra no puede tomar pomelo"),
]


@pytest.mark.parametrize(("said", "kept"), ALONE)
def test_captured_text_reads_well_alone(said: str, kept: str) -> None:
    (capture,) = capture_statements(said)
    assert capture.text == kept


@pytest.mark.parametrize("path", [SENTENCES, REGISTERS])
def test_capture_does_not_split_words_or_clauses(path: Path) -> None:
    for one in read_labels("tune", path=path):
        said = " ".join(one.text.split())
        for capture in capture_statements(one.text):
            before, _, after = said.partition(capture.text)
            assert said == before + capture.text + after
            assert not re.search(r"[^\W\u3400-\u9fff]\|\w", f"{before}|{capture.text}"), said
            # The rest is a courtesy of a few words, or a whole clause.
            ends = {len((capture.text + after)[:end].rstrip()) for _, end in find_clauses(capture.text + after)}
            assert not after[:1].isalnum() or after[0] >= "\u3400"
            is_whole = not after or capture.text[-1] in ".!?。！？" or after[0] in ".!?。！？"
            assert is_whole or len(after.split()) <= 6 or len(capture.text) in ends, said


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("oh and we have two boys, Leo and Max 🙂", ["two boys", "Max"]),
        ("я вахтовик, месяц через месяц в Сабетте, кофе пью только чёрный", ["вахтовик", "чёрный"]),
        ("i'm a night nurse in Leeds, so never call me before noon", ["nurse", "noon"]),
        ("wir haben zwei Söhne, Jonas und Emil", ["Söhne", "Emil"]),
        ("for the recipes, i have a small oven so never give me two trays", ["recipes", "oven", "trays"]),
    ],
)
def test_statement_is_captured_with_all_its_parts(said: str, words: list[str]) -> None:
    kept = " ".join(capture.text for capture in capture_statements(said))
    assert [word for word in words if word not in kept] == []


@pytest.mark.parametrize("text", ["May I eat nuts, with my allergy?", "would my bad knee survive a marathon?"])
def test_question_about_oneself_is_not_captured(text: str) -> None:
    assert capture_statements(text) == []


def test_labelled_sentences_are_numerous_and_balanced() -> None:
    sentences = read_labels("tune")
    languages = {one.language for one in sentences}
    assert len(languages) == 7
    for language in languages:
        chosen = [one for one in sentences if one.language == language]
        assert len(chosen) >= 60
        assert 0.4 <= sum(one.pattern is not None for one in chosen) / len(chosen) <= 0.5


@pytest.mark.parametrize(
    ("message", "texts"),
    [
        ("Hi! I prefer tea. Is that fine? Always use metric units!", ["I prefer tea.", "Always use metric units!"]),
        ("I prefer Dr. Brandt to Dr. Weiss. Thanks", ["I prefer Dr. Brandt to Dr. Weiss."]),
        ("I prefer version 2.5 over 3.0, e.g. for tests", ["I prefer version 2.5 over 3.0, e.g. for tests"]),
        ("I prefer tea\nalways use metric units", ["I prefer tea", "always use metric units"]),
        ("Eigentlich habe ich am 4. März Geburtstag. Danke", ["habe ich am 4. März Geburtstag."]),
        ("你好。我更喜欢喝绿茶。请始终使用公制单位！", ["我更喜欢喝绿茶。", "始终使用公制单位！"]),
        ("I   prefer\ttea  over   coffee", ["I prefer tea over coffee"]),
        ("I prefer tea. I prefer tea.", ["I prefer tea."]),
    ],
)
def test_each_sentence_of_a_message_is_examined(message: str, texts: list[str]) -> None:
    assert [one.text for one in capture_statements(message)] == texts


@pytest.mark.parametrize(
    "message",
    [
        '"I prefer tea"',
        "“Always use metric units. Never use inches.”",
        "«Всегда отвечай кратко»",
        "„Antworte immer auf Deutsch“",
        "「请始终使用公制单位」",
        "'always use metric units'",
        '"I prefer tea. Always use metric units',
        "> I prefer tea\n> Always use metric units",
        "look:\n```\nalways use metric units\n```\nwhat is that",
        "```\nalways use metric units\n\nI prefer tea",
        "    always use metric units",
        "\talways use metric units",
        "`always use metric units`",
        "https://always.example/use/metric/units",
    ],
)
def test_quotations_and_code_are_skipped(message: str) -> None:
    assert capture_statements(message) == []


def test_quotation_inside_a_sentence_is_kept() -> None:
    (capture,) = capture_statements('Never use the word "delve. Really" in my texts')
    assert capture.text == 'Never use the word "delve. Really" in my texts'


def test_sentence_after_code_is_examined() -> None:
    (capture,) = capture_statements("```\nx = 1\n```\nI prefer tea")
    assert (capture.kind, capture.text) == (CaptureKind.PREFERENCE, "I prefer tea")


def test_message_has_at_most_three_captures() -> None:
    message = " ".join(f"I prefer tea number {n}." for n in range(6))
    assert len(capture_statements(message)) == MAX_CAPTURES


def test_overlong_sentence_is_left_to_the_model() -> None:
    assert capture_statements("I prefer tea with " + "milk and " * 200) == []


def test_longest_capture_fits_into_a_line_of_the_prompt() -> None:
    assert MAX_LINE_CHARS >= MAX_CAPTURE_CHARS


def test_text_far_into_a_message_is_not_examined() -> None:
    assert capture_statements("a word " * MAX_MESSAGE_CHARS + ". I prefer tea.") == []


def test_sentence_cut_by_the_limit_is_not_captured() -> None:
    assert capture_statements("\n" * (MAX_MESSAGE_CHARS - 20) + "I prefer tea over coffee, except on Sundays") == []


_HOSTILE = (
    " ~\n~\t~. ~\"~ \"a~'~ 'a~`~```\n~> \n~-_~please, ~no, no, no,~not a but ~always use ~my a is ~"
    "all answers ~I prefer ~я больше не ~обов'язково використовуй ~ich nicht mehr ~antworte mir ~"
    "verwenden~no uses ~chaque a ~ne plus ~不是"
)


@pytest.mark.parametrize("piece", _HOSTILE.split("~"))
def test_hostile_repetition_is_processed_quickly(piece: str) -> None:
    assert len(capture_statements(piece * (1_000_000 // len(piece)))) <= MAX_CAPTURES


_PIECES = st.sampled_from(
    'I prefer |tea|Olga|, |not |but |. |\n|"|«|> |```|    |always use |нет, |не |а |я больше не |ich bin von |nach |'
    "gezogen|no es |sino |我|不是|，|İ|ﬁ|\u2028|  ".split("|")
)


_NO_COMMAS = dict.fromkeys(map(ord, ",;，；"))


@example("*0A,.")
@example('НЕ.00 НЕ "0,.0')
@given(st.one_of(st.text(max_size=300), st.lists(_PIECES, max_size=30).map("".join)))
def test_any_text_has_few_captures_of_its_own_words(text: str) -> None:
    captures = capture_statements(text)
    assert len(captures) <= MAX_CAPTURES
    for one in captures:
        # A comma with nothing after it is removed.
        said = iter(text.translate(_NO_COMMAS).split())
        assert all(any(word in other for other in said) for word in one.text.translate(_NO_COMMAS).split())
        assert len(one.text) <= MAX_CAPTURE_CHARS
        assert one.corrects is None or one.corrects.translate(_NO_COMMAS) in one.text.translate(_NO_COMMAS)


@pytest.mark.parametrize(
    "text",
    ["I'm allergic to peanuts, by the way.", "I'm allergic to peanuts, btw", "By the way, I'm allergic to peanuts."],
)
def test_removed_phrase_leaves_no_comma(text: str) -> None:
    assert [one.text.rstrip(".") for one in capture_statements(text)] == ["I'm allergic to peanuts"]


@pytest.mark.parametrize(
    "said",
    [
        "shopping list: milk, eggs",
        "My shopping list: milk, eggs and I need bread",
        "add milk to the list",
        "I have milk and eggs on my shopping list",
        "To-do list: call my sister, pay the rent",
        "todo: call my dentist",
        "Shopping list:\n- milk\n- my favourite cheese\nI like eggs",
        "Packing list\nmy glasses\nmy vitamins",
        "Einkaufsliste: Milch, Eier",
        "Füge Milch zur Einkaufsliste hinzu",
        "Setz meine Vitamine auf die Liste",
        "Lista de la compra: leche, huevos",
        "Añade leche a la lista",
        "Liste de courses : lait, œufs",
        "Ajoute du lait à ma liste",
        "Список покупок: молоко, мой любимый сыр",
        "Добавь молоко в список",
        "Список: хлеб, я люблю сыр",
        "Список справ: зателефонувати сестрі",
        "Додай молоко до списку покупок",
        "购物清单：牛奶，鸡蛋",
        "把牛奶加到清单里",
    ],
)
def test_list_requests_are_no_candidates(said: str) -> None:
    assert (capture_statements(said), propose_statements(said), find_candidates(said)) == ([], [], ())


@pytest.mark.parametrize(
    "said", ["I prefer lists over long texts", "Always answer with a list", "I have three kids: Tom, Ben and Ann"]
)
def test_statement_that_names_a_list_is_a_candidate(said: str) -> None:
    assert [capture.text for capture in propose_statements(said)] == [said]


def test_fact_next_to_a_list_request_is_a_candidate() -> None:
    assert [c.text for c in propose_statements("I'm allergic to nuts. Add milk to the list.")] == [
        "I'm allergic to nuts."
    ]
