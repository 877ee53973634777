"""The few words that code must know to hold a fact against a quote: who speaks, what turns a statement round.

What is not here is not judged: the tables may miss a difference, they hardly ever make one.
"""

from __future__ import annotations

import re

USER = re.compile(
    r"\W*(?:(?:the|this|der|die|den|dem|des|el|la|al|del|le|lo|l['’]|o|a|d['’]|du|un|eine?)\s*)?"
    r"(?:user|users|human|nutzer(?:in|s)?|benutzer(?:in|s)?|anwender(?:in|s)?|(?:persona )?usuari[oa]|pessoa usuária|"
    r"utilisat(?:eur|rice)|utente|utilizador(?:a)?|usuári[oa]|"
    r"użytkownik(?:a|owi|czka)?|пользовател\w*|юзер\w*|користувач\w*|用户|使用者|用戶|ユーザー)",
    re.IGNORECASE,
)
"""How a fact names who it is about, where that is the user."""
POSSESSIVE = re.compile(r"['’]s?\b|的|の")
"""What follows where it is about something of theirs."""


NEGATIVE = re.compile(
    r"\b(?:no|not|never|none|nothing|nobody|without|cannot|cant|dont|doesnt|didnt|isnt|arent|wasnt|werent|wont|"
    r"wouldnt|"
    r"shouldnt|couldnt|hasnt|havent|hadnt|aint|hardly|barely|neither|nor|non|unable|"
    r"не|нет|неа|нельзя|никогда|без|ни|ничего|никак\w*|ніяк\w*|ні|немає|нема|ніколи|нічого|жодн\w*|"
    r"nicht|nich|nich|ned|net|nix|kein\w*|nie|niemals|ohne|nichts|weder|nimmer|"
    r"nunca|jamás|sin|nada|tampoco|ningun[oa]?|ningún|ni|"
    r"ne|pas|jamais|sans|rien|aucun\w*|"
    r"senza|não|sem|bez|nigdy)\b|(?<!有)[不没沒無无](?!过|過)|[别別]|未|ない|ません"
)
"""What negates, in comparable text (lower case, without apostrophes)."""
IDLE_NEGATIVE = re.compile(
    r"(.)不\1|有没有|有沒有|不过|不過|不错|不錯|\bn(?:e)? ?(?:que|qu)\b|"
    r"\bwhy not\b|\bnot only\b|\bnicht nur\b|\bне только\b|"
    r"\bне тільки\b|\bno solo\b|\bpas seulement\b"
)
"""What looks like a negation and is none."""
CONTRAST = re.compile(
    r"(?:[,(]\s*|\b(?:and|und|et|y|e|а|та|и|і|sino|sondern|but|aber|mais|но|але)\s+)"
    r"(?:\b(?:and|und|et|y|e|а|та|и|і)\s+)?\b(?:not|nicht|nich|non|pas|не|no|rather than|instead of)\b\s[^,.;]*|"
    r"[，,]?\s*不是[^，。]*",
    re.IGNORECASE,
)
"""What sets off the right thing from the wrong one at the end: `on Tuesday, not on Monday`."""
AVERSE = re.compile(
    r"\b(?:hat(?:e|es|ed|ing)|dislik\w*|avoid\w*|detest\w*|loath\w*|refus\w*|allerg\w*|intoleran\w*|quit\w*|"
    r"stop(?:s|ped)?|gave up|giv\w* up|"
    r"sold|sell\w*|lost|former\w*|used to|ex|anymore|cancel\w*|broke up|split up|separat\w*|scared|afraid|fear\w*|"
    r"can ?t stand|sick of|over it|ditch\w*|dropp\w*|fail\w*|ineffective|"
    r"ненави\w*|терпеть|избега\w*|аллерг\w*|алерг\w*|непереносим\w*|бросил\w*|перестал\w*|прода[лнвмж]\w*|бывш\w*|"
    r"раньше|колишн\w*|раніше|ушел|ушла|уволил\w*|расстал\w*|боит\w*|боюсь|боялс\w*|завалил\w*|"
    r"ненавид\w*|терпіти|уника\w*|кинув|кинула|покину\w*|припини\w*|перестав|перестала|отказал\w*|відмов\w*|"
    r"боїться|пішов з|пішла з|звільни\w*|розійш\w*|завалив|завалила|"
    r"hass\w*|meid\w*|unverträg\w*|aufgehört|aufhör\w*|verkauf\w*|ehemalig\w*|früher|verlor\w*|verlassen|angst|"
    r"gekündigt|getrennt|"
    r"odi[oa]\w*|evit\w*|alérg\w*|alerg\w*|dejé|dejó|dejar|dej[oa]|vend\w*|perd\w*|miedo|rechaz\w*|renunci\w*|"
    r"cort[aé]mos|separ\w*|"
    r"déteste\w*|évit\w*|arrêt\w*|vendu\w*|vend|ancien\w*|quitt\w*|peur|perdu\w*|démissionn\w*|plaqué\w*|résili\w*|"
    r"smess\w*|vendut\w*|parei|deixei|vendi|nienawidz\w*|rzuci\w*|"
    r"sprzeda\w*)\b|讨厌|討厭|讨嫌|恨|过敏|過敏|戒|卖|賣|以前|曾经|前任|"
    r"害怕|怕|不再|离开|離開|停|放弃|放棄|辞职|離職|嫌い|アレルギー|やめ|売"
)
"""What turns a liking, a having or a doing round without a negation, in comparable text."""

_OPPOSITES = """
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
chaud\\w*/froid\\w* toujours/jamais marié\\w*/divorcé\\w* avec/sans grand\\w*/petit\\w*
ador\\w*|aim\\w*/détest\\w*|sans mieux/pire
"""
OPPOSITES: tuple[tuple[re.Pattern[str], re.Pattern[str]], ...] = tuple(
    (re.compile(rf"\b(?:{one})\b"), re.compile(rf"\b(?:{other})\b"))
    for one, other in (pair.split("/") for pair in _OPPOSITES.split())
)
"""Words of which a quote holding one and a fact holding the other say opposite things."""
OPPOSITES_HAN = tuple(
    tuple(pair.split("/"))
    for pair in (
        "买/卖 買/賣 之前/之后 早上/晚上 左/右 热/冷 喜欢/讨厌 喜歡/討厭 开始/停止 "
        "哥哥/弟弟 姐姐/妹妹 结婚/离婚 增加/减少"
    ).split()
)

_FROM = "from|out of|von|aus|из|с|со|від|з|із|зі|de|desde|des|du|dalla?|z|od"
_TO = "to|into|for|nach|zu|auf|в|на|до|у|к|a|al|hacia|à|au|vers|en|do|pour|para"
ROUTE = re.compile(
    rf"\b(?:{_FROM})\s+(?:(?:the|der|die|el|la|le|"
    rf"l)\s+)?(?P<a>[\w'’-]+)(?:\s+[\w'’-]+){{0,2}}?\s+(?:{_TO})\s+(?:(?:the|der|die|el|la|le|"
    rf"l['’]?)\s*)?(?P<b>[\w'’-]+)"
    r"|从(?P<c>\w{1,6}?)(?:搬|去|到|换|调)\w?到?(?P<d>\w{2,4})|(?P<e>\w{2,8})から(?P<f>\w{2,8}?)(?:に|へ|側)"
)
"""A way from one thing to another."""
RATHER = re.compile(
    r"(?P<a>[\w'’.-]+)\s+(?:statt|instead of|rather than|вместо|замість|en vez de|au lieu de|mejor que|mieux que|"
    r"better than|\w+er than|lieber als)\s+(?:\w+\s)?(?P<b>[\w'’.-]+)",
    re.IGNORECASE,
)
"""One thing before another, in choices and comparisons."""

CLAUSES = re.compile(
    r"[,;:.!?\n(){}\[\]，。！？；、…]+|\s[-–—]+\s|"
    r"\b(?:and|but|while|whereas|because|cause|so|since|though|tho|n|"
    r"und|aber|während|weil|denn|also|sondern|и|а|но|потому|поэтому|та|але|і|бо|тому|y|pero|mientras|porque|que|"
    r"así|asi|"
    r"et|mais|tandis|donc|car|parce|pis)\b|而|但是?|不过|因为|所以",
    re.IGNORECASE,
)
"""Where one statement ends and the next begins."""
