"""Days that a model worked out: whether they fit what was said, and when."""

from __future__ import annotations

import contextlib
import re
from datetime import date, timedelta
from typing import TYPE_CHECKING

from memory.text.numbers import readings

if TYPE_CHECKING:
    from datetime import datetime

_NEAR = timedelta(days=400)
"""How far from the message a day may lie that was not said in so many words: "next year" and "last spring"."""
_WEEK = timedelta(days=22)
"""The same for a day of the week: "the Friday after next"."""

_WEEKDAYS = (
    (
        "monday|mon|понедельник\\w*|понеділ\\w*|montag\\w*|lunes|lundi|[周週]一|星期一|[礼禮]拜一|月曜\\w*|poniedział\\w*|luned\\w*|"
        "segunda"
    ),
    "tuesday|tue|tues|вторник\\w*|вівтор\\w*|dienstag\\w*|martes|mardi|[周週]二|星期二|[礼禮]拜二|火曜\\w*|wtor\\w*|marted\\w*|terça",
    (
        "wednesday|wed|weds|сред[ауые]\\w*|серед[ауи]\\w*|mittwoch\\w*|miércoles|miercoles|mercredi|[周週]三|星期三|[礼禮]拜三|"
        "水曜\\w*|środ\\w*|mercoled\\w*|quarta"
    ),
    (
        "thursday|thu|thurs|четверг\\w*|четвер\\w*|donnerstag\\w*|jueves|jeudi|[周週]四|星期四|[礼禮]拜四|木曜\\w*|czwart\\w*|"
        "gioved\\w*|quinta"
    ),
    "friday|fri|пятниц\\w*|п.?ятниц\\w*|freitag\\w*|viernes|vendredi|[周週]五|星期五|[礼禮]拜五|金曜\\w*|piąt\\w*|venerd\\w*|sexta",
    "saturday|sat|суббот\\w*|субот\\w*|samstag\\w*|sonnabend|sábado|sabado|samedi|[周週]六|星期六|[礼禮]拜六|土曜\\w*|sobot\\w*|sabato",
    "sunday|sun|воскресен\\w*|неділ\\w*|sonntag\\w*|domingo|dimanche|[周週]日|[周週]天|星期日|星期天|[礼禮]拜[天日]|日曜\\w*|niedziel\\w*|domenica",
)
_UNSPACED = re.compile("[\u3400-\u9fff]")
"""What words without gaps between them are written in."""
_WEEKDAY = tuple(
    re.compile(
        rf"(?<!\w)(?:{words})(?!\w)|(?:{'|'.join(w for w in words.split('|') if _UNSPACED.search(w))})", re.IGNORECASE
    )
    for words in _WEEKDAYS
)
_SHIFTS = {
    0: "today|tonight|сегодня|сьогодні|heute|hoy|aujourd['’]hui|今天|今晚|今日",
    1: "tomorrow|tmrw|tmr|завтра|morgen|mañana|demain|明天|明日|jutro|domani|amanhã",
    -1: "yesterday|вчера|вчора|gestern|ayer|hier|昨天|昨日|wczoraj|ieri|ontem",
    2: "day after tomorrow|послезавтра|післязавтра|übermorgen|pasado mañana|après-demain|后天",
    -2: "day before yesterday|позавчера|позавчора|vorgestern|anteayer|avant-hier|前天",
}
_SHIFTED = {
    days: re.compile(
        rf"(?<![\w-])(?:{words})(?!\w)|(?:{'|'.join(w for w in words.split('|') if _UNSPACED.search(w)) or '$^'})",
        re.IGNORECASE,
    )
    for days, words in _SHIFTS.items()
}
_MONTHS = (
    "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|янв|фев|март|апр|мая|май|июн|июл|авг|сен|окт|ноя|дек|"
    "січ|лют|берез|квіт|трав|черв|лип|серп|верес|жовт|листоп|груд|jän|mär|mai|dez|ene|abr|ago|dic|janv|fév|avr|"
    "juin|juil|août|déc"
)
_TEMPORAL = re.compile(
    rf"(?<!\w)(?:next|last|this|coming|ago|weekends?|weeks?|months?|years?|spring|summer|autumn|fall|winter|days?|birthday|"
    rf"since|until|till|in \w+ (?:days|weeks|months|years)|"
    r"следующ\w*|прошл\w*|через|назад|недел\w*|месяц\w*|год\w*|лет|лета|весн\w*|осен\w*|зим\w*|выходн\w*|дн[яей]\w*|"
    r"наступн\w*|минул\w*|тому|тижн\w*|місяц\w*|рок\w*|рік|літ\w*|вихідн\w*|"
    r"nächst\w*|letzt\w*|vor|kommend\w*|woche\w*|monat\w*|jahr\w*|wochenende|sommer|winter|frühling|herbst|tag\w*|"
    r"próxim\w*|pasad\w*|hace|semana\w*|mes|meses|año\w*|dentro|verano|invierno|días?|"
    rf"prochain\w*|derni\w*|semaine\w*|mois|an|ans|année\w*|dans|été|hiver|jours?|depuis|(?:{_MONTHS})\w*)(?!\w)|"
    rf"[年月日周号]|星期|上个|下个|以前|之后",
    re.IGNORECASE,
)


_MONTH = re.compile(
    rf"(?:{_MONTHS}|янв|февр|июн|июл|авг|сент|окт|нояб|дек|stycz|lut|kwiet|maj|czerw|lip|sierp|wrze|paźdz|listop|grud|"
    r"genn|febb|aprile|magg|giugn|lugl|agost|sett|ott|nov|dicem|enero|febrero|marzo|abril|mayo|junio|julio|septiembre|"
    r"octubre|noviembre|diciembre|janeiro|fevereiro|març|maio|junho|julho|setembro|outubro|dezembro|janvier|févri|mars|"
    r"avril|juillet|août|septembre|octobre|novembre|décembre)\w{0,6}$|[年月日号號]"
)


def is_month(word: str) -> bool:
    """Whether a word in lower case is a month's name, or a sign that Chinese writes dates with."""
    return _MONTH.match(word) is not None


_WRITTEN = (
    re.compile(r"(?<!\d)(?P<year>\d{4})-(?P<month>\d{1,2})-(?P<day>\d{1,2})(?!\d)"),
    re.compile(r"(?<![\d.])(?P<day>\d{1,2})\.\s?(?P<month>\d{1,2})\.\s?(?P<year>\d{4})(?!\d)"),
    re.compile(r"(?<![\d/])(?P<day>\d{1,2})/(?P<month>\d{1,2})/(?P<year>\d{4})(?!\d)"),
    re.compile(r"(?<![\d/])(?P<month>\d{1,2})/(?P<day>\d{1,2})/(?P<year>\d{4})(?!\d)"),
    re.compile(r"(?<!\d)(?P<year>\d{4})\s?年\s?(?P<month>\d{1,2})\s?月\s?(?P<day>\d{1,2})\s?[日号號]"),
)


def written_days(text: str) -> tuple[list[set[date]], str]:
    """The days written with their year in digits, each as what it may mean, and `text` without them."""
    found: dict[int, set[date]] = {}
    places: set[tuple[int, int]] = set()
    for pattern in _WRITTEN:
        for match in pattern.finditer(text):
            with contextlib.suppress(ValueError):
                found.setdefault(match.start(), set()).add(
                    date(*(int(match[part]) for part in ("year", "month", "day")))
                )
                places.add(match.span())
    for begin, end in sorted(places, reverse=True):
        text = f"{text[:begin]} {text[end:]}"
    return list(found.values()), text


def weekdays_in(text: str) -> set[int]:
    """The days of the week that `text` names; Monday is 0."""
    return {day for day, pattern in enumerate(_WEEKDAY) if pattern.search(text)}


def speaks_of_time(text: str) -> bool:
    """Whether `text` says of anything when it is, so that a day may be worked out from it."""
    return bool(_TEMPORAL.search(text) or weekdays_in(text) or any(p.search(text) for p in _SHIFTED.values()))


def names(day: date, said: str, at: datetime) -> bool:
    """Whether `said` names `day`, by its number or, where it is near, by its day of the week."""
    is_near = abs(day - at.date()) <= _WEEK
    return str(day.day) in readings(said) or (is_near and day.weekday() in weekdays_in(said))


def _is_counted(day: date, said: str, today: date) -> bool:
    """Whether a day lies as many years away as a number says: "for four years"."""
    counted = [int(one) for one in readings(said) if one.isdigit() and len(one) < 3]
    return any(abs(abs(today.year - day.year) - years) <= 1 for years in counted)


def fits(day: date, said: str, at: datetime) -> bool:
    """Whether a model may have worked `day` out from what was `said` at `at`, on the speaker's clock."""
    today = at.date()
    if str(day.year) in said or re.search(rf"(?<!\d)0?{day.day}(?!\d)", said):
        return True
    if abs(day - today) <= timedelta(days=1):
        return True
    named, shifts = weekdays_in(said), [days for days, pattern in _SHIFTED.items() if pattern.search(said)]
    if _TEMPORAL.search(said) or (named and shifts):
        return abs(day - today) <= _NEAR or _is_counted(day, said, today)
    if named:
        return day.weekday() in named and abs(day - today) <= _WEEK
    if shifts:
        return any(day - today == timedelta(days=days) for days in shifts)
    return abs(day - today) <= _NEAR
