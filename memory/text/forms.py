"""The words of a text as they are compared: without what does not matter, and which are forms of one word."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from memory.text.languages import PRONOUNS
from memory.text.words import STOP_WORDS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

_SHORTEST = 3
"""Letters that two forms of a word have in common at the least."""
_SHARE = 0.55
"""The part of the longer form that they have in common."""
_ELIDED = re.compile(r"\b([cdjlmnst]|qu)['’](?=\w)", re.IGNORECASE)
_HAN = re.compile("[\u3040-\u30ff\u3400-\u9fff]")
_EMPTY_HAN = frozenset("的了是在有和不就也都很我你他她们这那个一会要去说到吗呢吧啊把被对没给用户者")
_FRAME = frozenset(
    "user users has have had having is are was were be been being does do did done can could will would should "
    "must may might "
    "about also still recently now very really just currently usually often always already only again together "
    "each every other both "
    "year years month months week weeks day days hour hours minute minutes time times date time people person "
    "one old new way kind "
    "because due since while when who which whose that there back down out off up approximately around per "
    "nutzer nutzerin nutzers benutzer hat haben wird werden wurde derzeit gerne gern etwa circa ungefähr jetzt "
    "immer schon auch noch nur wieder "
    "jahr jahre jahren alt monat monate woche wochen tag tage stunde stunden minuten uhr zeit mal neu ander "
    "anderen bisher vorerst statt "
    "пользователь пользователя пользователю пользователем пользователе пользовательница пользовательницы "
    "пользовательнице пользовательницу есть "
    "сейчас также очень который уже еще только снова вместе каждый около примерно больше "
    "год года году годов лет месяц месяца месяцев неделя недели недель день дня дней час часа часов минут минуты "
    "время раз новый "
    "користувач користувача користувачу користувачем користувачка користувачки користувачці користувачку зараз "
    "також дуже який вже ще тільки разом кожен близько приблизно більше "
    "рік року році років місяць місяця тиждень тижня день дня днів година годин години хвилин час раз новий "
    "usuario usuaria persona está también muy ya solo siempre cada alrededor aproximadamente actualmente "
    "año años mes meses semana semanas día días hora horas minuto minutos tiempo vez nuevo nueva máximo mínimo "
    "utilisateur utilisatrice utilisateurs lutilisateur lutilisatrice dutilisateur actuellement aussi très déjà "
    "seulement toujours chaque environ "
    "an ans année années mois semaine semaines jour jours heure heures minute minutes temps fois nouveau "
    "nouvelle maximum".split()
)
"""What a fact says where a quote says nothing: grammar, measures of time, the user."""
_LIGHT = re.compile(
    r"(?:accept|agree|allow|appl|arriv|ask|attend|avoid|become|begin|belong|bring|bought|buy|call|cause|celebrat|"
    r"change|choos|come|consider|cook|decid|deal|depart|describ|develop|discuss|dislik|drink|driv|eat|"
    r"enjoy|expect|experienc|feel|find|follow|found|gave|get|giv|go(?:es|ing)?$|gone|got|grow|happen|hear|held|"
    r"help|hold|includ|intend|invit|joi?n|keep|kept|know|last|learn|leav|left|lik|listen|liv|locat|look|lov|"
    r"made|mak|marr|mean|meet|met|mention|mov|nam|need|offer|own|paid|pay|perform|place|plan|play|possess|prefer|"
    r"prepar|propos|provid|put|read|receiv|refer|remain|request|requir|resid|run|said|say|schedul|see|sell|serv|"
    r"share|"
    r"show|speak|spend|spent|start|stay|stop|stud|suffer|suggest|tak|talk|teach|tell|think|told|took|train|travel|"
    r"tri|try|turn|understand|us(?:e|es|ed|ing)$|usual|visit|wait|want|watch|wear|went|wish|work|writ|twice|once|"
    r"allowed|able|afraid|called|completed?|finished|full|issue|problem|own|part|session|sure|thing|total|type|"
    r"use|value|"
    r"anruf|arbeit|bekomm|benötig|benutz|besitz|bezahl|bitt|bleib|brauch|bring|beginn|besuch|beträg|befind|darf|"
    r"durf|ess|fahr|feier|find|fühl|führ|geb|gefall|geh|gehör|gemacht|genannt|geschrieben|gib|heiß|heiss|heißt|"
    r"hör|isst|kann|kauf|kenn|komm|könn|koch|"
    r"läuft|leb|les|lern|lieg|lieb|mach|mag|mein|möcht|muss|müss|nenn|nehm|nimm|nutz|plan|reis|sag|schreib|seh|"
    r"sieht|soll|spiel|sprech|sprich|statt|start|studier|such|teil|trag|treff|trink|tu[nt]|unterricht|verbring|"
    r"verwend|versteh|vorzieh|wart|will|wohn|woll|wünsch|zahl|zieh|angegeb|angesprochen|angered|"
    r"бер[её]т|боит|быва|веде|вид|выбра|выход|говор|готов|дела|держ|долж|езд|ест$|едят|живе|жить|занима|знач|"
    r"зовут|звать|игра|име[ею]|интерес|использ|исполн|ищет|куп|лежит|люб|мож[её]т|назва|назнач|наход|нача|начин|"
    r"нрав|нуж|обраща|отмеча|"
    r"перее|пить$|пь[её]т|писа|пиш|план|плат|покуп|получ|польз|помога|поним|предпочит|предлож|принима|приезж|"
    r"просит|проход|работ|родил|сказ|слуша|смотр|собира|сост|стара|счита|тренир|тратит|уезж|учит|ход|хоч|хоте|"
    r"чита|явля|"
    r"бере$|бажа|бачит|боїт|буває|вважа|веде|вивча|відвід|відзнач|вжива|говор|готує|дума|живе|жити|займа|звати|"
    r"заплан|зна[єчй]|їздит|їсть|купу|люб|ма[єюти]|мож[еу]|назив|назва|належ|нада[єв]|навч|отрим|пише|писа|план|"
    r"плат|почина|потріб|працю|пропон|просит|"
    r"прийма|проход|розмовл|розумі|слуха|станов|трима|уника|хоче|хоті|ходит|чита|щотиж|"
    r"acept|acostumbr|ador|almuerz|alquil|apag|aprend|asist|ayud|bail|beb|busc|cambi|cen|cocin|com[ei]|compart|"
    r"compr|conoc|consider|corr|cre[eo]|cuest|cuid|da[n]?$|deb|decid|decir|dej|desea|dice|disfrut|dirig|dur[ae]|"
    r"emp|encant|encuentr|enseñ|entien|entr|escrib|escuch|esper|est[aáe]|"
    r"estudi|evit|fue|gast|gust|hab[ilel]|hac|ha[ny]?$|ib[ae]|inici|interes|invit|ir$|jueg|jug|lee|le[íi]|lleg|"
    r"llev|llam|mant|me?jor|mira|mud|necesit|ofrec|pag|pas[ae]|pens|pid|pien|plane|pod|pon|prefier|prepar|pued|"
    r"quier|reciba?|recibi|recuerd|reserv|sab|sal[eidg]|sig[ue]|sient|suel|tard|ten[gíi]|"
    r"termin|tien|tom[ae]|trabaj|tra[ei]|us[ae]|utiliz|v[aeé]n?$|viaj|viv|vuelv|quisiera|"
    r"accept|achet|aid|aim|all[eéi]|appel|appren|arriv|attend|av[oai]|boi[rt]|boiv|chang|cherch|choisi|commenc|"
    r"compren|connai|consid|croi|cuisin|demand|dev|dit|dir|doi[tv]|donn|dur[e]|écout|écri|emmen|enseign|entend|"
    r"envoi|envoy|essai|essay|évit|fai|fêt|finir?|gard|habit|intéress|invit|jou|"
    r"lir|lit$|lou|mang|march|met[st]|nomm|obtenir|offr|organis|parl|part|pass|pay|pens|peu[tv]|plan|pouv|pratiqu|"
    r"préf|prén|prend|prépar|prévo|prévu|propos|quit|reç|reço|refus|rest|réuss|sai[st]|sav|se[rt]$|sort|souhait|"
    r"souffr|suit|suiv|tien|travail|trouv|util|v[ao]i?[st]$|veut|veul|vien|vit$|viv|voir|voul|voyag)"
)
"""Beginnings of the verbs with which facts are stated: other words for them are no more than was said."""

_STANDING_IN = frozenset().union(*(p.me | p.mine | p.others | p.to_others for p in PRONOUNS.values()))

_APOSTROPHES = re.compile("['’‘ʼ`´]")
# numbers whole; the characters of scripts without spaces one by one, since models quote from the middle of a run
_TOKEN = re.compile(
    r"\d+(?:[.,:/-]\d+)*|[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]|"
    r"[^\W\d_\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]+"
)


def comparable(text: str) -> list[str]:
    """The words and numbers of `text` without what does not matter: case, width, spaces, quotation marks, dashes."""
    plain = _APOSTROPHES.sub("", unicodedata.normalize("NFKC", text).casefold().replace("ё", "е"))
    return _TOKEN.findall(plain)


def unelided(text: str) -> str:
    """A text whose leaning French and Italian words stand by themselves: `l'ex` are two."""
    return _ELIDED.sub(r"\1 ", text)


def roots(text: str) -> list[str]:
    """The words of `text` that say something, each once; characters of Chinese and Japanese one by one."""
    words = dict.fromkeys(comparable(text))
    return [word for word in words if not word[0].isdigit() and _tells(word)]


def akin(one: str, other: str) -> bool:
    """Whether two words look like forms of one: a common beginning, or one within the other as in compounds."""
    if one == other:
        return True
    if _HAN.match(one) or _HAN.match(other):
        return False
    shorter, longer = sorted((one, other), key=len)
    if len(shorter) >= 4 and shorter in longer:
        return True
    same = next((at for at, (a, b) in enumerate(zip(shorter, longer, strict=False)) if a != b), len(shorter))
    return same >= _SHORTEST and same >= _SHARE * len(longer)


def in_common(some: Iterable[str], others: Collection[str]) -> int:
    """How many of some roots have a form of theirs among others."""
    return sum(any(akin(one, other) for other in others) for one in some)


def _tells(word: str) -> bool:
    if _HAN.match(word):
        return word not in _EMPTY_HAN
    return len(word) > 1 and word not in STOP_WORDS and word not in _FRAME and word not in _STANDING_IN


def is_light(word: str) -> bool:
    """Whether a word only states what others say."""
    return _LIGHT.match(word) is not None and len(word) < 14
