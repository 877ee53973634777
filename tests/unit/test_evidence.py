"""Evidence: citations held against what was said, and facts against their citations."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import hypothesis.strategies as st
import pytest
from hypothesis import given

from benchmarks.grounding import TRUE, UNCITED, by_code, cases, state_of
from memory.consolidation.second_look import LIFTED
from memory.evidence.agreement import Doubt
from memory.evidence.assent import affirms
from memory.evidence.citation import is_quoted_from
from memory.evidence.fact import Citation, Fact
from memory.evidence.judge import BUCKETS, WEIGHTS, judge
from memory.evidence.weighing import Hearing, Refusal, Weighed
from memory.messages import Message, Provenance, Role
from memory.store.entry import Kind
from memory.text.days import fits
from memory.text.numbers import readings, times_of_day

AT = datetime(2026, 3, 3, 10, 0, tzinfo=UTC)  # a Tuesday
LARGEST = 200_000
"""Bytes of the weights, which come with every copy of Mneme."""
SETS = Path(__file__).parents[1] / "sets" / "grounding"


def said(text: str, provenance: Provenance = Provenance.TYPED, speaker: str | None = None) -> Message:
    return Message(Role.USER, text, AT, speaker, provenance)


def answered(text: str) -> Message:
    return Message(Role.ASSISTANT, text, AT)


def weigh(
    text: str, quote: str | None, *messages: Message, number: int | None = 1, known: tuple[str, ...] = ()
) -> Weighed:
    citation = None if quote is None else Citation(number, quote)
    fact = Fact("thing", text, Kind.FACT, citation=citation)
    return Hearing(messages, known, ZoneInfo("UTC")).weigh(fact)


# citations


@pytest.mark.parametrize(
    ("quote", "text"),
    [
        ("I LIVE in Kyiv", "well, i live in Kyiv now"),
        ("I don’t eat meat", "i don't eat meat"),
        ("“my dog”", "my  dog is old"),
        ("ｋｙｉｖ", "kyiv"),
        ("всё хорошо", "все хорошо"),
        ("I … Kyiv", "I have lived for years in Kyiv"),
        ("住在上海", "其实我住在上海呢"),
        ("il paie sa chambre", "vu qu'il paie sa chambre en courses"),
    ],
)
def test_what_does_not_change_the_words_does_not_matter(quote: str, text: str) -> None:
    assert is_quoted_from(quote, text)


@pytest.mark.parametrize(
    ("quote", "text"),
    [
        ("cat", "the category"),
        ("I live in Lviv", "I live in Kyiv"),
        ("", "anything"),
        ("...", "anything"),
        ("10", "105"),
    ],
)
def test_other_words_are_no_quote(quote: str, text: str) -> None:
    assert not is_quoted_from(quote, text)


@given(st.text(min_size=1), st.text(), st.text())
def test_a_whole_text_is_a_quote_of_what_holds_it(quote: str, before: str, after: str) -> None:
    held = f"{before} {quote} {after}"
    alone = is_quoted_from(quote, quote)
    assert is_quoted_from(quote, held) or not alone


@given(st.text(), st.text(), st.text())
def test_any_text_at_all_is_weighed(text: str, quote: str, message: str) -> None:
    assert isinstance(weigh(text, quote, said(message)), Weighed)
    assert isinstance(weigh(text, None, said(message)), Weighed)


def test_a_wrong_number_is_no_harm_where_the_words_stand_elsewhere() -> None:
    weighed = weigh(
        "The user lives in Kyiv.",
        "I live in Kyiv",
        said("Hello there"),
        answered("Hi"),
        said("I live in Kyiv"),
        number=1,
    )
    assert weighed.doubt is None
    assert weighed.message is not None
    assert weighed.message.content == "I live in Kyiv"


def test_what_nobody_said_is_unconfirmed() -> None:
    assert weigh("The user likes tea.", "I like tea", said("I live in Kyiv")).doubt is Doubt.NO_SOURCE


def test_what_only_a_forwarded_text_says_is_refused() -> None:
    forwarded = said("I live in Kyiv", Provenance.FORWARDED)
    assert weigh("The user lives in Kyiv.", "I live in Kyiv", forwarded).refusal is Refusal.FOREIGN
    assert weigh("The user lives in Kyiv.", None, forwarded).refusal is Refusal.FOREIGN


def test_the_same_words_typed_count_also_beside_a_forwarded_text() -> None:
    weighed = weigh(
        "The user lives in Kyiv.",
        "live in Kyiv",
        said("I live in Kyiv", Provenance.FORWARDED),
        said("same, I live in Kyiv"),
    )
    assert (weighed.doubt, weighed.refusal) == (None, None)


@pytest.mark.parametrize(
    "answer",
    [
        *("yes", "Exactly!", "perfect, let's go with that", "так, саме так", "ja genau", "对对对", "👍"),
        *("mm yep, since May", "аякже", "wie immer, ja", "ja, aber mein Bruder zieht bald ein"),
        *("yes but it is noisy", "sí, pero hace frío", "да, но лето провожу у мамы"),
    ],
)
def test_what_the_user_says_yes_to_is_theirs(answer: str) -> None:
    asked = answered("So you live in Kyiv?")
    assert weigh("The user lives in Kyiv.", "you live in Kyiv", asked, said(answer)).doubt is None


@pytest.mark.parametrize(
    "answer",
    [
        *("no", "yes but not in Kyiv", "nein", "How do you know?", "не совсем", "不是"),
        *("yes but only until May", "да, но раньше во Львове", "sí, pero solo los lunes", "ja, aber erst ab Montag"),
        *("yes but i sold the flat", "yes, but with 3 others"),
    ],
)
def test_what_they_do_not_say_yes_to_is_not(answer: str) -> None:
    asked = answered("So you live in Kyiv?")
    assert weigh("The user lives in Kyiv.", "you live in Kyiv", asked, said(answer)).doubt is Doubt.NOT_AFFIRMED


def test_mere_politeness_affirms_only_an_answer_to_a_question() -> None:
    assert affirms("ok", "Shall I note Monday?")
    assert not affirms("ok", "Lisbon is the capital of Portugal.")


def test_a_question_is_a_source_where_it_is_cited() -> None:
    weighed = weigh(
        "The user has a lactose intolerance.",
        "i'm lactose intolerant",
        said("what can i cook, i'm lactose intolerant?"),
    )
    assert weighed.doubt is None


# what differs


@pytest.mark.parametrize(
    ("fact", "quote", "doubt"),
    [
        ("The user has three dogs.", "i have two dogs", Doubt.NUMBER),
        ("The user was born in 1980.", "i was born in 1990", Doubt.NUMBER),
        ("The user was born on 04.05.1980.", "i was born in 1990", Doubt.DATE),
        ("The trip begins on 2026-03-11.", "the trip begins on friday", Doubt.DATE),
        ("The user likes coffee.", "i don't like coffee", Doubt.TURNED),
        ("The user does not like coffee.", "i like coffee", Doubt.TURNED),
        ("The user hates coffee.", "i love coffee", Doubt.TURNED),
        ("The user moved from Lviv to Kyiv.", "i moved from Kyiv to Lviv", Doubt.TURNED),
        ("The user is allergic to nuts.", "my sister is allergic to nuts", Doubt.PERSON),
        ("The user is a vet.", "she is a vet", Doubt.PERSON),
        ("The user's sister is a vet.", "i am a vet", Doubt.PERSON),
        ("The user works with Martin at the bakery.", "i work at the bakery", Doubt.NAME),
        ("The user works with Trish at the bakery.", "i work at the bakery", Doubt.NAME),
        ("The user works with Eve at the bakery.", "i work at the bakery", Doubt.NAME),
        ("The user lives in Kyiv with a parrot and a piano.", "i live in kyiv", Doubt.MORE),
        ("Der Nutzer mag keinen Kaffee.", "ich mag kaffee", Doubt.TURNED),
        ("Пользователь любит кофе.", "я не люблю кофе", Doubt.TURNED),
        ("El usuario tiene tres perros.", "tengo dos perros", Doubt.NUMBER),
        ("用户不喜欢咖啡。", "我喜欢咖啡", Doubt.TURNED),
        ("The user can swim.", "i can't swim", Doubt.TURNED),
        ("The user smokes.", "i used to smoke", Doubt.TURNED),
        ("Пользователь ест мясо.", "я не ем мясо", Doubt.TURNED),
        ("Користувач п'є каву.", "я не п'ю каву", Doubt.TURNED),
        ("Der Nutzer raucht.", "ich rauche nicht mehr", Doubt.TURNED),
        ("L'utilisateur fume.", "j'ai arrêté de fumer", Doubt.TURNED),
        ("L'utilisateur supporte l'odeur.", "je supporte plus l'odeur", Doubt.TURNED),
        ("El usuario usa ropa de lana.", "lana no uso", Doubt.TURNED),
        ("用户抽烟。", "我戒烟了", Doubt.TURNED),
        ("The server runs on 9090.", "the server runs on 8080, not 9090", Doubt.TURNED),
        ("User wants to be called before 10.", "never call me before 10", Doubt.TURNED),
        ("The user passed the driving test.", "i failed my driving test", Doubt.TURNED),
        ("Bob manages Ann.", "Ann manages Bob", Doubt.TURNED),
        ("Marco lent the user 200 euros.", "I lent Marco 200 euros", Doubt.TURNED),
        ("Петя должен пользователю 500 рублей.", "я должен Пете 500 рублей", Doubt.TURNED),
        ("Der Nutzer trinkt lieber Kaffee als Tee.", "lieber Tee als Kaffee", Doubt.TURNED),
        ("El usuario prefiere el café al té.", "prefiero el té al café", Doubt.TURNED),
        ("用户从上海搬到了北京。", "我从北京搬到了上海", Doubt.TURNED),
        ("The user is older than their brother.", "my brother is older than me", Doubt.TURNED),
        ("The user cooks and Kenji does the dishes.", "my roommate Kenji cooks, I do the dishes", Doubt.TURNED),
        ("The user may run again.", "the doctor forbade me to run", Doubt.TURNED),
        ("The user sleeps on the sofa.", "he sleeps on the sofa", Doubt.PERSON),
        ("The user's wife is a teacher.", "my mum is a teacher", Doubt.PERSON),
    ],
)
def test_what_differs_from_its_quote_is_doubted(fact: str, quote: str, doubt: Doubt) -> None:
    assert weigh(fact, quote, said(quote)).doubt is doubt


@pytest.mark.parametrize(
    ("fact", "quote"),
    [
        ("The user is a vegetarian.", "i don't eat meat"),
        ("The user does not smoke any more.", "i quit smoking"),
        ("The user dislikes coffee.", "i don't like coffee"),
        ("The user has 21 chickens.", "we have twenty one chickens"),
        ("The user's commute takes 90 minutes.", "my commute is an hour and a half"),
        ("The meeting is at 15:30.", "meeting at half past three"),
        ("The user lives in Kyiv.", "я живу в Києві"),
        ("The user's wife lives with them in Kyiv.", "my wife and i live in Kyiv"),
        ("The user rents for 1500 a month.", "rent is 1,5k"),
        ("User lives in Shanghai.", "我住在上海"),
        ("The user learns Vietnamese.", "我在学越南语"),
        ("Jakobs Gips wird am 06.03.2026 abgenommen.", "der Gips kommt am 6. runter"),
        ("The guests leave at 9:00 on 2026-03-04.", "they're leaving at nine and its about 2 and a half hrs"),
        ("晨會從2026年3月9日起改為九點半。", "從下週一起九點半"),
        ("Діана 2026-03-20 складає іспит.", "двадцятого у Діани іспит"),
        ("The user works on New Year's Eve.", "i have to work new years eve"),
        ("The release is on Tuesday, not on Monday.", "no, the release is tuesday, not monday"),
        ("Bob is younger than Ann.", "Ann is older than Bob"),
        ("The user's neighbour bought their motorbike.", "sold my motorbike to my neighbour"),
        ("The user understands Catalan but does not speak it.", "i understand catalan but i don't speak it"),
        ("Olga was trained by Tom.", "Tom trained Olga, not the other way round"),
        ("Der Nutzer hat einem Freund Geld geliehen.", "hab nem freund geld geliehen für ne waschmaschine"),
        ("Lena earns more than the user.", "Lena earns more than I do"),
        ("L'ex de l'utilisateur lui doit deux mois.", "mon ex me doit deux mois"),
        ("User moved from Chengdu to Suzhou.", "去年从成都搬到了苏州"),
        ("The shoot costs 42,000 rubles.", "8 часов, сорок две тысячи рублей"),
        ("The user's right knee hurts.", "it's my right knee not left"),
        ("El ensayo es en la sede.", "ensayo en la sede no en el centro"),
        ("Лікар не дозволяє користувачу бігати до червня.", "лікар заборонив мені бігати до червня"),
        ("Der Nutzer hat seit Mai kein Auto mehr.", "hab kein Auto mehr seit Mai"),
        ("The user prefers plain German.", "пиши їм німецькою але простою"),
        ("L'utilisateur est grand-père de deux garçons.", "mes deux petits-fils viennent"),
        ("The user's husband reads to their son every night.", "his dad reads to him every night"),
        ("Die Nutzerin kann täglich 45 Minuten lernen.", "täglich ne dreiviertelstunde lernen geht"),
        ("User is a doctoral student at Jadavpur University.", "im doing my phd at Jadavpur"),
        ("El usuario paga dos pausas.", "son 2 pausas pagadas para la gente del taller"),
        ("El usuario vende los sábados en la feria.", "sigo en la feria los sábados"),
        ("User no longer has a cat.", "my cat died in autumn"),
        ("用户希望推荐的菜都不放香菜。", "推荐菜都避开香菜"),
        ("L'utilisateur envisage de réclamer les 40 € d'indemnité.", "on peut demander les 40€ d'indemnité non"),
        ("L'utilisatrice ne supporte plus l'odeur.", "je supporte plus l'odeur"),
        ("User gets up at half past five.", "j'suis levé à 5h30"),
        ("Плитку Пользователю кладёт Ильдар.", "плитку мне кладёт Ильдар"),
        ("Кав'ярня Користувачки працює до 21:00.", "моя кав'ярня працює до 21"),
        ("La usuaria tiene que renovar el carné de Juli.", "mañana tengo que renovar el carné de Juli, el de ella"),
        ("L'utilisatrice parlera d'Enzo à son maître de stage.", "j'en parle à son maître de stage, celui d'Enzo"),
        ("L'utilisateur a un bateau de 5,20 mètres.", "mon bateau de 5 mètres 20"),
        ("用戶的預算是每人35000台幣。", "預算一人三萬五台幣"),
        ("User's grandmother wants to call Aunt Olena.", "бабуся хоче подзвонити тьоті Олені"),
    ],
)
def test_other_words_for_the_same_are_confirmed(fact: str, quote: str) -> None:
    assert weigh(fact, quote, said(quote)).doubt is None


def test_a_name_may_hold_a_word_for_kin() -> None:
    drives = said("我负责开车,七座", speaker="陈哥")
    assert weigh("陈哥开一辆七座车去团建。", "我负责开车,七座", drives, said("好", speaker="小敏")).doubt is None


def test_who_says_yes_in_a_group_makes_it_theirs() -> None:
    asked, yes = answered("Shall I remind everybody on Wednesday?"), said("yes, do", speaker="Olga")
    weighed = weigh("Olga wants everybody reminded on Wednesday.", "remind everybody on Wednesday", asked, yes)
    assert weighed.doubt is None


def test_a_day_that_was_named_before_still_holds() -> None:
    messages = said("our wedding is on 19 July"), answered("How many guests?"), said("forty two")
    fact = Fact("wedding", "42 come.", Kind.FACT, since=date(2027, 7, 19), citation=Citation(3, "forty two"))
    assert Hearing(messages, (), ZoneInfo("UTC")).weigh(fact).doubt is None
    other = replace(fact, since=date(2027, 8, 20))
    assert Hearing(messages, (), ZoneInfo("UTC")).weigh(other).doubt is Doubt.DATE


def test_who_she_is_stands_in_the_message_before() -> None:
    before, now = said("my sister moved here"), said("she's a vet")
    assert weigh("The user's sister is a vet.", "she's a vet", before, answered("Nice"), now, number=3).doubt is None


def test_in_a_group_a_fact_is_about_who_spoke() -> None:
    ann, bob = said("I live in Kyiv", speaker="Ann"), said("I live in Oslo", speaker="Bob")
    assert weigh("Ann lives in Kyiv.", "I live in Kyiv", ann, bob).doubt is None
    assert weigh("Bob lives in Kyiv.", "I live in Kyiv", ann, bob).doubt is Doubt.PERSON
    joins = said("I join you in Kyiv", speaker="Ann")
    assert weigh("Ann joins Bob in Kyiv.", "I join you in Kyiv", joins, bob).doubt is None


def test_a_name_that_is_known_may_be_used() -> None:
    known = ("The user's dog is called Rex.",)
    assert weigh("The dog Rex is old.", "my dog is old", said("my dog is old")).doubt is Doubt.NAME
    assert weigh("The dog Rex is old.", "my dog is old", said("my dog is old"), known=known).doubt is None


# numbers and days


@pytest.mark.parametrize(
    ("text", "number"),
    [
        *zip(
            ("twenty-one", "1,5k", "10 000", "1.500 Euro", "quatre-vingt-dix", "fünfunddreißig", "hundertfünfzig"),
            ("21", "1500", "10000", "1500", "90", "35", "150"),
            strict=True,
        ),
        *zip(
            ("двадцать три", "девятьсот", "二十一", "三百五十", "8pm", "21st", "3-го", "twenty nineteen", "2 million"),
            ("23", "900", "21", "350", "20", "21", "3", "2019", "2000000"),
            strict=True,
        ),
        *(("восьмого", "8"), ("восемнадцатого", "18"), ("п'ятнадцятого", "15"), ("двадцятого", "20")),
        *(("am fünfzehnten", "15"), ("烧到三十八度二", "38.2")),
        ("двести восемьдесят тысяч", "280000"),
        ("twenty two thousand five hundred", "22500"),
        ("zweitausendfünfhundert", "2500"),
        ("zum Siebzigsten", "70"),
    ],
)
def test_a_number_is_read_however_it_is_written(text: str, number: str) -> None:
    assert number in readings(text)


@pytest.mark.parametrize("text", ["half past three", "halb vier", "las tres y media", "полчетвёртого"])
def test_half_past_three_is_half_past_three(text: str) -> None:
    assert "15:30" in times_of_day(text)


@given(st.integers(0, 10**30))
def test_digits_are_read_as_they_are(number: int) -> None:
    assert str(number) in readings(f"it is {number} today")


@given(st.text())
def test_any_text_has_readings(text: str) -> None:
    assert all(one for one in readings(text) | times_of_day(text))


@pytest.mark.parametrize(
    ("day", "text", "may_be"),
    [
        (date(2026, 3, 4), "dentist tomorrow", True),
        (date(2026, 3, 9), "dentist tomorrow", False),
        (date(2026, 3, 6), "dinner on friday", True),
        (date(2026, 3, 5), "dinner on friday", False),
        (date(2026, 3, 6), "в пятницу ужин", True),
        (date(2026, 12, 24), "on the 24th", True),
        (date(1990, 5, 1), "born in 1990", True),
        (date(2031, 1, 1), "i have a dog", False),
        (date(2022, 1, 1), "my tyres have been there for four years", True),
        (date(2019, 1, 1), "my tyres have been there for four years", False),
    ],
)
def test_a_day_must_fit_what_was_said(day: date, text: str, *, may_be: bool) -> None:
    assert fits(day, text, AT) is may_be


# the labelled conversations


@pytest.mark.parametrize("path", sorted(SETS.glob("*.json")), ids=lambda path: path.stem)
def test_every_true_fact_of_the_set_quotes_what_was_said(path: Path) -> None:
    for conversation in json.loads(path.read_text(encoding="utf-8")):
        for fact in conversation["facts"]:
            assert is_quoted_from(fact["quote"], conversation["messages"][fact["message"] - 1]["text"]), fact


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [("tune", 0.965, {"new": 0.52, "reversed": 0.8, "swapped person": 0.59}), ("pairs", 0.935, {"new": 0.53})],
)
def test_the_checks_confirm_as_many_true_facts_as_they_did_and_no_more_invented_ones(
    name: str, least: float, most: dict[str, float]
) -> None:
    states: dict[str, list[str]] = {}
    for listed in itertools.islice(cases(name), 0, None, 3):
        cited = [case for case in listed if case.group != UNCITED]
        for case, weighed in zip(cited, by_code(cited), strict=True):
            states.setdefault(TRUE if case.group == TRUE else case.kind, []).append(state_of(weighed))
    confirmed = {kind: found.count("confirmed") / len(found) for kind, found in states.items()}
    assert confirmed[TRUE] >= least
    assert {kind: share for kind, share in confirmed.items() if share > most.get(kind, 0.72)}.keys() <= {TRUE}
    assert "refused" not in states[TRUE]


# the judge


def test_the_file_of_weights_is_whole_and_says_where_it_comes_from() -> None:
    known = judge()
    assert WEIGHTS.stat().st_size < LARGEST
    assert "benchmarks.fit_evidence" in known.header.origin
    assert len(known.weights) == BUCKETS


@pytest.mark.parametrize(
    ("fact", "quote"),
    [
        ("The user takes sleeping tablets after night shifts.", "just in the door from the bakery, wrecked"),
        ("Die Nutzerin hat vorher als Verkäuferin gearbeitet.", "so prüfung bestanden"),
        ("Пользователь ждёт ребёнка.", "аж выдохнула"),
    ],
)
def test_what_has_little_to_do_with_its_quote_is_doubted(fact: str, quote: str) -> None:
    assert weigh(fact, quote, said(quote)).doubt in (Doubt.MORE, Doubt.UNLIKE)


@pytest.mark.parametrize(
    ("fact", "number"),
    [("The user lives in Kyiv.", 13), ("用户住在上海。", 217), ("Bob lives in Oslo with Ann.", 4711)],
)
def test_a_number_that_nobody_said_is_a_doubt_whatever_else_is_said(fact: str, number: int) -> None:
    quote = fact.replace("The user lives", "I live").rstrip(".。")
    assert weigh(fact, quote, said(quote)).doubt is None
    assert weigh(f"{fact} {number}", quote, said(quote)).doubt is Doubt.NUMBER


ATTACKS = sorted({one["text"] for one in json.loads((SETS.parent / "attacks.json").read_text(encoding="utf-8"))})


@pytest.mark.parametrize("attack", ATTACKS)
def test_what_only_a_foreign_text_says_is_not_confirmed_by_what_the_user_typed_beside_it(attack: str) -> None:
    words = " ".join(attack.split()[:2])[:16]
    forwarded, asked = said(attack, Provenance.FORWARDED), said(f"Look up {words}")
    for quote in (None, f"Look up {words}", words):
        weighed = weigh(attack, quote, forwarded, asked, number=2)
        assert weighed.refusal is Refusal.FOREIGN or weighed.doubt not in (None, *LIFTED)
