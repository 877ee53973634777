"""Which messages say yes to the one before, which state something, and which only ask."""

from __future__ import annotations

import re

from memory.evidence.clauses import plain
from memory.evidence.lexicon import AVERSE
from memory.evidence.quantities import is_small_word
from memory.text.days import weekdays_in
from memory.text.numbers import mentions, readings, times_of_day
from memory.text.words import is_small_talk

# what says yes by itself, whatever was said before
_YES = (
    "no problem|kein problem|sin problemas?|pas de (?:souci|problème)|без проблем|нет проблем|没问题|沒問題|"
    "yes+|yeah+|yea|ya|yep|yup|aye|for sure|totally|you bet|that['’]?ll do|go (?:for it|ahead)|"
    "mhm+|uh[- ]?huh|m+hm+|please do|"
    "do that|exactly|correct|right|"
    "that['’]?s right|that is right|true|indeed|absolutely|"
    "definitely|of course|perfect|sounds (?:good|great|right)|let['’]?s (?:do|go)|deal|agreed|you got it|spot on|"
    "да+|да?вай(?:те)?|ага|угу|именно|верно|точно|правильно|так и есть|конечно|идеально|отлично|договорились|"
    r"так(?=\s*(?:[,.!)]|$|саме|точно|і є|так))|еге|саме так|правильно|вірно|точно|звісно|звичайно|ідеально|"
    r"чудово|домовились|авжеж|"
    "wie immer|genau so|as (?:always|usual|ever)|как (?:всегда|обычно|раньше)|як (?:завжди|зазвичай|раніше)|"
    "como siempre|comme (?:toujours|d['’]hab\\w*)|аякже|simón|simon|ajá|"
    "照旧|老样子|还是那样|系[啊呀的]?|係[啊呀]?|可不|"
    "aber (?:ja|sicher|klar|gerne?)|na klar|sicher|gerne|ja+|jawoll?|voll|jo+|jap|jep|mach(?:en)? (?:ma|wir)|"
    "jo|genau|richtig|stimmt|korrekt|exakt|klar|natürlich|"
    "perfekt|abgemacht|passt|"
    r"s[íi]í+|sii+|sí|si(?=\s*(?:[,.!)]|$|claro|exacto|eso|por|correcto|perfecto|si))|sip|"
    r"exacto|exactamente|correcto|eso es|obvio|dale|así es|claro|por supuesto|perfecto|de acuerdo|"
    "(?:ben |mais |bah |trop )*oui+|ouais|mets-en|ça roule|exactement|exact|correct|c['’]est (?:ça|cela|exact)|"
    "tout à fait|parfait|bien sûr|d['’]accord|"
    "voilà|grave|nickel|carrément|faisons|fais ça|"
    "sì|esatto|certo|perfetto|giusto|sim|isso|exato|certo|perfeito|tak|dokładnie|zgadza się|pewnie|"
    "是的?|成|就按|就约|必须的?|太需要|对+(?:的|啊|呀)?|對+|好[啊呀]?[,， ]*就|没错|沒錯|正是|确实|就这(?:样|么)|"
    "完全正确|好的?[,，]?就|当然|嗯+|行|可以|はい|うん|そう(?:です)?|その通り|"
    r"(?:very |très |sehr )?(?:good|great|bonne|gute|buena|хорошая|отличная|чудова|гарна|boa) (?:idea|idée|idee|"
    r"идея|ідея|ideia)|"
    "👍|✅|💯|👌"
)
_BUT = r"but|however|although|tho|но|однако|але|проте|aber|jedoch|pero|aunque|mais|però|mas|ale"
_NOT = (
    r"except|not|no|nope|wrong|isn['’]?t|don['’]?t|кроме|нет|не|крім|ні|außer|nein|nicht|kein\w*|"
    r"excepto|sauf|non|pas|não|nie"
)
_NOT_HAN = "不是|不对|没有|いいえ"
_TURNED = re.compile(rf"\b(?:{_BUT}|{_NOT})\b|但|不过|可是|{_NOT_HAN}|でも", re.IGNORECASE)
_ADDED = re.compile(rf"(?:(?:{_BUT})\b|但是?|不过|可是|でも)\s*(?P<more>.*)", re.IGNORECASE)
_LIMITED = re.compile(
    rf"\b(?:{_NOT}|only|just|instead|rather|without|until|used to|только|лишь|вместо|без|раньше|лише|тільки|замість|"
    r"раніше|nur|bloß|erst|statt|ohne|früher|bis|solo|sólo|solamente|sin|antes|hasta|seulement|juste|sans|plutôt|avant|"
    r"jusqu\w*|n['’]\w+)\b|只|仅|才|除了|以前|不|没|別|别",
    re.IGNORECASE,
)
"""What takes back or narrows what was said yes to."""
_COURTESIES = re.compile(
    r"^(?:[\W_]|\b(?:please|pls|plz|thanks|thx|please do|пожалуйста|плиз|спасибо|будь ласка|дякую|bitte|gerne?|danke|"
    r"por favor|porfa|gracias|svp|stp|merci|volontiers)\b)+",
    re.IGNORECASE,
)
_BEGINS_WITH_YES = re.compile(
    rf"\W*(?:(?:oh|ah|m+|h+m+|uh|um|o?er|о|ой|а|ну|э+|м+|na(?:ja)?|ach|ay|pues|bueno|euh|ben)[,!.…\s]+)?(?:{_YES})(?!(?![\u3040-\u9fff])\w)",
    re.IGNORECASE,
)
_WHY_NOT = re.compile(
    r"why not|warum nicht|pourquoi pas|почему (?:бы и )?нет|чому (?:б і )?ні|por qu[eé] no", re.IGNORECASE
)
_SHORTENED = re.compile("👍|✅|💯|👌")
_ASKED = re.compile("[?？]")


# one sentence that asks for something, and says nothing about who asks
_REQUEST = re.compile(
    r"(?:please\s|can you\s|could you\s|пожалуйста,?\s|будь ласка,?\s|bitte\s|por favor,?\s)?"
    r"(?:(?:tell|show|teach) me|explain|describe|translate|summari[sz]e|list|calculate|compare|recommend|suggest|"
    r"define|write|(?:рас)?скажи(?:те)?|расскажи(?:те)?|объясни(?:те)?|опиши(?:те)?|переведи(?:те)?|"
    r"напиши(?:те)?|покажи(?:те)?|"
    r"розкажи|поясни|опиши|переклади|покажи|erzähl\w*|erklär\w*|beschreib\w*|übersetz\w*|schreib\w*|zeig\w*|"
    r"cuéntame|dime|explica|describe|traduce|escribe|muéstrame|dis-moi|raconte|explique|décris|traduis|écris|montre)\b"
    r"[^.!?\n]*[.!]*|请?(?:告诉我|解释|描述|翻译|写)[^。！？\n]*[。！]*",
    re.IGNORECASE,
)


def affirms(answer: str, asked: str) -> bool:
    """Whether `answer` says yes to what `asked` says. A yes whose "but" narrows it or takes it back is none.

    People say yes to a question in more ways than a list could hold: there whatever comes counts that neither negates,
    nor asks back, nor names another number or day. To what was no question only a plain yes is one.
    """
    if _SHORTENED.match(answer.strip()):
        return True
    begins = _BEGINS_WITH_YES.match(answer)
    is_asked = _ASKED.search(asked) is not None
    if begins is None and not is_asked:
        return False
    # what follows in another sentence is something else: "yes. but what about Friday?"
    rest = _WHY_NOT.sub(" ", answer[begins.end() if begins else 0 :])
    said = re.match(r"[^.!?。！？\n]*[?？]?", rest.lstrip(" .!,。！，"))
    first = said.group() if said else ""
    if begins is not None:
        # "yes, keep it short but friendly" takes nothing back
        behind = _COURTESIES.sub("", first)
        added = _ADDED.match(behind)
        return _adds(added["more"], asked) if added else _TURNED.match(behind) is None
    return not _TURNED.search(first) and not _ASKED.search(first) and _keeps_to(first, asked)


def _adds(more: str, asked: str) -> bool:
    """Whether what a "but" brings stands beside what was asked: "yes, but my brother drives me"."""
    return bool(more) and not (_LIMITED.search(more) or AVERSE.search(plain(more))) and _keeps_to(more, asked)


def _keeps_to(answer: str, asked: str) -> bool:
    """Whether an answer names no number and no day of the week other than the question does."""
    numbers = readings(asked) | times_of_day(asked)
    named = (one for one in mentions(answer) if not is_small_word(one, answer))
    return all(one & numbers for one in named) and weekdays_in(answer) <= weekdays_in(asked)


def is_statement(text: str) -> bool:
    """Whether `text` states something: it is no question, no mere request and no greeting."""
    asks = text.rstrip().endswith(("?", "？")) or _REQUEST.fullmatch(text.strip())
    return not asks and not is_small_talk(text)
