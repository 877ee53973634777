"""Words that say opposite things, as far as one of a pair in a quote and the other in its fact tells."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memory.evidence.clauses import plain
from memory.evidence.lexicon import NEGATIVES
from memory.text.forms import comparable

if TYPE_CHECKING:
    from memory.text.languages import Language

_PAIRS = """
before/after until/since bought|buy\\w*/sold|sell\\w* start\\w*|began|begin\\w*/stop\\w*|quit\\w*|end\\w* more/less
older/younger taller/shorter bigger|larger/smaller faster/slower earlier/later early/late cheaper/expensive|dearer
morning\\w*/evening\\w*|night\\w* left\\w*|lefty/right\\w* hot/cold north\\w*/south\\w* east\\w*/west\\w*
married/divorced|single open\\w*/clos\\w* arriv\\w*/leav\\w*|left win\\w*|won/lose|lost|loses
lend\\w*|lent/borrow\\w* teach\\w*/learn\\w* always/never up/down with/without increas\\w*/decreas\\w*
gain\\w*/los\\w* first/last day/night upstairs/downstairs worse\\w*/help\\w*|better remote\\w*|home/office
love\\w*|like\\w*|enjoy\\w*|ador\\w*/hate\\w*|dislik\\w* informal\\w*/formal\\w* vegan\\w*|vegetarian\\w*/meat
до/после|післ\\w* перед/после|післ\\w* купил\\w*|купи\\w*/прода\\w*
нача\\w*|поча\\w*/заверш\\w*|закінч\\w*|бросил\\w*|перестал\\w* больше|більше/меньше|менше
старш\\w*/младш\\w*|молодш\\w* выше|вищ\\w*/ниже|нижч\\w*
утр\\w*|ранк\\w*|вранці/вечер\\w*|вечор\\w*|ввечері|увечері лев\\w*|лів\\w*/прав\\w* горяч\\w*|гаряч\\w*/холодн\\w*
раньше|раніше/позже|пізніше всегда|завжди/никогда|ніколи
женат\\w*|замужем|одружен\\w*/разведен\\w*|развел\\w*|розлуч\\w* быстре\\w*|швидш\\w*/медленн\\w*|повільн\\w*
дешевл\\w*|дешевш\\w*/дорож\\w* приех\\w*|приїх\\w*/уех\\w*|поїх\\w*
люб\\w*|обож\\w*|нравит\\w*|подоба\\w*/ненави\\w*|терпе\\w*|терпі\\w* темн\\w*/светл\\w*|світл\\w*
ок|можн\\w*/аллерг\\w*|алерг\\w* vor/nach gekauft|kauf\\w*/verkauf\\w*
angefangen|beginn\\w*|begonnen/aufgehört|aufhör\\w*|beend\\w* mehr/weniger älter\\w*/jünger\\w*
größer\\w*/kleiner\\w* morgens/abends links/rechts heiß\\w*|warm\\w*/kalt\\w* früher/später immer/nie
verheiratet/geschieden mit/ohne schneller/langsamer billiger/teurer lieb\\w*|mag|gern\\w*/hass\\w* hin/zurück
antes/después compr\\w*/vend\\w* empe\\w*|comenz\\w*|arranc\\w*/dej\\w*|termin\\w* más/menos mayor/menor
mañana/tarde|noche izquierda/derecha caliente/fr[íi]o siempre/nunca casad[oa]/divorciad[oa] con/sin alt[oa]/baj[oa]
encanta\\w*|gusta\\w*|ador\\w*/odi\\w* remot\\w*/oficina usted/tut\\w* avant/après achet\\w*/vend\\w*
commenc\\w*|inscri\\w*/arrêt\\w*|résili\\w* plus/moins aîné\\w*|âgé\\w*/cadet\\w*|jeune matin/soir gauche/droite
chaud\\w*/froid\\w* toujours/jamais marié\\w*/divorcé\\w* avec/sans
grande?s?(?!\\Wp[eè]r|\\Wm[eè]r|\\Wpar)/petite?s?(?!\\Wfil|\\Wenf|\\Wd[eé]j)
ador\\w*|aim\\w*/détest\\w*|sans mieux/pire
passed|pass/fail\\w* hired/fired upgrad\\w*/downgrad\\w* inside|indoors/outside|outdoors forg[eo]t\\w*/remember\\w*
allow\\w*|lets/forb\\w*|bans accept\\w*/refus\\w*|declin\\w*|reject\\w* joined|joins/left|leaves
сдал\\w*/завалил\\w*|провалил\\w* включ\\w*/отключ\\w*|выключ\\w* нанял\\w*/уволил\\w* снима\\w*/сда[её]\\w*
склав|склала|вступи\\w*/завали\\w*|провали\\w* вмика\\w*|ввімк\\w*/вимк\\w*|вимик\\w* винайма\\w*/зда[єю]\\w*
разреш\\w*|можно/запре[тщ]\\w*|нельзя дозвол\\w*|можна/заборон\\w*|нельзя внутри/снаружи всередині/надворі
bestand\\w*/durchgefallen eingestellt/entlassen|gekündigt mietet\\w*|mieten/vermiet\\w* drinnen/draußen
erlaub\\w*|darf/verbiet\\w*|verboten duz\\w*/siez\\w* erhöh\\w*/gesenkt|senk\\w*
gewonnen|gewinn\\w*/verloren|verlier\\w* abgesagt/zugesagt aprob\\w*/suspend\\w*|reprob\\w*
contrat\\w*/despid\\w*|despedi\\w* dentro/fuera gan[óoaé]\\w*/perd\\w* sub\\w*/baj\\w* permit\\w*/proh[ií]b\\w*
réussi\\w*/raté\\w*|échou\\w*|loupé\\w* embauch\\w*/licenci\\w*|viré\\w* dedans/dehors gagn\\w*/perd\\w*
tutoi\\w*/vouvo\\w* autoris\\w*|permet\\w*/interdi\\w* allum\\w*/ét[ei][ig]\\w* augment\\w*/baiss\\w*|diminu\\w*
"""
_OPPOSITES: tuple[tuple[re.Pattern[str], re.Pattern[str]], ...] = tuple(
    (re.compile(rf"\b(?:{one})\b"), re.compile(rf"\b(?:{other})\b"))
    for one, other in (pair.split("/") for pair in _PAIRS.split())
)
_PAIRS_HAN = tuple(
    tuple(pair.split("/"))
    for pair in (
        "买/卖 買/賣 之前/之后 早上/晚上 左/右 热/冷 喜欢/讨厌 喜歡/討厭 开始/停止 "
        "哥哥/弟弟 姐姐/妹妹 结婚/离婚 增加/减少 涨/跌 升/降 允许/禁止 及格/挂科 简体/繁体"
    ).split()
)


def is_opposite(text: str, language: Language, clause: str, said_in: Language) -> bool:
    """Whether one says "before" or "loves" where the other says "after" or "hates", and neither denies it."""
    if NEGATIVES[language].search(plain(text)) or NEGATIVES[said_in].search(plain(clause)):
        return False  # "does not like" is "hates"
    fact, said = " ".join(comparable(text)), " ".join(comparable(clause))
    for one, other in _OPPOSITES:
        for mine, theirs in ((one, other), (other, one)):
            if mine.search(fact) and theirs.search(said) and not theirs.search(fact) and not mine.search(said):
                return True
    return any(
        (a in text and b in clause and b not in text and a not in clause)
        or (b in text and a in clause and a not in text and b not in clause)
        for a, b in _PAIRS_HAN
    )
