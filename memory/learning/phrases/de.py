"""German: in which words a wish, a rule, a correction or a change is stated; grammar.py tells how to read it."""

from memory.learning.phrases.grammar import phrases

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
PHRASES = phrases(
    r"""
    change (?:ich_bin|wir_sind)_(?:(?:vor_kurzem|kürzlich|gerade|jetzt|neulich|inzwischen)_)?von_{old}_nach
        _[^,]{2,40}?_?(?:um)?gezogen
    change (?:ich_bin|wir_sind)_(?:(?:vor_kurzem|kürzlich|gerade|jetzt|neulich|inzwischen)_)?(?:nach|in_die)
        _[^,]{2,40}?_?(?:um)?gezogen
    change (?:ich_bin|wir_sind)_[^,]{0,20}?_?von_{old}_(?:auf|zu)_[^,]{2,40}?_(?:umgestiegen|gewechselt|umgezogen)
    change (?:mein|unser)\w*_[^,]{2,40}?_hat_sich_von_{old}_(?:auf|in|zu)_[^,]{2,40}?_geändert
    change (?:ich|wir)_(?!bin|sind|kann|können|weiß|wissen|will|wollen|mag|verstehe|glaube|denke|habe_keine|werde
        |möchte|sehe|möchten|erinnere|muss|brauche|hab)\w+_(?:hier_)?keine?n?_{old}_mehr{end}
    change (?:ich|wir)_(?!bin|sind|kann|können|weiß|wissen|will|wollen|mag|verstehe|glaube|denke|habe|werde|möchte
        |sehe|möchten|erinnere|muss|brauche|hab)\w+_nicht_mehr_(?:(?:bei|in|mit|für|im|am|als)_)?{old}{end}
    change (?:ich|wir)_(?!bin|sind|kann|können|weiß|wissen|will|wollen|mag|verstehe|glaube|denke|habe|werde|möchte
        |sehe|möchten|erinnere|muss|brauche|hab)\w+_{old}_nicht_mehr{end}
    change (?:ich_habe|wir_haben)_(?:im_\w+_|vor_\w+_\w+_|letzt\w+_\w+_)?(?:endlich_)?(?:mit_)?(?:dem_|der_)?{old}
        _aufgehört
    change früher_{old},?_(?:aber_)?(?:jetzt|heute|nun|inzwischen)\b
    change (?:wir_haben|ich_habe)_{old}_(?:durch|gegen)_[^,]{2,40}?_(?:ersetzt|getauscht|ausgetauscht)
    change (?:ich|wir|mein\w*_\w+|unser\w*_\w+)_(?:heißt?e?n?|ist|sind|wohne|arbeite)_jetzt_[^,]{2,40}?_(?:statt
        |anstatt|und_nicht_mehr)_{old}{end}
    change* (?:mein|unser)\w*_[^,]{2,40}?_(?:ist|sind|heißt)_nicht_mehr_{old},_sondern_\w
    constraint du_(?:musst|sollst)_(?:immer_|stets_|niemals_|nie_|nicht_)?[^,!?]{2,80}?{infinitive}\b
    constraint du_darfst_[^,!?]{0,80}?(?:nicht|nie|niemals|keine?n?)\b[^,!?]{2,60}?{infinitive}\b
    constraint (?:(?:alle|sämtliche|deine|die|meine|jede[rs]?)_)?(?:\w+_)?{things}_(?:müssen|muss|dürfen|darf|sollen
        _immer)_\w
    constraint (?:{imperative}_[^!?]{0,60}?)?(?:auf_(?:gar_)?keinen_fall|keinesfalls|unter_(?:gar_)?keinen
        _umständen)_\w
    constraint [^,!?]{2,80}?_(?:ist|sind)_(?:immer_|stets_)?[^,!?]{0,50}?(?:erforderlich|pflicht|verpflichtend
        |vorgeschrieben)
    constraint {imperative}_(?:mein\w*|mir)_[^!?]{2,60}?_niemals_\w
    rule {imperative}_(?:(?:mich|mir|uns|bitte|dich|dabei|also|dann)_){0,2}(?:[^,!?]{2,40}?_)?(?:{never}(?!\W*$)
        |{now}|nicht_mehr)\b
    rule {now},?_(?!(?:werde|will|möchte|gehe|bin|habe|wird|gibt|sind)\b)\w
    rule {never}_(?!gern|noch|schon|mehr$)[^!?]{2,90}?\b{infinitive}(?:_bitte)?\W*$
    rule (?:wenn|jedes_mal,?_wenn|immer_wenn)_(?:du|ich)_[^!?]{3,80}?,?_(?:bitte_(?:immer|nie|nur|stets)|(?:dann
        _)?{imperative}_[^!?]{0,40}\b(?:immer|nie|stets))\b
    preference (?:ich|wir)_(?:(?:persönlich|generell|allgemein|wirklich|auch)_)?(?:bevorzugen?|mag|mögen|lieben?
        |hassen?|verabscheuen?|genießen?)(?:_(?:sehr|wirklich|total|eher|lieber|besonders|überhaupt|auch|einfach|am
        _liebsten))?{passing}_+\w
    preference (?:ich|wir)_(?!würde|möchte|nehme|hätte|weiß|wüsste|glaube|komme|gehe_jetzt|mache_das|wollte|mag
        _das)\w+_(?:lieber|am_liebsten|(?:sehr_|nicht_|nicht_so_)?gerne?){passing}_+\w
    preference (?!würde|möchte|hätte|weiß|wüsste|nehme|kann|darf)\w+e_ich_(?:(?:sehr|nicht|auch|viel)_)?(?:gerne?
        |lieber|am_liebsten)_\w
    preference (?:mir|uns)_(?:ist|sind|gefällt|gefallen|schmeckt|schmecken){passing}_[^!?]{2,80}?_(?:lieber|besser
        |wichtig|nicht|am_besten)\b
    preference mein\w*_liebling\w+_\w
    preference ich_(?:kann|ertrage)_[^!?]{2,80}?_nicht_(?:ausstehen|leiden|ertragen|ab)\b
    preference (?!das|dies|es|wenn|ob|dass|was|wie|wen|dich|ihn|sie|er|wir)[\w-]+(?:_[\w-]+){0,3}_(?:liebe|hasse|mag
        |bevorzuge)_ich_
    correction* (?:nein|nee|ne|falsch)[,.:!]?_+{said}\w*
    correction* (?:eigentlich|tatsächlich|genauer_gesagt)[,.]?_+{said}\w*
    correction* (?:nein[,.]?_)?(?:es_ist_|das_ist_)?nicht_(?!nur|bloß|so\b|das\b|dies)(?:(?:am|im|in|um|bei|den|der
        |die)_)?{old},?_sondern_(?!auch|dies|das\b|jen)[^,]{2,50}$
    correction* (?:nein[,.]?_)?(?:ich_(?:meinte|sagte|meine)|(?:sie|er|es)_(?:heißt|ist)|(?:mein|unser)\w*
        _[^,]{2,30}?_(?:heißt|ist))_[^,]{2,60}?,_(?:und_)?nicht_{old}{end}
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
