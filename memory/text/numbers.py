"""Numbers in a text, whatever way they are written: digits, words of seven languages, times of day.

A mention has several readings ("3:30" may be in the afternoon, "1,500" a decimal comma): two texts agree on a number
when they share a reading of it.
"""

from __future__ import annotations

import re
import unicodedata

_UNITS = (
    "zero|oh|ноль|нуль|null|cero|zéro|零|〇",
    "one|один|одна|одно|одну|одного|одной|eins|ein|eine|einen|uno|una|un|une|一",
    "two|twice|couple|both|два|две|двух|двое|дві|двох|пара|пару|zwei|zwo|beide|dos|ambos|deux|二|两|兩",
    "three|три|трёх|трех|трое|трьох|drei|tres|trois|三",
    "four|четыре|четырёх|четырех|четверо|чотири|чотирьох|vier|cuatro|quatre|四",
    "five|пять|пяти|пятеро|п'ять|п'яти|п'ятеро|fünf|cinco|cinq|五",
    "six|шесть|шести|шестеро|шість|шести|sechs|seis|six|六",
    "seven|семь|семи|семеро|сім|семи|sieben|siete|sept|七",
    "eight|восемь|восьми|вісім|восьми|acht|ocho|huit|八",
    "nine|девять|девяти|дев'ять|дев'яти|neun|nueve|neuf|九",
    "ten|десять|десяти|zehn|diez|dix|十",
    "eleven|одиннадцать|одиннадцати|одинадцять|elf|onze|十一",
    "twelve|dozen|двенадцать|двенадцати|дванадцять|zwölf|doce|douze|dutzend|docena|douzaine|十二",
    "thirteen|тринадцать|тринадцати|тринадцять|dreizehn|trece|treize|十三",
    "fourteen|четырнадцать|чотирнадцять|vierzehn|catorce|quatorze|十四",
    "fifteen|пятнадцать|пятнадцати|п'ятнадцять|fünfzehn|quince|quinze|十五",
    "sixteen|шестнадцать|шістнадцять|sechzehn|dieciséis|seize|十六",
    "seventeen|семнадцать|сімнадцять|siebzehn|diecisiete|十七",
    "eighteen|восемнадцать|вісімнадцять|achtzehn|dieciocho|十八",
    "nineteen|девятнадцать|дев'ятнадцять|neunzehn|diecinueve|十九",
)
_TENS = (
    "twenty|двадцать|двадцати|двадцять|zwanzig|veinte|veinti|vingt|vingts",
    "thirty|тридцать|тридцати|тридцять|dreißig|treinta|trente",
    "forty|сорок|сорока|vierzig|cuarenta|quarante",
    "fifty|пятьдесят|п'ятдесят|fünfzig|cincuenta|cinquante",
    "sixty|шестьдесят|шістдесят|sechzig|sesenta|soixante",
    "seventy|семьдесят|сімдесят|siebzig|setenta|septante",
    "eighty|восемьдесят|вісімдесят|achtzig|ochenta|huitante",
    "ninety|девяносто|дев'яносто|neunzig|noventa|nonante",
)
_HUNDREDS = (
    "",
    "сто|ста|сотня|hundert|cien|ciento",
    "двести|двісті|двухсот|двохсот|doscientos|doscientas",
    "триста|трёхсот|трехсот|трьохсот|trescientos|trescientas",
    "четыреста|чотириста|cuatrocientos|cuatrocientas",
    "пятьсот|п'ятсот|пятсот|quinientos|quinientas",
    "шестьсот|шістсот|seiscientos|seiscientas",
    "семьсот|сімсот|setecientos|setecientas",
    "восемьсот|вісімсот|ochocientos|ochocientas",
    "девятьсот|дев'ятсот|novecientos|novecientas",
)
_MULTIPLIERS = {
    100: "hundred|hundreds|cent|cents|百",
    1_000: (
        "thousand|thousands|grand|тысяча|тысячи|тысяч|тыс|тысячу|тыщ|тыща|тищ|тисяча|тисячі|тисяч|тис|tausend|mil|"
        "mille|k|к|千"
    ),
    10_000: "万|萬",
    1_000_000: (
        "million|millions|mio|mln|миллион|миллиона|миллионов|млн|мільйон|мільйона|мільйонів|millionen|millón|millones|"
        "m|百万"
    ),
}


# tenth before ninth and so on, since one stem may begin another
_ORDINALS = (
    "ноль",
    "first|erst|primer|premi|перв|перш",
    "second|zweit|segund|deuxi|втор|друг",
    "third|dritt|tercer|troisi|трет",
    "fourth|viert|cuart|quatri|четв[её]рт|четверт",
    "fifth|fünft|quint|cinqui|пят|п'ят",
    "sixth|sechst|sext|sixi|шест|шост",
    "seventh|siebt|séptim|septi|седьм|сьом",
    "eighth|acht|octav|huiti|восьм",
    "ninth|neunt|noven|neuvi|девят|дев'ят",
    "tenth|zehnt|décim|dixi|десят",
    "eleventh|elft|undécim|onzi|одиннадцат|одинадцят",
    "twelfth|zwölft|duodécim|douzi|двенадцат|дванадцят",
)
_ORDINAL = re.compile(
    rf"(?:{'|'.join(_ORDINALS[1:])})(?:e[nrsm]?|o|a|os|as|er|ère|ième|ème|ый|ій|ого|ої|ой|ому|ым|им|ая|ое|ую|у|а|і|"
    rf"є|ю|ья|ье|ьего|ьей|ього|ьої|ій|ти)?"
)


_TENTH_STEMS = {
    "тринадцат": 13,
    "тринадцят": 13,
    "четырнадцат": 14,
    "чотирнадцят": 14,
    "пятнадцат": 15,
    "п'ятнадцят": 15,
    "шестнадцат": 16,
    "шістнадцят": 16,
    "семнадцат": 17,
    "сімнадцят": 17,
    "восемнадцат": 18,
    "вісімнадцят": 18,
    "девятнадцат": 19,
    "дев'ятнадцят": 19,
    "двадцат": 20,
    "двадцят": 20,
    "тридцат": 30,
    "тридцят": 30,
    "сороков": 40,
    "пятидесят": 50,
    "п'ятдесят": 50,
    "шестидесят": 60,
    "шістдесят": 60,
    "семидесят": 70,
    "сімдесят": 70,
    "восьмидесят": 80,
    "вісімдесят": 80,
    "девяност": 90,
    "дев'яност": 90,
}
_TENTHS = re.compile(rf"({'|'.join(_TENTH_STEMS)})(?:ый|ого|ой|ом|ых|ые|ому|их|і|их|ої|ій|ого|ими|ыми|е)")


def _values() -> dict[str, int]:
    tables = [*enumerate(_UNITS), *((10 * tens, words) for tens, words in enumerate(_TENS, start=2))]
    tables += [(100 * hundreds, words) for hundreds, words in enumerate(_HUNDREDS) if words]
    return {word.casefold(): value for value, words in tables for word in words.split("|")}


_VALUES = _values()
_TIMES = {word: value for value, words in _MULTIPLIERS.items() for word in words.split("|")}
_HALVES = frozenset("half halb пол половина пів media demi demie et半".split())
_HAN_DIGITS = re.compile("[零〇一二三四五六七八九十百千万两兩]+")
_HAN_POINT = re.compile("([零〇一二三四五六七八九十两兩]+)[点點时時度]([零〇一二三四五六七八九十]+)")
_ONE_AND_A_HALF = re.compile(
    r"\b(?:полтор\w*|півтор\w*|anderthalb\w*|one and a half|un et demi|uno y medio)\b|一个半|一年半"
)
_GERMAN = re.compile(r"^(ein|zwei|drei|vier|fünf|sechs|sieben|acht|neun)und(\w+(?:zig|ssig))$")
_GERMAN_THOUSANDS = re.compile(r"^(\w*?)tausend(\w*)$")
_GERMAN_HUNDREDS = re.compile(r"^(ein|zwei|drei|vier|fünf|sechs|sieben|acht|neun)?hundert(\w*)$")
_SPANISH = re.compile(r"^(veinti|treintai|cuarentai)(\w+)$")
_SCALES = "k|к|тыс|тис|mil|mio|mln|млн|m|万|千|thousand|million|tausend|mille|тысяч|тисяч|миллион\\w*|мільйон\\w*"
_MENTION = re.compile(
    r"(?P<clock>\d{1,2}[:.h]\d{2})(?!\d)"
    r"|(?P<digits>\d{1,3}(?:[.,\u00a0' ]\d{3})+(?!\d)|\d+(?:[.,]\d+)?)"
    rf"(?:\s*(?P<scale>{_SCALES})(?![^\W\d_]))?",
    re.IGNORECASE,
)
_BEHIND_UNIT = re.compile(r"(?<![\d.,:])(?P<whole>\d{1,3})\s*[^\W\d_]{1,8}\s*(?P<part>\d\d)(?![\d.,:])")
"""What `5 mètres 20` means, and `1 m 75`."""
_AFTERNOON = re.compile(r"(?<![\d:.])(?P<hour>\d{1,2})\s*(?P<half>[ap])\.?m\b", re.IGNORECASE)


def readings(text: str) -> set[str]:
    """Every number that `text` may mean, in digits; times of day as `15:30`."""
    found = set().union(*mentions(text))
    found |= {_plain(float(f"{m['whole']}.{m['part']}")) for m in _BEHIND_UNIT.finditer(text)}
    # an English adverb and a Spanish number: what was said may mean either
    return found | ({"11"} if re.search(r"\bonce\b", text.casefold()) else set())


def mentions(text: str) -> list[set[str]]:
    """The readings of each number that `text` mentions."""
    plain = (
        unicodedata.normalize("NFKC", text)
        .casefold()
        .replace("’", "'")
        .replace("ʼ", "'")
        .replace("百分之", " ")
        .replace("萬", "万")
    )
    found = [_of_match(match) for match in _MENTION.finditer(plain)]
    found += [
        {str((int(m["hour"]) % 12) + (12 if m["half"] == "p" else 0)), m["hour"]} for m in _AFTERNOON.finditer(plain)
    ]
    found += [{str(value)} for run in _HAN_DIGITS.findall(plain) if (value := _of_han(run)) is not None]
    found += [_pointed(*(_of_han(run) for run in match.groups())) for match in _HAN_POINT.finditer(plain)]
    found += [{"1.5"} for _ in _ONE_AND_A_HALF.finditer(plain)]
    return [one for one in [*found, *_of_words(plain)] if one]


def _pointed(whole: int | None, part: int | None) -> set[str]:
    """What `七点五十` and `九点二` mean: a time of day, or a decimal."""
    if whole is None or part is None:
        return set()
    decimal = {f"{whole}.{part}"} if part < 10 else set()
    return decimal | (_clock(whole, part) if whole < 25 and part < 60 else set())


def _of_match(match: re.Match[str]) -> set[str]:
    if match["clock"]:
        hour, minute = (int(part) for part in re.split("[:.h]", match["clock"]))
        decimal = {_plain(float(match["clock"]))} if "." in match["clock"] else set()
        return _clock(hour, minute) | decimal
    digits = match["digits"]
    is_grouped = re.fullmatch(r"\d{1,3}(?:[.,\u00a0' ]\d{3})+", digits)
    read = {str(int(re.sub(r"[.,\u00a0' ]", "", digits)))} if is_grouped or digits.isdigit() else set()
    if re.fullmatch(r"\d+[.,]\d+", digits):
        read.add(_plain(float(digits.replace(",", "."))))
    scale = next((value for word, value in _TIMES.items() if word == match["scale"]), 1) if match["scale"] else 1
    return read | ({_plain(float(one) * scale) for one in read} if scale > 1 else set())


def _clock(hour: int, minute: int) -> set[str]:
    hours = {hour % 24, (hour + 12) % 24}
    return {f"{one}:{minute:02}" for one in hours} | ({str(one) for one in hours} if minute == 0 else set())


def _plain(value: float) -> str:
    return str(int(value)) if value == int(value) else f"{value:g}"


def _of_words(text: str) -> list[set[str]]:
    """Numbers in words, put together where they follow each other: `twenty one`, `two thousand`."""
    found: list[set[str]] = []
    parts: list[int] = []
    counted = 0  # how many of the parts are thousands and millions already
    for word in [*re.split(r"[\s\-]+", text), ""]:
        plain = word.strip(".,;:!?()\"'«»„“”")
        value = _of_word(plain)
        if value is not None:
            parts.append(value)
            continue
        times = _TIMES.get(plain, 1)
        if times == 100 and not any(part < 100 for part in parts[-1:]):
            parts.append(1)  # "a hundred", "deux mille cent"
        if times > 1 and parts and len(plain) > 1:
            last = parts[counted:] if times >= 1_000 and len(parts) > counted else parts[-1:]
            parts[-len(last) :] = [sum(last) * times]
            counted = len(parts) if times >= 1_000 else counted
            continue
        if parts and plain not in ("and", "et", "y", "und"):
            found.append({str(part) for part in parts} | {str(sum(parts))} | _together(parts))
            parts, counted = [], 0
    return found


def _together(parts: list[int]) -> set[str]:
    """What parts mean that are not added up: `quatre-vingt-dix`, `twenty nineteen`."""
    made = {str(4 * 20 + sum(parts[2:]))} if parts[:2] == [4, 20] else set()
    if len(parts) > 1 and all(10 <= part < 100 for part in (parts[0], sum(parts[1:]))):
        made.add(str(100 * parts[0] + sum(parts[1:])))
    return made


def _of_word(word: str) -> int | None:
    if word in _VALUES and not _HAN_DIGITS.fullmatch(word):
        return _VALUES[word]
    ordinal = _ORDINAL.fullmatch(word)
    if ordinal is not None:
        return next(at for at, stems in enumerate(_ORDINALS) if re.match(stems, word))
    if word.endswith("s") and word[:-1] in _VALUES:
        return _VALUES[word[:-1]]
    german, tens = re.fullmatch(r"(\w+(?:zig|ssig|zehn))s?te[nrsm]?", word), _TENTHS.fullmatch(word)
    if german is not None:
        return _of_word(german[1])
    if tens is not None:
        return _TENTH_STEMS[tens[1]]
    thousands = _GERMAN_THOUSANDS.match(word)
    if thousands is not None:
        many, rest = (_of_word(part) if part else none for part, none in zip(thousands.groups(), (1, 0), strict=True))
        return None if many is None or rest is None else 1000 * many + rest
    hundreds = _GERMAN_HUNDREDS.match(word)
    if hundreds is not None and (rest := _of_word(hundreds[2]) if hundreds[2] else 0) is not None:
        return 100 * _VALUES.get(hundreds[1] or "ein", 1) + rest
    compound = _GERMAN.match(word) or _SPANISH.match(word)
    if compound is None:
        return None
    first, second = (_VALUES.get(part) for part in compound.groups())
    return first + second if first is not None and second is not None else None


def _of_han(run: str) -> int | None:
    total, section, digit, last = 0, 0, 0, 1
    for character in run:
        value = next((at for at, words in enumerate(_UNITS[:10]) if character in words.split("|")), None)
        if value is not None:
            digit = value
        elif character == "万":
            total, section, digit, last = (total + section + digit) * 10_000, 0, 0, 10_000
        else:
            last = {"十": 10, "百": 100, "千": 1_000}[character]
            section += (digit or 1) * last
            digit = 0
    # "four thousand eight" is 4,800 where people speak
    spoken = digit * last // 10 if last > 10 and digit and len(run) > 1 and run[-2] in "百千万" else digit
    return total + section + spoken


_PAST = re.compile(
    r"\b(?:half past|halb|пол|половин[ау]|пів на|media|et demie|quarter past|quarter to|viertel nach|viertel vor|"
    r"y cuarto|menos cuarto|et quart|moins le quart|"
    r"четверть|чверть|без четверти)\b"
)


def times_of_day(text: str) -> set[str]:
    """Readings of times said in words: `half past three`, `halb vier`, `las tres y media`, `полчетвёртого`."""
    plain = text.casefold()
    if not _PAST.search(plain) and "полов" not in plain and not re.search(r"\bпол\w{4,}", plain):
        return set()
    hours = {int(one) for one in readings(plain) if one.isdigit() and 0 <= int(one) <= 24}
    hours |= {at for at, stem in enumerate(_ORDINALS) if re.search(rf"{stem}", plain)}
    return set().union(
        *(_clock((hour + shift) % 24, minute) for hour in hours for shift in (0, -1) for minute in (15, 30, 45))
    )
