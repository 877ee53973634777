"""Which messages say yes to the one before, which state something, and which only ask."""

from __future__ import annotations

import re

from memory.text.words import is_small_talk

# What says yes by itself, and what may be mere politeness and says it only where something was asked.
_YES = (
    "yes+|yeah+|yea|yep|yup|aye|that['’]?ll do|go (?:for it|ahead)|please do|do that|exactly|correct|right|"
    "that['’]?s right|that is right|true|indeed|absolutely|"
    "definitely|of course|perfect|sounds (?:good|great|right)|let['’]?s (?:do|go)|deal|agreed|you got it|spot on|"
    "да+|да?вай(?:те)?|ага|угу|именно|верно|точно|правильно|так и есть|конечно|идеально|отлично|договорились|"
    r"так(?=\s*(?:[,.!)]|$|саме|точно|і є|так))|еге|саме так|правильно|вірно|точно|звісно|звичайно|ідеально|"
    r"чудово|домовились|авжеж|"
    "ja+|jawoll?|voll|jo+|jap|jep|mach(?:en)? (?:ma|wir)|jo|genau|richtig|stimmt|korrekt|exakt|klar|natürlich|"
    "perfekt|abgemacht|passt|"
    r"sí|si(?=\s*(?:[,.!)]|$|claro|exacto|eso|por|correcto|perfecto|si))|sip|exacto|exactamente|correcto|eso es|"
    r"así es|claro|por supuesto|perfecto|de acuerdo|"
    "oui|ouais|exactement|exact|correct|c['’]est (?:ça|cela|exact)|tout à fait|parfait|bien sûr|d['’]accord|"
    "voilà|grave|nickel|carrément|faisons|fais ça|"
    "sì|esatto|certo|perfetto|giusto|sim|isso|exato|certo|perfeito|tak|dokładnie|zgadza się|pewnie|"
    "是的?|成|就按|对+(?:的|啊|呀)?|對+|好[啊呀]?[,， ]*就|没错|沒錯|正是|确实|就这(?:样|么)|"
    "完全正确|好的?[,，]?就|当然|嗯+|行|可以|はい|うん|そう(?:です)?|その通り|"
    r"(?:very |très |sehr )?(?:good|great|bonne|gute|buena|хорошая|отличная|чудова|гарна|boa) (?:idea|idée|idee|"
    r"идея|ідея|ideia)|"
    "👍|✅|💯|👌"
)
_POLITE = (
    "ok|okay|okey|oke|k|sure|fine|good|great|nice|cool|alright|all right|sounds|works|"
    "ок|окей|хорошо|ладно|годится|пойд[её]т|добре|гаразд|згода|годиться|гут|gut|in ordnung|vale|bueno|bien|va|ça "
    "marche|ça va|"
    "好|好的|行|可以"
)
_TURNED = re.compile(
    r"\b(?:but|except|however|although|not|no|nope|wrong|isn['’]?t|don['’]?t|"
    r"но|однако|кроме|нет|не|але|проте|крім|ні|aber|jedoch|außer|nein|nicht|kein\w*|"
    r"pero|excepto|aunque|mais|sauf|non|pas|però|ma|mas|não|ale|nie)\b|但|不过|可是|不是|不对|没有|でも|いいえ",
    re.IGNORECASE,
)
_BEGINS_WITH_YES = re.compile(
    rf"\W*(?:(?:oh|ah|о|ой|а|ну|na|ach|ay|ah)[,!\s]+)?(?:{_YES})(?!(?![\u3040-\u9fff])\w)", re.IGNORECASE
)
_BEGINS_POLITELY = re.compile(rf"\W*(?:{_POLITE})(?!(?![\u3040-\u9fff])\w)", re.IGNORECASE)
# whoever was asked may say yes a little later: "six singles, the 18th, spot on"
_SAYS_YES = re.compile(rf"[^.!?。！？\n]{{0,60}}?(?<!\w)(?:{_YES})(?!(?![\u3040-\u9fff])\w)", re.IGNORECASE)
_WHY_NOT = re.compile(
    r"why not|warum nicht|pourquoi pas|почему (?:бы и )?нет|чому (?:б і )?ні|por qu[eé] no", re.IGNORECASE
)
_SHORTENED = re.compile("👍|✅|💯|👌")
_ASKED = re.compile("[?？]")


# one sentence that asks for something, and says nothing about who asks
_REQUEST = re.compile(
    r"(?:please\s|can you\s|could you\s|пожалуйста,?\s|будь ласка,?\s|bitte\s|por favor,?\s)?"
    r"(?:(?:tell|show|teach) me|explain|describe|translate|summari[sz]e|list|calculate|compare|recommend|suggest|"
    r"define|write|(?:рас)?скажи(?:те)?|расскажи(?:те)?|объясни(?:те)?|опиши(?:те)?|переведи(?:те)?|напиши(?:те)?|покажи(?:те)?|"
    r"розкажи|поясни|опиши|переклади|покажи|erzähl\w*|erklär\w*|beschreib\w*|übersetz\w*|schreib\w*|zeig\w*|"
    r"cuéntame|dime|explica|describe|traduce|escribe|muéstrame|dis-moi|raconte|explique|décris|traduis|écris|montre)\b"
    r"[^.!?\n]*[.!]*|请?(?:告诉我|解释|描述|翻译|写)[^。！？\n]*[。！]*",
    re.IGNORECASE,
)


def affirms(answer: str, asked: str) -> bool:
    """Whether `answer` says yes to what `asked` says. A yes with a "but" is none: it says what is different."""
    if _SHORTENED.match(answer.strip()):
        return True
    begins = _BEGINS_WITH_YES.match(answer)
    if begins is None and _ASKED.search(asked):
        begins = _BEGINS_POLITELY.match(answer) or _SAYS_YES.match(answer)
    if begins is None:
        return False
    # what follows in another sentence is something else: "yes. but what about Friday?"
    said = re.split(r"[.!?。！？\n]", _WHY_NOT.sub(" ", answer[begins.end() :]), maxsplit=1)[0]
    return _TURNED.search(said) is None


def is_statement(text: str) -> bool:
    """Whether `text` states something: it is no question, no mere request and no greeting."""
    asks = text.rstrip().endswith(("?", "？")) or _REQUEST.fullmatch(text.strip())
    return not asks and not is_small_talk(text)
