r"""In which words people state a wish, a rule, a correction or a change: tables by language, longer than other modules.

A phrase is matched where a sentence begins, after courtesies (OPENERS) that say nothing themselves. That is what keeps
reports, questions and hypotheses out: "he never calls" and "if I prefer tea" begin with other words. What follows
"always" or "never" must be a verb that one says to an assistant: "never mind" and "never give up" have none.

Every repetition is bounded, so no sentence makes matching slow. `{old}` stands for words that hold no longer, the
other names in braces for the lists of words above each table. In the tables, `_` stands for a gap between words, and a
line that is indented further continues the one before it.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class Pattern(StrEnum):
    """What kind of statement a sentence is."""

    PREFERENCE = "preference"
    RULE = "rule"
    CORRECTION = "correction"
    CONSTRAINT = "constraint"
    CHANGE = "change"


@dataclass(frozen=True, slots=True)
class Phrase:
    """A way to say something of one kind; some ways count only in a sentence with a name, a date or a number."""

    pattern: Pattern
    source: str
    needs_name: bool = False

    @property
    def expression(self) -> re.Pattern[str]:
        """The expression, compiled when it is first tried: all of them take 0.15 s and some MB."""
        return _compiled(self.source)


_OLD = r"(?P<old>[^,;:!?，；：。]{1,60}?)"
# a word with what belongs to it: "555-0101", "d'Android", "Dr."
_TO_END = r"(?=\s*[,;!。，]|\s*\.?\s*$)"


def _phrases(rows: str, **lists: str) -> tuple[Phrase, ...]:
    """One phrase a line: its kind, a star if it needs a name, its expression."""
    phrases = []
    # a line that is indented once more continues the one before
    for line in rows.replace("\n" + " " * 8, "").strip().splitlines():
        kind, _, expression = line.strip().partition(" ")
        for name, words in {"old": _OLD, "end": _TO_END, **lists}.items():
            expression = expression.replace("{" + name + "}", words)
        pattern = Pattern(kind.rstrip("*"))
        phrases.append(Phrase(pattern, expression, needs_name=kind.endswith("*")))
    return tuple(phrases)


@functools.cache
def _compiled(expression: str) -> re.Pattern[str]:
    # a line of a table is read more easily with "_" than with "\s"; no expression looks for an underscore
    return re.compile(expression.replace("_", r"\s"), re.IGNORECASE)


def _any(words: str) -> str:
    """An alternation of words that are separated by spaces; an underscore stands for a space within one."""
    return "(?:" + "|".join(words.split()) + ")"


OPENERS = _compiled(
    r"(?:\d{1,2}[.)]_)?[-–—•*·…,.:!(_]*(?:(?:"
    # English
    r"please|pls|plz|hey|hi|hello|okay|ok|well|so|and|but|also|oh|ah|yes|yeah|btw|by_the_way|fyi|honestly|"
    r"to_be_honest|tbh|personally|frankly|sorry|generally|in_general|as_a_rule|for_the_record|one_more_thing|thanks|"
    r"thank_you|just_so_you_know|just_to_let_you_know|(?:please_)?(?:note|keep_in_mind|know)_that|for_your_information|"
    # Russian and Ukrainian
    r"пожалуйста|плиз|привет|слушай|ок|да|и|а|но|ещё|еще|кстати|честно_говоря|честно|вообще|лично|извини|прости|"
    r"имей_в_виду|имейте_в_виду|учти|к_слову|если_что|на_будущее|просто|спасибо|вообще-то|"
    r"будь_ласка|привіт|слухай|так|і|й|але|ще|до_речі|чесно_кажучи|чесно|взагалі|особисто|вибач|пробач|"
    r"май_на_увазі|майте_на_увазі|врахуй|якщо_що|на_майбутнє|дякую|взагалі-то|"
    # German
    r"bitte|hallo|hi|du|also|ja|und|aber|ach|übrigens|ehrlich_gesagt|persönlich|sorry|entschuldigung|grundsätzlich|"
    r"nur_zur_info|zur_info|nur_damit_du_es_weißt|noch_was|danke|"
    # Spanish
    r"por_favor|porfa|hola|oye|vale|bueno|pues|sí|y|pero|ah|por_cierto|la_verdad_es_que|la_verdad|sinceramente|"
    r"perdona|perdón|en_general|para_que_lo_sepas|que_sepas_que|ten_en_cuenta_que|gracias|"
    # French
    r"s'il_(?:te|vous)_pla[iî]t|stp|svp|salut|bonjour|alors|bon|ben|oui|et|mais|au_fait|franchement|honnêtement|"
    r"pardon|désolée?|en_général|pour_info|pour_information|sache_que|note_que|merci|moi"
    r")\b[,.:!…–—_-]*"
    # Chinese
    r"|(?:请|麻烦你?|你好|嗯|哦|对了|顺便说一下|顺便|说实话|老实说|跟你说一下|另外|还有|拜托|不好意思|"
    r"抱歉)[，,：:。！_]*){0,4}"
)
ACTUALLY = _compiled(
    r"(?:(?:actually|in_fact|на_самом_деле|насправді|eigentlich|en_realidad|de_hecho|en_fait|"
    r"en_réalité)\b|其实|实际上)[,，_]*"
)

# --- English ---------------------------------------------------------------------------------------------------------
_EN_VERBS = _any(
    "use answer reply respond write call_me call_us call_it call_him call_her tell say(?!_never) ask show include add "
    "put keep start begin end send share mention remind speak talk address refer translate convert format sign cite "
    "quote link explain check(?!_out) confirm verify delete remove erase store save make(?!_it\\b) "
    "suggest recommend propose "
    "offer list sort round spell capitali[sz]e avoid apologi[sz]e repeat lecture flatter summari[sz]e provide state "
    "name count treat read search compare leave skip omit greet thank pretend guess invent assume default follow stick "
    "wait warn notify schedule book order buy stop change edit rename run commit push discuss bring_up book reveal "
    "give(?!_up) let_me disclose publish post forward copy number indent prefix wrap test document shorten limit "
    "return output print render display consider prioriti[sz]e round correct ignore double-check "
    "look_up be_(?:brief|concise|"
    "formal|polite|honest|specific|direct|rude|sarcastic) do_(?:that|this|it|the) go_over"
)
_EN_THINGS = _any(
    "answers? repl(?:y|ies) responses? summar(?:y|ies) reports? texts? messages? prices? dates? units? code names? "
    "recipes? notes? e-?mails? documents? sentences? translations? lists? numbers? amounts? times? letters? quotes? "
    "files? titles? headings? sources? meals? invoices? functions? tests? commits? dishes paragraphs? tables?"
)
_EN_FROM_NOW = (
    r"(?:from_(?:now|today|here|this_(?:point|moment))_(?:on|onwards?)|henceforth|as_(?:of|from)_(?:now|today))"
)
_EN_AFTER = r"(?:in_(?:the_)?future|going_forward|moving_forward|for_the_future)"
_EN_I = (
    r"(?:i|we)_+(?:(?:really|absolutely|just|generally|usually|always|much|personally|actually|also|honestly|simply|"
    r"totally|strongly|kinda|do|still|normally|typically|quite|truly)_+){0,3}"
)
# what follows a liking that is about the moment or the talk itself
_EN_PASSING = (
    r"(?!_+(?:(?:the_|that_|this_|your_)?(?:first|second|third|last|former|latter|other|next)\b|"
    r"it\b(?!_when)|this\b|that\b|"
    r"these\b|those\b|them\b|him\b|her\b|you\b(?!_to\b|_not\b|r?_\w+ed\b|_\w+ing\b|_wrote)|your\b|how\b|where\b|what\b|"
    r"the_(?:idea|way|look|sound|one)\b|option\b|not_to\b|to_(?:think|say|admit|break|bother|ask|"
    r"know|see|hear|go|do)\b|"
    r"so\b|a_lot\b|if\b|everything\b|nothing\b))"
)
_EN_SAID = (
    r"(?:(?:it|that|this|he|she)'?s?_(?:(?:is_)?(?:called|named|spelled|spelt|pronounced|on|at|in)_)"
    r"|(?:my|his|her|our|their)_[^,.]{2,40}?(?:_(?:is|are|was)_|'s_(?:called|named)_)(?!not_|no_|that_)"
    r"|i_live_|i'?m_(?:from|called|named)_|i_am_(?:from|called|named)_|i_work_(?:at|for|in|as)_|i_was_born_)"
)
ENGLISH = _phrases(
    r"""
    change (?:i|we)(?:'ve|ve|_have)?(?:_(?:just|recently|finally|now))?_(?:moved|relocated)(?:_away
        |_house)?_from_{old}_+to_\w
    change (?:i|we)(?:'ve|ve|_have)?(?:_(?:just|recently|finally|now))?_(?:moved|relocated)_to_(?!the_(?:next|sofa
        |other)|a_|an_|my_|another|next|it\b|tears)\w
    change (?:i|we)(?:'ve|ve|_have)?(?:_(?:just|recently|finally|now))?_(?:switched|migrated|changed
        |converted)(?:_over)?_from_{old}_+to_\w
    change (?:i|we)(?:'ve|ve|_have)?(?:_(?:just|recently|finally|now))?_(?:switched|migrated
        |converted)(?:_over)?_to_(?!the_|a_|it\b|this|that)\w
    change (?:i|we)(?:'ve|ve|_have)?_(?:just_|recently_)?(?:changed|updated|renamed)_(?:my
        |our)_[^,.]{2,40}?_from_{old}_+to_\w
    change* (?:i|we)(?:'ve|ve|_have)?_(?:just_|recently_)?(?:changed|updated|renamed)_(?:my|our)_[^,.]{2,40}?_to_\w
    change (?:i|we)(?:'m|_am|_are|'re)?_no_longer_(?!know|understand|care|want|think|remember|believe|see|feel|need
        |sure|have_time)(?P<old>[^,;!?]{2,60}?){end}
    change (?:i|we)_(?:don'?t|do_not)_(?!know|understand|care|want|think|remember|believe|see|feel|need|have\b|get
        |like|love)(?P<old>[^,;!?]{2,60}?)_any_?more\b
    change (?:i|we)(?:'ve|ve|_have)?_(?:just_|recently_|finally_)?(?:quit|stopped|given_up|gave_up)_(?P<old>(?!trying
        |working_on|reading|worrying|by\b|at\b|on\b|for\b|the\b|there)\w[^,;!?]{2,60}?){end}
    change (?:i|we)_used_to_{old},?_(?:but_|and_)?(?:now|these_days|nowadays)\b
    change* (?:i|we)(?:'ve|ve|_have)?_(?:just_|recently_)?(?:replaced|swapped|traded)_{old}_(?:with|for|by)_\w
    change (?:my|our)_[^,.]{2,50}?_(?:is|are)_now_[^,]{2,60}?_instead_of_{old}{end}
    change (?:my|our)_[^,.]{2,50}?_(?:is|are)_now_[^,]{2,60}?,?_(?:and_)?not_{old}(?:_any_?more)?{end}
    change* (?:my|our)_[^,.]{2,50}?_(?:is|are)_now_\w
    change* (?:my|our)_[^,]{2,50}?_(?:is|are)(?:n't|_not|_no_longer)_{old}(?:_any_?more)?,?_(?:but|it'?s|now)_
    change (?:my|our)_[^,.]{2,50}?_(?:has_)?changed_from_{old}_+to_\w
    change* (?:my|our)_[^,.]{2,50}?_(?:has_)?changed_to_\w
    change* (?:i|we)_now_(?:live|work|use|drive|study)_\w
    constraint you_(?:must|have_to|need_to|are_required_to|shall|may_not|must_not|mustn'?t|are_not_allowed_to
        |can_?not)_(?:always_|never_|not_|only_|ever_)?{verbs}\b
    constraint (?:(?:all|every|each|any|your|the|my|our)_)?(?:[\w'-]+_){0,2}?{things}_(?:must|ha(?:ve|s)_to|needs?_to
        |(?:are|is)_required_to|shall|may_not|should_(?:always|never))_(?!have_been|have_had|be_(?:tired|nice|wrong
        |hard|fun))\w
    constraint (?:[\w'-]+_){1,10}?(?:is|are)_(?:always_)?(?:required|mandatory|obligatory)
        _(?:for|in|with|at)_(?:every|each|all|any|my)_(?:[\w'-]+_)?{things}\b
    constraint (?:don'?t|do_not|never)_ever_(?:again_)?{verbs}\b
    constraint (?:under_no_circumstances|on_no_account|in_no_case|at_no_time|by_no_means)_(?:(?:should|may|must)_you_
        |you_(?:may|must|should|can)_)?(?:ever_)?{verbs}\b
    constraint (?:it_is|it's)_(?:mandatory|forbidden|essential|required)_(?:that_you|to)_{verbs}\b
    constraint (?:make_sure|be_sure)_(?:that_)?(?:you_|to_)?(?:always|never)_{verbs}\b
    constraint i_(?:must|have_to|need_to)_(?:always_|never_|avoid_|not_(?:eat|drink|have|take)_)\w
    rule (?:you_(?:should|can|may)_)?(?:always|never)_(?:please_|again_)?{verbs}\b
    rule {from_now},?_(?!(?:i|we|he|she|it|they)\b)\w
    rule {after},?_(?:please_)?(?:you_|(?:always|never|only|don'?t|do_not|no)_|{verbs}\b)
    rule {verbs}_[^!?]{2,100}?_(?:{from_now}|{after})\b
    rule {verbs}_(?:to_)?(?:always|only_ever)\b(?!_in_a_)
    rule (?:don'?t|do_not)_{verbs}_[^,!?]{2,80}?_(?:any_?more|ever|again)\b
    rule (?:please_)?stop_(?:calling|using|adding|writing|asking|sending|apologi[sz]ing|ending|starting|saying|giving
        |putting)_\w
    rule (?:whenever|every_time|each_time)_(?:i|you|we)_[^,!?]{3,80}?,?_(?:please_)?(?:(?:always|never|only|don'?t
        |do_not)_)?{verbs}\b
    rule when_(?:i|you|we)_[^,!?]{3,80}?,?_(?:please_)?(?:always|never|only|don'?t|do_not)_{verbs}\b
    preference {i}(?:prefer|love|like|hate|dislike|adore|enjoy|despise|detest|loathe){passing}_+\w
    preference (?:i|we)(?:'d|d|_would)_(?:much_|really_)?(?:rather|prefer)(?!_+(?:not_to|an?|go|stay|do|take|the_(?:
        first|second|third|last|other)|this|that|it\b|wait|leave|see|talk)\b)_+\w
    preference {i}(?:don'?t|do_not)_(?:really_|particularly_)?(?:like|enjoy|love){passing}_+\w
    preference {i}(?:can'?t|cannot|can_not)_(?:stand|bear){passing}_+\w
    preference (?:i'?m|i_am|we'?re|we_are)_(?:not_)?(?:really_)?(?:(?:a_)?(?:big_|huge_)?fan_of|(?:not_)?(?:into
        |fond_of|keen_on)){passing}_+\w
    preference my_(?:absolute_|all-time_)?(?:favou?rite|prefer(?:red|ence))[^,.!?]{0,60}?_(?:is|are|for)_(?!that\b
        |this\b|the_(?:first|second))\w
    correction* (?:no|nope|wrong)[,.:!]?_+{said}
    correction* (?:no|nope)[,.:!]?_+(?:it|that|this)'?s?_(?:is_)?(?!not_|ok|fine|great|good|\w+ing\b)\w
    correction* (?:actually|in_fact)[,.:]?_+{said}
    correction* (?:actually|in_fact)[,.:]?_+(?:it|he|she|this)(?:'s|s|_is)_(?!not_|ok|fine|great|good)\w
    correction* (?:(?:no|actually)[,.]?_+)?(?:(?:it|that)(?:'s|s|_is|_was)_)?not_(?!only|just|bad|good|me\b|him\b
        |her\b|you\b|us\b|them\b|so|too|that|this|sure|always|all\b){old},?_(?:but|it'?s)_(?:rather_)?(?!not\b|also\b
        |i\b|we\b|it\b|you\b)[^,]{2,60}$
    correction* (?:(?:no|actually)[,.]?_+)?i_(?:meant|said)_[^,]{2,60}?,?_(?:and_)?not_{old}{end}
    correction* (?:(?:no|actually)[,.]?_+)?i_meant_(?!to\b|that\b|it\b|what\b)\w
    correction* (?:(?:no|actually)[,.]?_+)?(?:it|that|he|she|(?:my|his|her|our)_[^,]{2,30}?)(?:'s|s|_is
        |_are)_[^,]{2,40}?,_(?:and_)?not_{old}{end}
    correction* (?:that(?:'s|s|_is)_(?:wrong|incorrect|not_(?:right|true|correct))|you(?:'re|_are)_(?:wrong|mistaken)
        |you_got_(?:it|that)_wrong|wrong|incorrect)[,.:;]_*\w
    correction correction[:,.]_*\w
    """,
    verbs=_EN_VERBS,
    things=_EN_THINGS,
    from_now=_EN_FROM_NOW,
    after=_EN_AFTER,
    i=_EN_I,
    passing=_EN_PASSING,
    said=_EN_SAID,
)

# --- Russian ---------------------------------------------------------------------------------------------------------
# Beginnings of verbs that one says to an assistant, and the endings of the imperative.
_RU_ASKED = (
    "(?:отвеча|пиш|использ|называ|указыва|спрашива|добавля|счита|говор|показыва|присыла|отправля|упомина|обраща|начина|"
    "заканчива|став|дава|проверя|предупрежда|перевод|округля|объясня|привод|напомина|прос|удаля|меня|сохраня|зов|бер|"
    "исход|пользу|храни|создава|составля|предлага|советуй|рекоменд|ссыла|цитиру|извиня|благодар|здорова|выделя|оформля|"
    "помеча|сортиру|группиру|сокраща|избега|учитыва|ищ|шут|повторя|рассказыва|трога|звон|раскрыва|делис|переда|сообща|"
    "публику|обсужда|скры|выдумыва|приветству|вставля|пересказыва|форматиру|подписыва|отмеча|записыва|дела|предпола|"
    "придержива|соблюда|провери|спроси|ответ|скаж)"
)
_RU_IMPERATIVE = _RU_ASKED + r"\w{0,4}?(?:[йиь]|йте|ите|ьте|йся|йтесь|ись|итесь)\b"
_RU_INFINITIVE = (
    r"(?:" + _RU_ASKED + r"|писа|указа|доба|зва|бра|упомян|нача|закон|иска|сказа)\w{0,8}?(?:ть|ться|чь|ти)\b"
)
_RU_NOW = (
    r"(?:отныне|с_этого_момента|с_сегодняшнего_дня|с_этого_дня|впредь|в_дальнейшем|в_будущем|"
    r"теперь|на_будущее|больше_не)"
)
_RU_I = (
    r"(?:(?:я|мы)_(?:(?:бы|очень|вообще|всегда|больше|просто|лично|обычно|действительно|реально|сильно|всё_же)_){0,3}|"
    r"(?:(?:больше|очень|просто)_)?)(?:не_)?"
)
_RU_PASSING = (
    r"(?!,?_+(?:(?:перв|втор|треть|последн|друг|ваш|тво)\w+|тебя|вас|его|её|ее|их|это\w*|этот|эту|"
    r"эта|эти|тот|та|то|как|"
    r"ход\b|спасибо|иде[яюи]|вариант|идти|пойти|когда_ты_так)\b)"
)
_UK_PASSING = (
    r"(?!,?_+(?:(?:перш|друг|трет|останн|інш|ваш|тво)\w+|тебе|вас|його|її|їх|це\w*|цей|цю|ця|ці|той|"
    r"та|те|як|хід\b|дякую|"
    r"іде[яюї]|варіант|дуже_дякую|йти|піти)\b)"
)
_RU_THINGS = (
    r"(?:ответы?|цены|даты|тексты?|сообщени[ея]|отчёты?|отчеты?|единицы|рецепты?|письма|переводы?|списки|заголовки|"
    r"код|имена|суммы|числа|заметки|цитаты|источники|тесты|документы|резюме)"
)
_RU_SAID = (
    r"(?:(?:её|ее|его|их|меня)_+(?:зовут|звать)_|(?:моя|мой|мою|моего|мое|моё|мои|наш\w*|его|её|"
    r"ее)_[^,]{2,40}?_(?:зовут|звать)_"
    r"|(?:мой|его|её|ее)_день_рождени[яе]_|я_+(?:живу|работаю|родил\w+|учусь|из)_)"
)
_RU_MOVED = r"(?:(?:я|мы)_+)?(?:(?:уже|недавно|только_что|наконец|теперь|вот)_){0,2}"
RUSSIAN = _phrases(
    r"""
    change {moved}(?:переехал[аи]?|перебрал(?:ся|ась|ись))_(?:жить_)?(?:из|с|со|от)_{old}_(?:в|во|на|к)_\w
    change {moved}(?:переехал[аи]?|перебрал(?:ся|ась|ись))_(?:жить_)?(?:в|во|на)_(?!следующ|друг|нов)\w
    change {moved}(?:переш[её]л|перешл[аи])_(?:с|со)_{old}_на_\w
    change* {moved}(?:переш[её]л|перешл[аи])_на_(?!ты\b|вы\b|друг|следующ|страниц)\w
    change (?:я|мы)_(?:сменил|поменял|изменил|заменил)[аи]?_(?:сво\w+_)?[^,]{0,40}?_?с_{old}_+на_\w
    change* (?:я|мы)_(?:сменил|поменял|изменил|заменил)[аи]?_(?:сво\w+_)?{old}_на_\w
    change я_(?:больше|уже)_не_(?!зна|мог|хоч|понима|буд|виж|помн|чувству|дума|вер|надо|нужн|люблю_тебя|увер|сержусь
        |так)(?P<old>\w[^,;!?]{2,60}?){end}
    change мы_(?:больше|уже)_не_(?!зна|мож|хот|понима|буд|вид|помн|чувству|дума|вер)(?P<old>\w[^,;!?]{2,60}?){end}
    change я_(?:(?:недавно|наконец|уже)_)?(?:бросил|перестал)а?_(?P<old>\w+(?:ть|ти|чь)(?:ся)?\b[^,;!?]{0,50}?){end}
    change раньше_(?:я|мы)_{old},?_(?:а_|но_)?(?:теперь|сейчас)\b
    change мо[яйеёи]_[^,]{2,40}?_теперь_[^,]{2,60}?,_(?:а_)?не_{old}{end}
    change* мо[яйеёи]_[^,]{2,40}?_теперь_(?:не_{old},_а_)?\w
    change мо[яйеёи]_[^,]{2,40}?_(?:изменил|сменил|поменял)\w*_с_{old}_+на_\w
    change я_теперь_(?:живу|работаю|учусь)_\w
    constraint ты_(?:всегда_|никогда_не_|не_)?(?:должен|должна|обязан|обязана)_(?:всегда_|только_)?{infinitive}
    constraint (?:(?:все|твои|любые|мои)_)?(?:\w+_)?{things}_(?:всегда_)?(?:должн[ыаоe]|должен
        |обязан\w*)_(?:всегда_)?\w
    constraint (?:никогда_)?(?:и_)?(?:ни_в_коем_случае|ни_при_каких_(?:обстоятельствах|условиях)
        |ни_за_что)_(?:никогда_|никому_)?не_\w
    constraint обязательно_(?:всегда_)?{imperative}
    constraint (?:тебе_)?(?:нельзя|запрещено|запрещается|недопустимо)_{infinitive}[^!?]{0,80}\b(?:мо[йеёияю]\w*|меня
        |мне|ответ\w*)
    constraint (?:тебе_)?(?:нельзя|запрещено|запрещается|недопустимо)_{infinitive}[^!?]{0,80}\b(?:моих|моём|моем
        |никогда)\b
    constraint мне_(?:категорически_|совсем_)?нельзя_(?!сейчас|сегодня|так)\w
    rule (?:всегда|никогда_(?:больше_)?не)_(?:мне_|меня_|пожалуйста,?_)?(?!говори_никогда){imperative}
    rule (?:пожалуйста,?_)?{now},?_(?:(?:пожалуйста|всегда|никогда_не|не|мне|меня|давай),?_){0,2}{imperative}
    rule {imperative}_(?:\w+_){0,2}?(?:всегда|отныне|впредь|с_этого_момента|в_дальнейшем|теперь)\b
    rule не_{imperative}_[^!?]{0,60}?(?:больше|никогда)\b
    rule (?:называй|зови)(?:те)?_меня_\w
    rule (?:когда|каждый_раз,?_когда|если)_(?:я|ты)_[^!?]{3,80}?,?_всегда_{imperative}
    rule каждый_раз,?_когда_я_[^!?]{3,80}?,_{imperative}
    preference {i}(?:предпочитаю|предпочитаем|предпоч[её]л[аи]?(?:_бы)?|предпочла(?:_бы)?|люблю|любим|обожаю|обожаем
        |ненавижу|ненавидим|выношу|переношу|терплю|перевариваю){passing}_+\w
    preference (?:я_)?(?:просто_)?терпеть_не_могу{passing},?_+\w
    preference (?:мне|нам)_(?:(?:очень|больше|всегда|вообще|как-то|всё_же|гораздо
        |совсем)_){0,3}(?:не_)?(?:больше_)?(?:нравится|нравятся|удобнее|приятнее|комфортнее|ближе){passing},?_+\w
    preference мо[яйёеи]_(?:сам\w+_)?любим\w+_\w
    correction* (?:нет|не|неправда)[,.:]?_+{said}
    correction* (?:на_самом_деле|вообще-то|собственно|точнее|вернее)[,.]?_+{said}
    correction* (?:нет[,.]?_)?(?:это_)?не_(?!только|столько|просто|так\b|то\b|это\b)(?:(?:в|во|на|к|с
        |у)_)?{old},_а_(?!не\b|также|то\b|ещ|потом)[^,]{2,50}$
    correction* (?:нет[,.]?_)?(?:я_имела?_в_виду|я_(?:сказал|говорил|писал)а?|(?:её|ее|его|их|меня)_зовут|это
        |(?:мо\w+|её|ее|его)_\w+)_[^,]{2,60}?,_а_не_{old}{end}
    correction* (?:нет[,.]?_)?я_имела?_в_виду_(?!что)\w
    correction* (?:ты_(?:ошибся|ошиблась|ошибаешься|перепутала?|не_?прав\w?)|это_(?:неверно|неправда|ошибка
        |не_так))[,.:;]_*\w
    correction (?:поправка|исправление|уточнение)[:,.]_*\w
    """,
    imperative=_RU_IMPERATIVE,
    infinitive=_RU_INFINITIVE,
    now=_RU_NOW,
    i=_RU_I,
    passing=_RU_PASSING + _UK_PASSING,  # they share verbs
    things=_RU_THINGS,
    said=_RU_SAID,
    moved=_RU_MOVED,
)

# --- Ukrainian -------------------------------------------------------------------------------------------------------
_UK_ASKED = (
    "(?:відповіда|пиш|використов|назива|вказу|зазнача|пита|запиту|додава|раху|каж|говор|показу|надсила|відправля|згаду|"
    "зверта|почина|закінчу|став|дава|перевіря|попереджа|переклада|округлю|пояснюй|поясню|наводь|нагаду|проси|видаля|"
    "міня|змінюй|зберіга|клич|бер|користу|створю|склада|пропону|радь|рекоменду|посила|циту|вибача|дяку|віта|виділя|"
    "оформлю|познача|сорту|групу|скорочу|уника|врахову|шука|жарту|повторю|розповіда|чіпа|дзвон|розкрива|діли|переда|"
    "повідомля|публіку|обговорю|прихову|вигаду|вставля|формату|підпису|записуй|записува|роби|"
    "дотриму|спита|звер|запитуй)"
)
_UK_IMPERATIVE = _UK_ASKED + r"\w{0,4}?(?:[йиь]|йте|іть|ьте|йся|йтеся|ися|іться|ш)\b"
_UK_INFINITIVE = (
    r"(?:" + _UK_ASKED + r"|писа|вказа|дода|зва|бра|згада|поча|закін|шука|сказа|вжива|викорис)\w{0,8}?(?:ти|тися)\b"
)
_UK_NOW = (
    r"(?:відтепер|віднині|з_цього_моменту|з_сьогоднішнього_дня|з_цього_дня|надалі|у_подальшому|в_подальшому|"
    r"в_майбутньому|у_майбутньому|тепер|на_майбутнє|більше_не)"
)
_UK_I = (
    r"(?:(?:я|ми)_(?:(?:б|би|дуже|взагалі|завжди|більше|просто|особисто|зазвичай|справді|сильно|все_ж)_){0,3}|"
    r"(?:(?:більше|дуже|просто)_)?)(?:не_)?"
)
_UK_THINGS = (
    r"(?:відповід[іь]|ціни|дати|тексти?|повідомлення|звіти?|одиниці|рецепти?|листи|переклади?|"
    r"списки|заголовки|код|імена|"
    r"суми|числа|нотатки|цитати|джерела|тести|документи|резюме)"
)
_UK_SAID = (
    r"(?:(?:її|його|їх|мене)_+(?:звуть|звати)_|(?:моя|мій|мою|мого|моє|мої|наш\w*|його|її)_[^,]{2,40}?_(?:звуть|звати)_"
    r"|(?:мій|його|її)_день_народження_|я_+(?:живу|працюю|народи\w+|навчаюся|вчуся|з|із)_)"
)
_UK_MOVED = r"(?:(?:я|ми)_+)?(?:(?:вже|нещодавно|щойно|нарешті|тепер|ось)_){0,2}"
_UK_FROM = r"(?:з|із|зі|від)"
_UK_MUST = r"(?:має|мають|маєш|повинн(?:ий|а|е|і)|повинен|мусить|мусять|мусиш|зобов'язан\w+)"
UKRAINIAN = _phrases(
    r"""
    change {moved}(?:переїха(?:в|ла|ли)|перебра(?:вся|лася|лися))_(?:жити_)?{from}_{old}_(?:в|у|до|на)_\w
    change {moved}(?:переїха(?:в|ла|ли)|перебра(?:вся|лася|лися))_(?:жити_)?(?:в|у|до|на)_(?!наступн|інш|нов)\w
    change {moved}перейш(?:ов|ла|ли)_{from}_{old}_на_\w
    change* {moved}перейш(?:ов|ла|ли)_на_(?!ти\b|ви\b|інш|наступн|сторінк)\w
    change (?:я|ми)_(?:зміни|поміня|заміни)(?:в|ла|ли)_(?:сво\w+_)?[^,]{0,40}?_?{from}_{old}_+на_\w
    change* (?:я|ми)_(?:зміни|поміня|заміни)(?:в|ла|ли)_(?:сво\w+_)?{old}_на_\w
    change я_(?:більше|вже)_не_(?!зна|мож|хоч|розумі|буд|бач|пам|відчува|дума|вір|треба|потріб|впевн
        |так)(?P<old>\w[^,;!?]{2,60}?){end}
    change ми_(?:більше|вже)_не_(?!зна|мож|хоч|розумі|буд|бач|пам|відчува|дума|вір)(?P<old>\w[^,;!?]{2,60}?){end}
    change я_(?:(?:нещодавно|нарешті|вже)_)?(?:кину|переста)(?:в|ла)_(?P<old>\w+ти(?:ся)?\b[^,;!?]{0,50}?){end}
    change раніше_(?:я|ми)_{old},?_(?:а_|але_)?(?:тепер|зараз)\b
    change (?:моя|мій|моє|мої)_[^,]{2,40}?_тепер_[^,]{2,60}?,_(?:а_)?не_{old}{end}
    change* (?:моя|мій|моє|мої)_[^,]{2,40}?_тепер_(?:не_{old},_а_)?\w
    change (?:моя|мій|моє|мої)_[^,]{2,40}?_зміни\w+_{from}_{old}_+на_\w
    change я_тепер_(?:живу|працюю|навчаюся)_\w
    constraint ти_(?:завжди_|ніколи_не_|не_)?{must}_(?:завжди_|лише_|тільки_)?{infinitive}
    constraint (?:(?:усі|всі|твої|будь-які|мої)_)?(?:\w+_)?{things}_(?:завжди_)?{must}_(?:завжди_)?\w
    constraint (?:ніколи_)?(?:[ій]_)?(?:[ув]_жодному_разі|за_жодних_(?:обставин|умов)|нізащо)_(?:ніколи_
        |нікому_)?не_\w
    constraint обов'язково_(?:завжди_)?{imperative}
    constraint (?:тобі_)?(?:не_можна|заборонено|забороняється|неприпустимо)_{infinitive}[^!?]{0,80}\b(?:мо[їєйяю]\w*
        |мене|мені|відповід\w*|ніколи)
    constraint мені_(?:категорично_|зовсім_)?не_можна_(?!зараз|сьогодні|так)\w
    rule (?:завжди|ніколи_(?:більше_)?не)_(?:мені_|мене_|будь_ласка,?_)?(?!кажи_ніколи){imperative}
    rule (?:будь_ласка,?_)?{now},?_(?:(?:будь_ласка|завжди|ніколи_не|не|мені|мене|давай),?_){0,2}{imperative}
    rule {imperative}_(?:\w+_){0,2}?(?:завжди|відтепер|надалі|віднині|з_цього_моменту|тепер)\b
    rule не_{imperative}_[^!?]{0,60}?(?:більше|ніколи)\b
    rule (?:називай|клич)(?:те)?_мене_\w
    rule (?:коли|щоразу,?_коли|якщо)_(?:я|ти)_[^!?]{3,80}?,?_завжди_{imperative}
    rule (?:щоразу|кожного_разу|кожен_раз),?_коли_я_[^!?]{3,80}?,_{imperative}
    preference {i}(?:віддаю_перевагу|надаю_перевагу|волію|люблю|любимо|обожнюю|обожнюємо|ненавиджу|ненавидимо|зношу
        |терплю|переношу|полюбляю){passing}_+\w
    preference (?:я_)?(?:просто_)?терпіти_не_можу{passing},?_+\w
    preference (?:мені|нам)_(?:(?:дуже|більше|завжди|взагалі|все_ж|набагато
        |зовсім)_){0,3}(?:не_)?(?:більше_)?(?:подобається|подобаються|зручніше|приємніше|комфортніше|ближче
        |до_вподоби){passing},?_+\w
    preference (?:моя|мій|моє|мої)_(?:най)?улюблен\w+_\w
    correction* (?:ні|не|неправда)[,.:]?_+{said}
    correction* (?:насправді|взагалі-то|власне|точніше)[,.]?_+{said}
    correction* (?:ні[,.]?_)?(?:це_)?не_(?!тільки|лише|стільки|просто|так\b|те\b|це\b)(?:(?:в|у|на|до
        |з)_)?{old},_а_(?!не\b|також|те\b|ще\b|потім|й\b)[^,]{2,50}$
    correction* (?:ні[,.]?_)?(?:я_ма(?:в|ла)_на_увазі|я_(?:каза|говори|писа)(?:в|ла)|(?:її|його|їх|мене)_(?:звуть
        |звати)|це|(?:мо\w+|мій|її|його)_\w+)_[^,]{2,60}?,_а_не_{old}{end}
    correction* (?:ні[,.]?_)?я_ма(?:в|ла)_на_увазі_(?!що)\w
    correction* (?:ти_(?:помиливс[яь]|помилилас[яь]|помиляєшся|переплута(?:в|ла)|не_?правий)|це_(?:неправильно
        |неправда|помилка|не_так))[,.:;]_*\w
    correction (?:поправка|виправлення|уточнення)[:,.]_*\w
    """,
    imperative=_UK_IMPERATIVE,
    infinitive=_UK_INFINITIVE,
    now=_UK_NOW,
    i=_UK_I,
    passing=_RU_PASSING + _UK_PASSING,
    things=_UK_THINGS,
    said=_UK_SAID,
    moved=_UK_MOVED,
    must=_UK_MUST,
    **{"from": _UK_FROM},
)

# --- German ----------------------------------------------------------------------------------------------------------
_DE_ASKED = (
    "(?:antwort|schreib|verwend|benutz|nutz|nenn|sag|frag|gib|geb|zeig|füg|mach|erwähn|schick|send|"
    "rechn|übersetz|duz|siez|"
    "sprich|sprech|red|erklär|nimm|nehm|setz|stell|beginn|fang|hör|prüf|lösch|speicher|erinner|"
    "zitier|verlink|formatier|"
    "kürz|halt|vermeid|ruf|fass|teil|rund|ergänz|beend|end|nummerier|sortier|bezeichn|wiederhol|entschuldig|lob|warn|"
    "empfiehl|empfehl|schlag|ersetz|markier|veröffentlich|verrat|verrät|behandel|weitergeb|weitergib|angeb|hinzufüg|"
    "nachfrag|weiterleit|leit|lass|änder|buch|bestell|mitteil|offenleg|denk|geh)"
)
_DE_IMPERATIVE = _DE_ASKED + r"(?:e|en_sie|est|st|t)?"
_DE_INFINITIVE = r"(?:(?:an|ab|auf|aus|ein|hinzu|mit|nach|vor|weiter|zurück|zu)(?:zu)?)?" + _DE_ASKED + r"e?l?r?n"
_DE_NOW = r"(?:ab_jetzt|ab_sofort|ab_heute|von_(?:nun|jetzt)_an|künftig|zukünftig|in_zukunft|fortan|für_die_zukunft)"
_DE_NEVER = r"(?:immer|stets|grundsätzlich|niemals|nie|nie_wieder|nie_mehr)"
_DE_PASSING = (
    r"(?!_+(?:(?:die|das|den|der|dein\w*|dies\w*)_(?:erste|zweite|dritte|letzte|andere|idee|art|"
    r"option)\w*|dich|euch|es$|"
    r"es_(?:sehr|nicht$)|dies\w*|das\b(?!_\w)|dein\w*|nicht_mehr|wie|ihn|sie\b|option)\b)"
)
_DE_THINGS = (
    r"(?:antwort(?:en)?|preise?|daten|datum|texte?|nachrichten?|berichte?|einheiten|rezepte?|"
    r"e?-?mails?|übersetzung(?:en)?|"
    r"listen?|überschriften|code|namen|summen?|beträge|zahlen|notizen|zitate?|quellen|tests?|"
    r"dokumente|zusammenfassung(?:en)?)"
)
_DE_SAID = (
    r"(?:(?:sie|er|es|ich)_+heißt?e?_|heißt_(?:sie|er|es|mein\w*)_|heiße_ich_|(?:mein|unser|sein|"
    r"ihr)\w*_[^,]{2,40}?_(?:heißt|ist)_(?!nicht|gut|egal|schon)|"
    r"ich_+(?:wohne|arbeite|lebe|komme_aus|studiere)_|(?:wohne|arbeite|lebe)_ich_|(?:hat|"
    r"habe)_(?:ich|sie|er|mein\w*_\w+)_[^,]{2,40}?_geburtstag)"
)
GERMAN = _phrases(
    r"""
    change (?:ich_bin|wir_sind)_(?:(?:vor_kurzem|kürzlich|gerade|jetzt|neulich
        |inzwischen)_)?von_{old}_nach_[^,]{2,40}?_?(?:um)?gezogen
    change (?:ich_bin|wir_sind)_(?:(?:vor_kurzem|kürzlich|gerade|jetzt|neulich|inzwischen)_)?(?:nach
        |in_die)_[^,]{2,40}?_?(?:um)?gezogen
    change (?:ich_bin|wir_sind)_[^,]{0,20}?_?von_{old}_(?:auf|zu)_[^,]{2,40}?_(?:umgestiegen|gewechselt|umgezogen)
    change (?:ich_bin|wir_sind|ich_habe|wir_haben)_[^,]{0,20}?_?(?:auf|zu)_[^,]{2,40}?_(?:umgestiegen|gewechselt
        |umgestellt)
    change (?:mein|unser)\w*_[^,]{2,40}?_hat_sich_von_{old}_(?:auf|in|zu)_[^,]{2,40}?_geändert
    change ich_habe_(?:mein\w*|unser\w*)_[^,]{2,40}?_von_{old}_(?:auf|in|zu)_[^,]{2,40}?_(?:geändert|gewechselt)
    change (?:ich|wir)_(?!bin|sind|kann|können|weiß|wissen|will|wollen|mag|verstehe|glaube|denke|habe_keine|werde
        |möchte|sehe|möchten|erinnere|muss|brauche|hab)\w+_(?:hier_)?keine?n?_{old}_mehr{end}
    change (?:ich|wir)_(?!bin|sind|kann|können|weiß|wissen|will|wollen|mag|verstehe|glaube|denke|habe|werde|möchte
        |sehe|möchten|erinnere|muss|brauche|hab)\w+_nicht_mehr_(?:(?:bei|in|mit|für|im|am|als)_)?{old}{end}
    change (?:ich|wir)_(?!bin|sind|kann|können|weiß|wissen|will|wollen|mag|verstehe|glaube|denke|habe|werde|möchte
        |sehe|möchten|erinnere|muss|brauche|hab)\w+_{old}_nicht_mehr{end}
    change (?:ich_habe|wir_haben)_(?:im_\w+_|vor_\w+_\w+_|letzt\w+_\w+_)?(?:endlich_)?(?:mit_)?(?:dem_
        |der_)?{old}_aufgehört
    change früher_{old},?_(?:aber_)?(?:jetzt|heute|nun|inzwischen)\b
    change (?:wir_haben|ich_habe)_{old}_(?:durch|gegen)_[^,]{2,40}?_(?:ersetzt|getauscht|ausgetauscht)
    change (?:ich|wir|mein\w*_\w+|unser\w*_\w+)_(?:heißt?e?n?|ist|sind|wohne|arbeite)_jetzt_[^,]{2,40}?_(?:statt
        |anstatt|und_nicht_mehr)_{old}{end}
    change* (?:mein|unser)\w*_[^,]{2,40}?_(?:ist|sind|heißt)_nicht_mehr_{old},_sondern_\w
    change* (?:mein|unser)\w*_[^,]{2,40}?_(?:ist|heißt)_jetzt_\w+@\w
    change ich_(?:heiße|wohne|arbeite|lebe|studiere)_jetzt_\w
    constraint du_(?:musst|sollst)_(?:immer_|stets_|niemals_|nie_|nicht_)?[^,!?]{2,80}?{infinitive}\b
    constraint du_darfst_[^,!?]{0,80}?(?:nicht|nie|niemals|keine?n?)\b[^,!?]{2,60}?{infinitive}\b
    constraint (?:(?:alle|sämtliche|deine|die|meine|jede[rs]?)_)?(?:\w+_)?{things}_(?:müssen|muss|dürfen|darf
        |sollen_immer)_\w
    constraint (?:{imperative}_[^!?]{0,60}?)?(?:auf_(?:gar_)?keinen_fall|keinesfalls
        |unter_(?:gar_)?keinen_umständen)_\w
    constraint [^,!?]{2,80}?_(?:ist|sind)_(?:immer_|stets_)?[^,!?]{0,50}?(?:erforderlich|pflicht|verpflichtend
        |vorgeschrieben)
    constraint ich_darf_(?:niemals|nie|kein\w*)_\w
    constraint {imperative}_(?:mein\w*|mir)_[^!?]{2,60}?_niemals_\w
    rule {imperative}_(?:(?:mich|mir|uns|bitte|dich|dabei|also|dann)_){0,2}(?:[^,!?]{2,40}?_)?(?:{never}(?!\W*$)
        |{now}|nicht_mehr)\b
    rule {now},?_(?!(?:werde|will|möchte|gehe|bin|habe|wird|gibt|sind)\b)\w
    rule {never}_(?!gern|noch|schon|mehr$)[^!?]{2,90}?\b{infinitive}(?:_bitte)?\W*$
    rule bitte_{never}_\w
    rule (?:wenn|jedes_mal,?_wenn|immer_wenn)_(?:du|ich)_[^!?]{3,80}?,?_(?:bitte_(?:immer|nie|nur|stets)
        |(?:dann_)?{imperative}_[^!?]{0,40}\b(?:immer|nie|stets))\b
    rule (?:jedes_mal,?_wenn|immer,?_wenn)_ich_[^!?]{3,80}?,_(?:dann_|bitte_)?{imperative}_
    rule du_(?:sollst|kannst|solltest)_(?:mich_|mir_)?{never}_\w
    preference (?:ich|wir)_(?:(?:persönlich|generell|allgemein|wirklich|auch)_)?(?:bevorzugen?|mag|mögen|lieben?
        |hassen?|verabscheuen?|genießen?)(?:_(?:sehr|wirklich|total|eher|lieber|besonders|überhaupt|auch|einfach
        |am_liebsten))?{passing}_+\w
    preference (?:ich|wir)_(?!würde|möchte|nehme|hätte|weiß|wüsste|glaube|komme|gehe_jetzt|mache_das|wollte
        |mag_das)\w+_(?:lieber|am_liebsten|(?:sehr_|nicht_|nicht_so_)?gerne?){passing}_+\w
    preference (?!würde|möchte|hätte|weiß|wüsste|nehme|kann|darf)\w+e_ich_(?:(?:sehr|nicht|auch|viel)_)?(?:gerne?
        |lieber|am_liebsten)_\w
    preference (?:mir|uns)_(?:ist|sind|gefällt|gefallen|schmeckt|schmecken){passing}_[^!?]{2,80}?_(?:lieber|besser
        |wichtig|nicht|am_besten)\b
    preference mein\w*_liebling\w+_\w
    preference ich_(?:kann|ertrage)_[^!?]{2,80}?_nicht_(?:ausstehen|leiden|ertragen|ab)\b
    preference ich_(?:bin|wäre)_(?:kein|ein)_(?:großer_|echter_)?fan_von{passing}_\w
    preference (?!das|dies|es|wenn|ob|dass|was|wie|wen|dich|ihn|sie|er|wir)[\w-]+(?:_[\w-]+){0,3}_(?:liebe|hasse|mag
        |bevorzuge)_ich_
    correction* (?:nein|nee|ne|falsch)[,.:!]?_+{said}\w*
    correction* (?:eigentlich|tatsächlich|genauer_gesagt)[,.]?_+{said}\w*
    correction* (?:nein[,.]?_)?(?:es_ist_|das_ist_)?nicht_(?!nur|bloß|so\b|das\b|dies)(?:(?:am|im|in|um|bei|den|der
        |die)_)?{old},?_sondern_(?!auch|dies|das\b|jen)[^,]{2,50}$
    correction* (?:nein[,.]?_)?(?:ich_(?:meinte|sagte|meine)|(?:sie|er|es)_(?:heißt|ist)|(?:mein
        |unser)\w*_[^,]{2,30}?_(?:heißt|ist))_[^,]{2,60}?,_(?:und_)?nicht_{old}{end}
    correction* (?:nein[,.]?_)?ich_meinte_(?!dass|das\b|es\b)\w
    correction* (?:das_(?:stimmt_nicht|ist_(?:falsch|nicht_richtig))|du_(?:irrst_dich|liegst_falsch)|falsch)[,.:;]_*\w
    correction (?:korrektur|berichtigung)[:,.]_*\w
    """,
    imperative=_DE_IMPERATIVE,
    infinitive=_DE_INFINITIVE,
    now=_DE_NOW,
    never=_DE_NEVER,
    passing=_DE_PASSING,
    things=_DE_THINGS,
    said=_DE_SAID,
)

# --- Spanish ---------------------------------------------------------------------------------------------------------
_ES_ASKED = _any(
    "responde contesta escribe usa utiliza emplea llámame llámanos dime di indica pregúntame pregunta pon ponme añade "
    "agrega incluye cita muestra muéstrame dame da haz habla háblame trátame evita convierte pasa "
    "traduce envía envíame "
    "manda mándame menciona termina empieza explica explícame redondea avísame recuérdame busca comprueba verifica "
    "consulta guarda tutéame escríbeme respóndeme contéstame resume formatea cuenta calcula corrige ordena propón "
    "recomiéndame limita deja omite añádeme responda conteste escriba use utilice"
)
_ES_NOT = _any(
    "uses utilices emplees respondas contestes escribas llames digas pongas añadas agregues incluyas envíes mandes "
    "menciones compartas borres hables des hagas empieces termines preguntes trates guardes cambies toques traduzcas "
    "inventes repitas pidas muestres cites ofrezcas asumas supongas reveles publiques elimines resumas corrijas omitas "
    "recomiendes propongas me_(?:llames|escribas|hables|trates|digas|des|mandes|envíes|preguntes|respondas|contestes) "
    "le_(?:digas|des|escribas|mandes|envíes) se_lo_digas"
)
_ES_INFINITIVE = _any(
    "responder contestar escribir usar utilizar llamarme decir indicar preguntar(?:me)? poner "
    "añadir agregar incluir citar "
    "mostrar dar hacer hablar tratar(?:me)? evitar convertir pasar traducir enviar mandar mencionar terminar empezar "
    "explicar redondear avisar(?:me)? guardar tutear(?:me)? resumir calcular compartir borrar "
    "revelar respetar ser_breve"
)
_ES_NOW = (
    r"(?:a_partir_de_(?:ahora|hoy|este_momento)|de_ahora_en_adelante|desde_(?:ahora|hoy)|en_adelante|en_lo_sucesivo)"
)
_ES_PASSING = (
    r"(?!_+(?:(?:el|la|lo|los|las|tu|su|est\w|es[aoe]s?|aquel\w*)_(?:primer\w*|segund\w+|tercer\w*|"
    r"últim\w+|otr\w+|de_antes|"
    r"idea|forma|opción)|est[aeo]s?\b|es[aeo]s?\b|aquel\w*|cómo|tu\b|tus\b|lo_que\b|mucho$|mucho,|"
    r"más_el_(?:primer|segund)|"
    r"más_la_(?:primer|segund)|más_(?:est|es[aeo])|la_idea|saber|que_no_hablemos|irme|ir\b|"
    r"no_hablar|verte|verlo|saberlo|la_opción)\w*)"
)
_ES_THINGS = (
    r"(?:respuestas?|precios?|fechas?|textos?|mensajes?|informes?|unidades|recetas?|correos?|"
    r"traducciones|listas?|títulos?|"
    r"código|nombres?|cantidades|números?|notas?|citas?|fuentes?|pruebas|documentos?|resúmenes)"
)
_ES_SAID = (
    r"(?:(?:ella_|él_)?(?:se_llama|me_llamo)_|(?:mi|su|nuestr[oa])_[^,]{2,40}?_(?:se_llama|es)_(?!que\b|no\b|buen)|"
    r"(?:yo_)?(?:vivo_en|trabajo_en|soy_de|nací_)_?|se_escribe_)"
)
SPANISH = _phrases(
    r"""
    change (?:(?:yo_)?me_(?:he_)?|nos_(?:hemos_)?)(?:mudé|mudado|mudamos|trasladé|trasladado
        |trasladamos)_(?:hace_poco_)?(?:de|desde)_{old}_a_\w
    change (?:(?:yo_)?me_(?:he_)?|nos_(?:hemos_)?)(?:mudé|mudado|mudamos|trasladé|trasladado
        |trasladamos)_a_(?!la_siguiente|otr|un)\w
    change (?:yo_)?(?:me_(?:pasé|cambié|he_pasado|he_cambiado)|nos_(?:pasamos|cambiamos|hemos_pasado)|(?:he
        |hemos)_(?:cambiado|migrado)|migré)_(?:de|desde)_{old}_a_\w
    change* (?:yo_)?(?:me_(?:pasé|cambié|he_pasado|he_cambiado)|nos_(?:pasamos|cambiamos|hemos_pasado)
        |migré)_a_(?!la_|otr|un)\w
    change (?:yo_)?(?:cambié|he_cambiado|actualicé)_(?:mi|el)_[^,]{2,40}?_(?:del?|desde)_{old}_al?_\w
    change (?:yo_|nosotros_)?ya_no_(?!sé|puedo|quiero|entiendo|me_acuerdo|recuerdo|hay|importa|hace|es\b|está
        |me_gusta_esto|aguanto|tengo_(?:tiempo|ganas))(?P<old>(?:\w*[oé]|\w+mos|me_\w+|nos_\w+)\b[^,;!?]{2,60}?){end}
    change (?:he_dejado|hemos_dejado|dejé|dejamos)_de_(?P<old>\w+r\b[^,;!?]{0,50}?){end}
    change antes_(?P<old>(?:yo_)?\w+(?:ía|aba|íamos|ábamos)\b[^,;!?]{2,60}?),?_(?:y_|pero_)?ahora\b
    change* (?:cambiamos|hemos_cambiado|he_cambiado|cambié|reemplazamos|sustituimos)_{old}_por_\w
    change* (?:mi|nuestr[oa])_[^,]{2,40}?_ya_no_es_{old},_(?:ahora|sino)_\w
    change (?:mi|nuestr[oa])_[^,]{2,40}?_ahora_es_[^,]{2,60}?_en_(?:vez|lugar)_de_{old}{end}
    change* (?:mi|nuestr[oa])_[^,]{2,40}?_(?:ha_cambiado|cambió)_(?:del?_{old}_)?al?_\w
    change* ahora_(?:vivo|trabajo|estudio)_en_\w
    constraint (?:tú_)?(?:debes|tienes_que|has_de)_(?:siempre_|nunca_)?{infinitive}\b
    constraint (?:tú_)?(?:no_debes|no_puedes)_(?:nunca_|jamás_)?{infinitive}\b
    constraint (?:(?:todas?_las|todos_los|las|los|tus|mis|cada|cualquier)_)?(?:\w+_)?{things}_(?:siempre_)?(?:deben
        |debe|tienen_que|tiene_que|han_de)_\w
    constraint (?:nunca_)?(?:bajo_ning(?:ún|una)_(?:concepto|circunstancia|pretexto)|en_ningún_caso
        |de_ninguna_manera)_\w
    constraint (?:jamás|nunca_jamás)_{not}\b
    constraint nunca_jamás_\w
    constraint (?:es_(?:obligatorio|imprescindible)|está_prohibido|queda_prohibido)_(?:siempre_)?{infinitive}\b
    rule (?:siempre)_{asked}\b
    rule (?:nunca|no)_{not}_[^!?]{0,80}?(?:nunca|jamás|más)\b(?!_de\b)
    rule nunca_(?:más_)?{not}\b(?!_nunca)
    rule {asked}_(?:(?:me|el|la|los|las)_)?(?:\w+_){0,2}?(?:siempre|solo_y_siempre)\b
    rule {now},?_(?!(?:voy|vamos|quiero|iré|soy|estoy|no_voy)\b)\w
    rule (?:en_el_futuro|para_el_futuro|en_adelante),?_(?:por_favor,?_)?(?:no_{not}|{asked})\b
    rule {asked}_[^!?]{2,80}?_{now}
    rule (?:cada_vez_que|siempre_que)_[^!?]{3,80}?,_(?:por_favor,?_)?{asked}\b
    rule cuando_(?:me_|te_|yo_)[^!?]{3,80}?_{asked}_(?:\w+_)?siempre\b
    preference (?:(?:yo|nosotros)_)?(?:siempre_|normalmente_)?(?:prefiero|preferimos|preferiría|odio|odiamos|detesto
        |adoro|amo){passing}_+\w
    preference (?:a_(?:mí|nosotros)_)?(?:no_)?(?:me|nos)_(?:gustan?|encantan?|molestan?|agradan?
        |disgustan?)(?:_(?:mucho|muchísimo|más|bastante|nada))?{passing}_+\w
    preference (?:yo_)?no_(?:soporto|soportamos|aguanto){passing}_+\w
    preference mis?_\w[^,.!?]{1,40}?_(?:favorit|preferid)[oa]s?_(?:es|son)_\w
    preference (?:yo_)?(?:no_)?soy_(?:muy_)?fan_de_\w
    correction* (?:no|mal)[,.:!]_*{said}
    correction* (?:en_realidad|de_hecho|más_bien)[,.]?_+{said}
    correction* (?:no[,.]_)?(?:es_)?no_(?:es_|era_)?(?!solo|sólo|solamente|tan\b|est[oe]\b|es[oe]\b)(?:(?:el|la|en|de
        |con|a)_)?{old},?_sino_(?!que|también|aquel|es[oe]\b|est[oe]\b)[^,]{2,50}$
    correction* (?:no[,.]_)?(?:quería_decir|quise_decir|me_refería_a|dije|se_llama|es|mi_\w+_(?:es
        |se_llama))_[^,]{2,60}?,_(?:y_)?no_(?:(?:el|la|en|a)_)?{old}{end}
    correction* (?:no[,.]_)?(?:quería_decir|quise_decir|me_refería_a)_(?!que\b)\w
    correction* (?:te_equivocas|eso_(?:no_es_(?:cierto|correcto|así)|está_mal|es_(?:falso|incorrecto))
        |incorrecto)[,.:;]_*\w
    correction correcci[óo]n[:,.]_*\w
    """,
    asked=_ES_ASKED,
    infinitive=_ES_INFINITIVE,
    now=_ES_NOW,
    passing=_ES_PASSING,
    things=_ES_THINGS,
    said=_ES_SAID,
    **{"not": _ES_NOT},
)

# --- French ----------------------------------------------------------------------------------------------------------
_FR_ASKED = (
    r"(?:(?:répond|écri|écriv|utilis|emploi|employ|indiqu|demand|di|dit|met|mett|ajout|inclu|cit|"
    r"montr|donn|fai|fait|parl|"
    r"évit|converti|convertiss|tradui|traduis|envoi|envoy|mentionn|termin|commenc|expliqu|arrondi|"
    r"prévien|préven|rappell|"
    r"rappel|cherch|vérifi|gard|tutoi|tutoy|vouvoi|vouvoy|précis|partag|effac|supprim|divulgu|"
    r"appell|appel|résum|propos|"
    r"recommand|corrig|compt|calcul|trait|laiss|signal|suppos|invent|répèt|répét|publi|révèl|touch|"
    r"chang|rédig|pass|prend|"
    r"pren)(?:e|es|s|ds|ts|ez|dez|ons)?)"
)
_FR_INFINITIVE = _any(
    "(?:m'|me_|l'|le_|les_)?(?:répondre écrire utiliser employer indiquer demander dire mettre "
    "ajouter inclure citer montrer "
    "donner parler éviter convertir traduire envoyer mentionner terminer commencer expliquer "
    "arrondir prévenir vérifier "
    "garder tutoyer vouvoyer préciser partager effacer supprimer divulguer appeler résumer proposer "
    "recommander corriger "
    "calculer respecter laisser révéler être_bref)"
)
_FR_NOW = r"(?:à_partir_de_(?:maintenant|aujourd'hui)|dorénavant|désormais|à_compter_d[e']_?(?:maintenant|aujourd'hui))"
_FR_PASSING = (
    r"(?!_+(?:(?:la|le|l'|ta|ton|cette|ce)_?(?:premi\w+|deuxi\w+|second\w*|troisi\w+|derni\w+|autre|"
    r"idée|façon|option|fait_que_tu)|"
    r"ça$|ça,|cel\w+|ceci|cette|ce\b|ces\b|ta\b|ton\b|tes\b|ne_pas_en|comment|merci|bien,|bien$|"
    r"y_aller|partir|rester|te\b|toi\b|l'option)\b)"
)
_FR_THINGS = (
    r"(?:réponses?|prix|dates?|textes?|messages?|rapports?|unités|recettes?|e?-?mails?|traductions?|"
    r"listes?|titres?|code|noms?|"
    r"montants?|nombres?|notes?|citations?|sources?|tests?|documents?|résumés?)"
)
_FR_SAID = (
    r"(?:(?:elle|il|je|ça)_+(?:s'|m')(?:appelle|écrit)_|(?:mon|ma|notre|son|"
    r"sa)_[^,]{2,40}?_(?:s'appelle|est)_(?!que\b|pas\b|bon)|"
    r"(?:j'habite|je_vis|je_travaille|je_viens_de|je_suis_né\w?)_)"
)
_FR_I = r"(?:(?:je|j'|nous|on)_?)"
FRENCH = _phrases(
    r"""
    change (?:j'ai|on_a|nous_avons)_(?:(?:récemment|enfin)_)?(?:déménagé|emménagé)_(?:récemment_)?(?:de_|d'
        |du_){old}_(?:à|vers|au|en|pour)_\w
    change (?:j'ai|on_a|nous_avons)_(?:(?:récemment|enfin)_)?(?:déménagé|emménagé)_(?:récemment_)?(?:à|au
        |en)_(?!cause)\w
    change (?:je_suis|on_est|nous_sommes)_(?:(?:récemment|enfin)_)?passée?s?_(?:de_|d'|du_){old}_(?:à|au|sur)_\w
    change* (?:je_suis|on_est|nous_sommes)_(?:(?:récemment|enfin)_)?passée?s?_(?:à|au|sur)_(?!la_|autre|côté
        |[^,]*\bhier\b)\w
    change (?:j'ai|on_a|nous_avons)_(?:changé|modifié)_(?:mon|ma|mes|notre|de)_[^,]{2,40}?_(?:du|de)_{old}_(?:au|à
        |pour)_\w
    change {i}n(?:e_|'|')?_?(?!sais|peux|veux|comprends|en_peux|pense|crois|me_souviens|vois|suis_plus_sûr|peut|sait
        |veut|arrive|ai_plus_(?:le_temps|envie))(?:[mn]ous_|m'|me_)?[\w']+_plus_(?!tard|que\b|jamais_ça|rien|grand
        |besoin)(?:(?:de|chez|à|en|au|du|pour|dans|avec|le|la)_|d')?{old}{end}
    change (?:j'ai|on_a|nous_avons)_(?:enfin_)?(?:arrêté|cessé)_(?:de_|d'|le_|la_){old}{end}
    change (?:j'ai|on_a|nous_avons)_(?:remplacé|échangé)_{old}_(?:par|contre|pour)_\w
    change avant,?_(?P<old>(?:je_|j'|on_|nous_)[^,;!?]{2,60}?),?_(?:et_|mais_)?(?:maintenant|aujourd'hui)\b
    change* (?:mon|ma|notre)_[^,]{2,40}?_n'est_plus_{old},?_(?:mais|c'est)_\w
    change (?:mon|ma|notre)_[^,]{2,40}?_est_maintenant_[^,]{2,60}?_au_lieu_de_{old}{end}
    change* (?:mon|ma|notre)_[^,]{2,40}?_(?:est_maintenant|a_changé_pour)_\w
    change* j'habite_maintenant_\w
    constraint (?:tu_dois|vous_devez)_(?:toujours_|absolument_|impérativement_)?{infinitive}\b
    constraint (?:tu_ne_dois|vous_ne_devez)_(?:pas|jamais|en_aucun_cas)_{infinitive}\b
    constraint (?:(?:toutes_les|tous_les|les|tes|mes|chaque)_)?(?:\w+_)?{things}_(?:doivent
        |doit)_(?:toujours_)?(?!avoir_été)\w
    constraint (?:(?:ne_|n'){asked}_)?(?:[^,!?]{2,40}_)?(?:en_aucun_cas|sous_aucun_prétexte|en_aucune_circonstance)_\w
    constraint il_(?:est_(?:obligatoire|impératif|interdit|indispensable)_(?:de_|d')|faut_(?:toujours|impérativement
        |absolument)_){infinitive}\b
    rule {asked}(?:-(?:moi|nous|le|la|les|lui))?_(?:(?:bien|donc)_)?(?:toujours|systématiquement)\b
    rule (?:ne_|n')(?:(?:me|m'|nous|le|la|les|lui|y|en)_?)?{asked}_(?:plus_)?(?:jamais|plus)\b
    rule {asked}(?:-moi)?_(?![^,!?]*_(?:que?\b|qu'|qui_))[^,!?]{2,60}?_toujours\b
    rule toujours_(?:{infinitive}|{asked})_\w
    rule ne_(?:plus_)?jamais_(?:me_|m')?{infinitive}\b
    rule {now},?_(?!(?:je|on|nous|il|elle)\b|j')\w
    rule (?:à_l'avenir|dans_le_futur),?_(?:s'il_te_plaît,?_)?(?:ne_|n')?{asked}
    rule {asked}(?:-moi)?_[^!?]{2,80}?_(?:{now}|à_l'avenir)
    rule (?:chaque_fois_que|à_chaque_fois_que)_[^!?]{3,80}?,_(?:s'il_te_plaît,?_)?{asked}
    rule quand_(?:tu|je|on)_[^!?]{3,80}?,?_{asked}(?:-moi)?_toujours\b
    preference {i}(?:(?:vraiment|toujours)_)?(?:préf[èe]re|préférons|préférerais|adore|adorons|déteste
        |détestons)(?:_(?:vraiment|toujours))?{passing}_+\w
    preference {i}aim(?:e|ons)(?:_(?:mieux|beaucoup|bien|vraiment|énormément|particulièrement)){1,2}{passing}_+\w
    preference j'aime{passing}_(?:les?|la|l'|manger|boire|marcher|lire|quand|qu|faire|écouter|regarder|voyager
        |cuisiner)\w*
    preference (?:je_|nous_|on_)n'aim(?:e|ons)_(?:pas|vraiment_pas|pas_du_tout){passing}_+\w
    preference (?:je_|on_)ne_supporte_(?:pas|plus){passing}_+\w
    preference m(?:on|a|es)_\w[^,.!?]{1,40}?_(?:préférée?s?|favorite?s?)_(?:est|sont|c'est)_\w
    preference (?!ça|cela|ceci|si|quand|que|comme)[\w']+(?:_[\w']+){0,3},_(?:moi_)?(?:j'adore|je_déteste
        |j'aime_beaucoup|je_préfère)\b
    correction* (?:non|nan|faux)[,.:!]?_+{said}
    correction* (?:en_fait|en_réalité|plutôt)[,.]?_+{said}
    correction* (?:non[,.]?_)?(?:ce_n'est_|c'est_|c'était_)?pas_(?!seulement|que\b|mal\b|mauvais|ceci|ça\b|cela
        |si\b)(?:(?:le|la|à|en)_)?{old},?_mais_(?!pas\b|aussi|cela|ça\b|je\b|c'est_pas)[^,]{2,50}$
    correction* (?:non[,.]?_)?(?:je_voulais_dire|je_parlais_de|j'ai_dit|(?:elle|il)_s'appelle|c'est|(?:mon
        |ma)_\w+_(?:est|s'appelle))_[^,]{2,60}?,_(?:et_)?(?:non_)?(?:pas_)?(?:(?:le|la|à|en)_)?{old}{end}
    correction* (?:non[,.]?_)?je_voulais_dire_(?!que\b)\w
    correction* (?:tu_te_trompes|vous_vous_trompez|c'est_(?:faux|incorrect)|ce_n'est_pas_(?:vrai|exact
        |correct))[,.:;]_*\w
    correction (?:correction|rectification)_?[:,.]_*\w
    """,
    asked=_FR_ASKED,
    infinitive=_FR_INFINITIVE,
    now=_FR_NOW,
    i=_FR_I,
    passing=_FR_PASSING,
    things=_FR_THINGS,
    said=_FR_SAID,
)

# --- Chinese ---------------------------------------------------------------------------------------------------------
_ZH_I = r"(?:我们?|咱们)(?:个人|其实|一般|通常|平时|一直|都|也|还是|真的|就){0,3}"
_ZH_VERBS = (
    r"(?:用|使用|回答|回复|写|叫|称呼|说|讲|给我|告诉|问|先问|注明|标注|加|加上|添加|显示|包括|包含|翻译|换算|转换|提|提及|提到|发|发送|"
    r""
    r"分享|透露|泄露|引用|解释|检查|确认|删|删除|保留|保存|提醒|总结|列|列出|超过|开始|结束|道歉|重复|假设|编造|推荐|建议|避免|省略|把|将|"
    r""
    r"附|附上|保持|遵守|按|以|在|公开|修改|联系)"
)
_ZH_ALWAYS = r"(?:总是|始终|一直|永远|每次都?|一律|务必|一定要|都要|都|必须)"
_ZH_NOT = r"(?:不要|别|不能|不准|不许|不得|不可以?|勿)"
_ZH_NOW = r"(?:从现在(?:开始|起)|从今天?(?:开始|起)|从今(?:以)?后|从此以?后?|今后|以后|往后|今後|以後)"
_ZH_PASSING = r"(?!第[一二三四五\d]|这|那|你|您|它|他|她|前者|后者|最后|另|上一?个|下一?个|选项|[，,。！!]|了|过|的)"
_ZH_OLD = r"(?P<old>[^，,；;：:。！!？?]{1,30}?)"
CHINESE = _phrases(
    r"""
    change (?:我们?|咱们)(?:最近|刚刚?|上个?月|去年|已经|现在)?(?:搬家)?从{zold}(?:搬|迁)(?:到|去)了?\w
    change (?:我们?|咱们)(?:最近|刚刚?|上个?月|去年|已经|现在)?(?:搬|迁)(?:家)?(?:到|去)了?(?!下|另|楼)\w
    change (?:我们?|咱们)(?:最近|刚刚?|已经|现在)?(?:从|由){zold}(?:换|改|转|切换|升级|迁移)(?:成|到|为|用)了?\w
    change (?:我们?|咱们)(?:最近|刚刚?|已经|现在)?把{zold}(?:换|改)(?:成|为)了?\w
    change (?:我们?|咱们)的?[^，,。]{1,20}?(?:从|由){zold}(?:换|改|变)(?:成|到|为)了?\w
    change (?:我们?|咱们)(?:现在|已经|都)?(?:不再|再也不)(?!知道|想|能|会|确定|相信|记得|明白){zold}了?[。！!]?$
    change (?:我们?|咱们)(?:现在)?已经不(?!知道|想|能|会|确定|相信|记得|明白|是){zold}了
    change (?:我们?|咱们)(?:现在)?不(?!知道|想|能|会|确定|相信|记得|明白|要|行|好|说|懂|信|去){zold}了[，,](?:现在|改
        |而)
    change 我(?:的)?(?:[一二三四五六七八九十\d]+月份?|去年|今年|已经|刚刚?
        |最近)?(?:终于)?戒(?:掉)?了?(?P<old>[^，,。！!了]{1,6})了?
    change (?:以前|之前|过去)(?:我们?|咱们){zold}[，,](?:但是?)?(?:我们?)?(?:现在|如今)
    change (?:我们?|咱们)以前{zold}[，,](?:但是?)?(?:我们?)?(?:现在|如今)
    change (?:我们?|咱们)的?[^，,。]{1,20}?不再是{zold}[，,](?:现在|而)?是
    change (?:我们?|咱们)(?:现在)?改用\w
    change (?:我们?|咱们)的[^，,。]{1,12}?(?:现在是|换成了?|改成了?)\w
    change 我现在(?:住在|在[^，,]{2,12}(?:工作|上班))
    constraint (?:你|您)(?:必须|一定要|务必|应该始终){verbs}
    constraint (?:你|您)(?:绝对|永远|决)?{not}{verbs}
    constraint (?:所有|任何|每个?|每一个)[^，,。！!？?]{1,16}?(?:都)?(?:必须|一定要|不得|不能)\w
    constraint (?:答案|回答|回复|价格|日期|文本|消息|报告|单位|食谱|邮件|翻译|列表|标题|代码|名字|金额|数字|笔记|引用
        |来源|文档|摘要)[^，,。！!？?]{0,8}?(?:必须|不得|一定要|需要)(?!是不是)\w
    constraint (?:无论如何|任何情况下|在任何情况下|不管怎样)(?:都)?{not}\w
    constraint [^，,。！!？?他她]{0,14}(?:绝对不(?:要|能|可以|许|得)|绝不(?:要|能|可以|许)|千万(?:不要|别)(?!说永远)
        |切勿|决不能?){zh}{0,6}?{verbs}
    constraint (?:禁止|严禁|不得){verbs}
    constraint [^，,。！!？?我你他她]{1,8}时(?:候)?必须{verbs}
    constraint 我(?:必须|一定)(?:不能|避免|每天)\w
    rule {always}{verbs}
    rule (?:你|您)?(?:要|应该|得)?(?:总是|始终|永远|每次都要|一律|务必){verbs}
    rule (?:你|您)?(?:永远|从此)?{not}(?:再)?(?:总是|每次|老是)?{verbs}[^？?]{1,60}?(?:永远不要|了)[。！!]?$
    rule (?:永远|再也)(?:都)?{not}{verbs}
    rule {now}[，,]?(?!我|他|她|会|可能){zh}{0,12}?(?:{not}|请|都|叫|称呼|用|只|始终|总是|每次|一律|统一|写成?)\w
    rule (?:每次|每当|当我|在我|给我|我)[^，,。！!？?]{0,24}?(?:时|的时候|之前|之后)?[，,]?(?:都要|一定要|务必
        |总是要?|始终)(?:先)?{verbs}
    rule (?:回答|回复|删除|写|引用|翻译|发送|总结|修改)[^，,。！!？?]{0,16}?(?:都要|一定要|务必|总是要?|始终|永远不要
        |永远不能)(?:先)?{verbs}
    preference {i}(?:(?:更|最|很|比较|非常|特别|超级?|挺|真的?|还是|不太|不大|不怎么|不){0,2})(?:喜欢|喜爱|偏爱|偏好
        |热爱|讨厌|厌恶|享受|钟爱|爱(?!你|他|她|死)){passing}\w
    preference {i}(?:宁愿|宁可|更愿意|更倾向于?|倾向于){passing}\w
    preference {i}(?:受不了|忍受不了|无法忍受|不能忍受){passing}\w
    preference 我最?(?:喜欢|喜爱|爱)的[^，,。！!？?]{1,12}是(?!这|那|你|第)\w
    preference (?:比起|相比|跟|与)[^，,。！!？?]{1,14}[，,]?(?:相比[，,]?)?我更?(?:喜欢|爱|偏爱){passing}\w
    correction (?:不|不是|不对|错了|不是的|没有)[，,。！!](?:我的?|他的?|她的?)(?:[^，,。！!？?]{1,10}?)?(?:叫|姓
        |住在?|在[^，,]{2,10}工作|生日是?|是[^，,。]{0,6}人)(?!那|这)\w
    correction 其实(?:我的?|他的?|她的?|它)(?:[^，,。！!？?]{1,10}?)?(?:叫|姓|住在?|生日是?|来自)(?!那|这)\w
    correction* 其实(?:我的?|他的?|她的?|它)(?:[^，,。！!？?]{1,10}?)?是\w
    correction (?:其实|不[，,])?(?:[^，,。！!？?]{0,6})?不是(?!这|那|因为|说|不|很|我|所有|每){zold}[，,]?(?:而是
        |是)(?!这|那|因为|不是|很|我|你)\w[^，,]{0,20}$
    correction 我(?:是说|的意思是|说的是|指的是)(?!你|这|那){zh}{1,20}[，,]不是(?!这|那)(?P<old>[^，,。！!？?]{1,20})
    correction 我(?:是说|说的是|指的是)(?!你|这|那|我|不){zh}{2,20}$
    correction (?:我|他|她|它|我的?[^，,。]{1,6})(?:叫|是|姓|住在){zh}{1,20}[，,]不(?:叫|是|姓|住在)(?!这
        |那)(?P<old>[^，,。！!？?]{1,20})
    correction (?:你?(?:搞|弄|记|说)错了|你错了|不对|这不对|那不对)[，,。！!：:](?:我的?|他的?|她的?
        |是)[^？?]{0,20}?(?:叫|是|住|在)\w
    correction (?:更正|纠正|订正|勘误)(?:一下)?[：:，,]\w
    """,
    zold=_ZH_OLD,
    i=_ZH_I,
    verbs=_ZH_VERBS,
    always=_ZH_ALWAYS,
    now=_ZH_NOW,
    passing=_ZH_PASSING,
    zh="[^，,。！!？?]",
    **{"not": _ZH_NOT},
)

# A change says most, a correction that is nothing else least.
_ORDER = (Pattern.CHANGE, Pattern.CONSTRAINT, Pattern.RULE, Pattern.PREFERENCE, Pattern.CORRECTION)
ALL_PHRASES = tuple(
    sorted(
        ENGLISH + RUSSIAN + UKRAINIAN + GERMAN + SPANISH + FRENCH + CHINESE,
        # of two phrases of a kind, the one that names what holds no longer
        key=lambda phrase: (_ORDER.index(phrase.pattern), _OLD not in phrase.source),
    )
)
"""All phrases in the order in which they are tried."""
_SCRIPTS = ("\u3400-\u9fff", "\u0400-\u04ff", "A-Za-z\u00c0-\u024f")
"""Han, Cyrillic, Latin: a phrase has words of the first of them that it has any letter of."""


def phrases_in_scripts_of(said: str) -> Iterator[Phrase]:
    """The phrases that a sentence can be, by the scripts that it is written in."""
    scripts = [script for script in _SCRIPTS if re.search(f"[{script}]", said)]
    return (phrase for phrase in ALL_PHRASES if _script(phrase.source) in scripts)


@functools.cache
def _script(source: str) -> str:
    return next(script for script in _SCRIPTS if re.search(f"[{script}]", source))


QUESTIONS = _compiled(
    # a question whose mark was left out, or a statement that turns into a request
    r"[?？]|吗[。！!]?$|(?:怎么说|什么意思|你推荐什么|怎么样|为什么)"
    r"|,_(?:what|which|how|could_you|can_you|should_i|do_you|is_it|isn't_it|right|что_|как_|можешь|"
    r"що_|чи_|можеш_|was_|kannst_du|"
    r"oder|qué_|puedes|verdad|quoi|peux-tu|tu_peux)\b[^,]*$"
    r"|\b(?:quoi|lol|haha+|jk)$|,_(?:he|she|they|the_\w+|my_\w+)_(?:says?|said|told_me)$"
)
"""What makes any sentence one that states nothing."""

MOMENTS = _compiled(
    r"\b(?:now|right_now|tonight|today|tomorrow|this_time|for_now|at_the_moment|сейчас|сегодня|"
    r"завтра|зараз|сьогодні|завтра|"
    r"heute|morgen_(?:früh|abend)|gerade|diesmal|hoy|mañana_por|ahora_mismo|esta_vez|maintenant|aujourd'hui|demain|"
    r"cette_fois)\b|今天|明天|这次|现在"
)
"""What makes a wish or a duty one of the moment."""

REQUESTS = _compiled(
    r"remember(?:_this|_that|:)|запомни|запам'ятай|merke?_dir|recuerda\b|souviens-toi|retiens\b|记住|記住"
)
"""How a request to remember begins: it is written down elsewhere."""

ABBREVIATIONS = frozenset(
    "dr mr mrs ms prof st no vs etc e.g i.e approx ca jr sr inc ltd tel "
    "г ул д т.д т.п т.е т.к им стр руб тыс напр вул тис грн і.т.д "
    "z.b d.h bzw usw nr str hr fr evtl ggf u.a sog inkl "
    "sra srta ud uds p.ej pág av núm mme mlle p.ex env".split()
)
"""Words whose full stop ends no sentence, without that stop, in lower case."""

EMPTY_WORDS = frozenset(
    "always never ever again actually no not please one ones that this these those it thing things rather instead just "
    "всегда никогда больше нет это этот эта эти тот та вот так просто то "
    "завжди ніколи більше ні це цей ця ці той та ось так просто те оцей "
    "immer nie niemals wieder nein nicht das dies diese dieser doch eigentlich "
    "siempre nunca jamás más no eso esto ese esa este esta aquello "
    "toujours jamais plus non pas ça cela ceci celui-là celui-ci ce cette".split()
)
"""Words that mean nothing outside of the talk, beyond the stop words of the index."""

EMPTY_HAN = frozenset("我你您他她它们的了是不这那个在也都就吧吗呢啊很太更最再永远总请")
"""The same for characters of Chinese."""

CALENDAR = _compiled(
    r"\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|january|february|march|april|june|july|"
    r"august|september|october|"
    r"november|december|januar|februar|märz|mai|juni|juli|oktober|dezember|понедельник\w*|"
    r"вторник\w*|сред[ауые]|четверг\w*|пятниц\w*|суббот\w*|воскресень\w*|понеділ\w+|"
    r"вівтор\w+|серед[ауи]|четвер\w*|п'ятниц\w+|субот\w+|неділ\w+|(?:mon|diens|donners|frei|sams|sonn)tags?|mittwochs?|"
    r"lunes|martes|miércoles|jueves|viernes|sábados?|domingos?|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|"
    r"января|февраля|марта|апреля|мая|июня|июля|августа|сентября|октября|ноября|декабря|січня|"
    r"лютого|березня|квітня|травня|"
    r"червня|липня|серпня|вересня|жовтня|листопада|грудня|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|"
    r"octubre|noviembre|diciembre|janvier|février|mars|avril|mai|juin|juillet|août|septembre|"
    r"octobre|novembre|décembre)\b"
    r"|[周星][期一二三四五六日天]"
)
"""Days and months that are written in lower case: they count as names."""

LEADING_WORDS = _compiled(
    r"(?:on|the|at|in|my|our|to|в|во|на|с|со|из|у|до|з|зі|із|am|den|dem|der|das|die|bei|um|beim|el|la|los|las|al|del|"
    r"le|les|du|chez|au|un|une)_+|(?:l'|d')"
)
"""What stands before the words that hold no longer and is not a part of them."""

TRAILING_DAY = re.compile(
    r"\s*\b(?:yesterday|today|now|recently|(?:last|this)\s(?:week|month|year|summer|winter)|for good|"
    r"вчера|сегодня|теперь|недавно|на прошлой неделе|в прошлом (?:году|месяце)|навсегда|"
    r"вчора|сьогодні|тепер|нещодавно|минулого (?:тижня|місяця|року)|"
    r"gestern|heute|jetzt|letzte(?:n|s)?\s(?:woche|monat|jahr)|ayer|hoy|ahora|la semana pasada|el (?:mes|año) pasado|"
    r"hier|aujourd['’]hui|maintenant|la semaine dernière|le mois dernier|l['’]an dernier)$",
    re.IGNORECASE,
)
"""When something became what it is now: no part of what it has become."""

TRAILING_TIME = _compiled(
    r"_+(?:in|im|в|у|en|since|last|seit|depuis|desde)_+(?:january|february|march|april|may|june|july|august|september|"
    r"october|november|december|januar|februar|märz|mai|juni|juli|oktober|dezember|(?:январ|феврал|"
    r"март|апрел|ма|июн|июл|"
    r"август|сентябр|октябр|ноябр|декабр|січн|лют|берез|квіт|трав|черв|лип|серп|верес|жовт|листопад|груд)\w{1,3}|enero|"
    r"febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre|janvier|"
    r"février|mars|avril|juin|"
    r"juillet|août|septembre|octobre|novembre|décembre|[12]\d{3})$|_+any_?more$"
)
"""When something came to an end: no part of the words that hold no longer."""
