"""German: in which words people state what is to be kept; grammar.py tells how to read it."""

from memory.capture.phrases.grammar import table

WORDS = r"""
    stems antwort|schreib|verwend|benutz|nutz|nenn|sag|frag|gib|geb|zeig|füg|mach|erwähn|schick|send|rechn|übersetz|
        duz|siez|sprich|sprech|red|erklär|nimm|nehm|setz|stell|beginn|fang|hör|prüf|lösch|speicher|erinner|zitier|
        verlink|formatier|kürz|halt|vermeid|ruf|fass|teil|rund|ergänz|beend|end|nummerier|sortier|bezeichn|wiederhol|
        entschuldig|lob|warn|empfiehl|empfehl|schlag|ersetz|markier|veröffentlich|verrat|verrät|behandel|weitergeb|
        weitergib|angeb|hinzufüg|nachfrag|weiterleit|leit|lass|änder|buch|bestell|mitteil|offenleg|denk|geh|bring|pack|
        verzicht|lies|les|plan|leg|trag|streich|speicher|push|commit|deploy|log|starte|verschick|tu|komm|zähl|
        berücksichtig|beachte?|wähl
    imperative (?:{stems})(?:e|en_sie|est|st|t)?
    infinitive (?:(?:an|ab|auf|aus|ein|hinzu|mit|nach|vor|weiter|zurück|zu)(?:zu)?)?(?:{stems})e?l?r?n
    now (?:ab_jetzt|ab_sofort|ab_heute|von_(?:nun|jetzt)_an|künftig|zukünftig|in_zukunft|fortan|für_die_zukunft)
    never (?:immer|stets|grundsätzlich|niemals|nie|nie_wieder|nie_mehr)
    passing (?!_+(?:(?:die|das|den|der|dein\w*|dies\w*)_(?:erste|zweite|dritte|letzte|andere|idee|art|option)\w*|dich|
        euch|es$|es_(?:sehr|nicht$)|dies\w*|das\b(?!_\w)|dein\w*|nicht_mehr|wie|ihn|sie\b|option)\b)
    things (?:antwort(?:en)?|preise?|daten|datum|texte?|nachrichten?|berichte?|einheiten|rezepte?|e?-?mails?|
        übersetzung(?:en)?|listen?|überschriften|code|namen|summen?|beträge|zahlen|notizen|zitate?|quellen|tests?|
        dokumente|zusammenfassung(?:en)?)
    said (?:(?:sie|er|es|ich)_+heißt?e?_|heißt_(?:sie|er|es|mein\w*)_|heiße_ich_|(?:mein|unser|sein|ihr)\w*
        _[^,]{2,40}?_(?:heißt|ist)_(?!nicht|gut|egal|schon)|ich_+(?:wohne|arbeite|lebe|komme_aus|studiere)_|(?:wohne|
        arbeite|lebe)_ich_|(?:hat|habe)_(?:ich|sie|er|mein\w*_\w+)_[^,]{2,40}?_geburtstag)
    ask (?P<ask>(?:kannst|könntest|würdest|magst|willst|können|könnten|würden)_(?:du|sie)_(?:bitte_)?|(?:ich_(?:möchte|
        will|hätte_gern\w*|wünsche_mir|bitte_(?:dich|sie)),?_(?:dass_(?:du|sie)_)?)|(?:du|sie)_(?:sollst|solltest|
        sollten)_)?(?:(?:mir|mich|uns|das|die|den)_){0,2}(?:bitte_)?
    lasting (?:\w*allergi\w+|\w*intoleran\w*|vegan\w*|vegetarier\w*|vegetarisch|diabetiker\w*|asthmatiker\w*|zöliakie|
        linkshänder\w*|rechtshänder\w*|farbenblind|blind|taub|gehörlos|schwerhörig|legasthenik\w+|schwanger|
        verheiratet|geschieden|ledig|verwitwet|verlobt|selbstständig|selbständig|arbeitslos|freiberuf\w+|rentner\w*|
        pensioniert|pensionär\w*|student\w*|azubi|schüler\w*|muslim\w*|jüdisch|christ\w*|katholisch|evangelisch|
        atheist\w*|trocken|single|alleinerziehend\w*|mutter|vater|oma|opa|krankenschwester|krankenpfleger|pfleger\w*|
        arzt|ärztin|lehrer\w*|\d{1,3}(?!_(?:minuten|sekunden|stunden|%|prozent))|aus_(?!dem_haus|versehen)|gelernte\w*|
        beruflich|nachteule|frühaufsteher\w*|(?:von_beruf_)?(?:eine?_)?(?!opfer|feuer|sicher|lieber|immer|wieder|sauer|
        locker|munter|leer|länger|später|früher|weiter|hinter|unter|über|dauer|heiser|außer)\w{3,}(?:er|erin|ist|istin|
        ant|antin|ent|entin|eur|eurin|or|orin|oge|ogin|frau|mann|kraft)(?!\w)|(?:ein|eine)_(?!bisschen|idiot|wenig|fan|
        paar)|hier_in|geboren|in_(?:elternzeit|rente|ausbildung)|auf_(?:\w+_)?\w+diät)
    fleeting (?:\w+_zug|\w+_flug|\w+_bus|frage|problem|idee|termin|kopfschmerz\w*|fieber|schnupfen|hunger|durst|lust|
        zeit|angst|keine_(?:ahnung|zeit|lust|idee|frage)|meeting|besprechung|fehler|bug|moment|minute|bock|gerade|
        heute|kurz|eben|mal\b|schon|noch|gehört|gesehen|gelesen|vergessen|versucht|gemacht|gedacht|\w*termin|
        \w*prüfung|dich|ihn|sie_|das_|es_|recht|gesagt|bitte|vorschlag|wunsch)
    np (?:(?:der|die|das|den|dem|mein|meine|unser|unsere|sein|seine|ihr|ihre|deine?)_(?:[\w/-]+_){1,4}?)
    vague (?!(?:nicht|kein\w*|gut|okay|ok|schön|super|toll|egal|schon|noch|immer|so|zu|sehr|richtig|falsch|kaputt|
        besser|schlecht|da|hier|weg|nur|auch|ja|eigentlich|echt|ganz|mega|voll|klar|nett|lustig|fertig|müde|krank|
        wichtig|cool|hart|schwer|leicht|wahr|was|wie|wo|warum|dass|das|dein|deine|mir|dir|ihm|ihr|ihnen|eine?_(?:gute|
        schlechte|tolle|super|frage|bisschen))(?!\w))
    is (?:ist|is|sind|heißt|läuft|liegt|beginnt|fängt|startet|endet|kostet|wohnt|arbeitet|hat|lautet|findet|steht|
        kommt|geht|hört|hat)
    nobody (?:niemand|keiner)
    may (?:hat_zu)
    settled (?:(?:das_)?(?:ist_)?(?:entschieden|beschlossen|fix|abgemacht))
    without (?:keine?n?|nie(?:mals)?(?:_mit)?|ohne)
    always (?:immer|nie|niemals|bitte)
    must (?:müssen|muss|dürfen|darf|sollen|soll)
    lastingly (?:immer|stets|nie|niemals|nur|ausschließlich)
    whom (?:ich|du|wir|er|sie|es|man|das|dies|ihr|wer|was|wo|wie|wenn|ob|dass)
    it (?:es_ist|das_ist|es|ist)
    articles (?:der|die|das|den|dem|am|im|um|bei|in)
    in (?:in|im|bei[nm]?|für|auf|zu[mr]?)
    no nicht
    beg (?P<ask>ich_(?:bitte|ersuche)_(?:sie|dich)(?:_darum)?,?_|ich_wäre_(?:ihnen|dir)_dankbar,?_wenn_(?:sie|du)_)
    manner (?:ohne|mich_mit|kein\w*)
    inf (?:[\w-]+_){0,4}?\w+en
    only nur
    ever (?<!wie\s)immer
    situation (?:wenn|immer_wenn|falls|sobald)_ich_(?:dir_|dich_|euch_|ihnen_|nach_)?(?:\w+_){0,4}?(?:schick\w*|
        frag\w*|schreib\w*|geb\w*|sag\w*|zeig\w*|bitte\w*|poste\w*|teile\w*|erwähn\w*|will|möchte|brauch\w*)
    asking (?:kannst|könntest|hast|ist|sind|bin|soll|muss|darf|würd\w*|wär\w*)
    nothing (?:(?:keine?n?|keinem)_(?!ahnung|sorge|lust|zeit|idee|angst|panik|problem|frage|eile|chance|bock|mensch|
        sau|wunder|stress|ding|plan|grund|wetter)[\w-]+|nichts_(?:geht|kommt|darf|wird|verlässt|läuft))
    moving (?:(?:ich|wir)_)?(?:bin|sind|habe?n?|hab)_(?!ich)(?:\w+_){0,4}?(?:umgezogen|gewechselt|gekündigt|verkauft|
        getrennt|ausgezogen|eingezogen|aufgehört|angefangen)
    nowadays (?:jetzt|inzwischen|mittlerweile|neuerdings|nun)
    being (?:(?:ich|wir)_(?:wohne?n?|lebe?n?|arbeite?n?|studiere?n?|nutze?n?|bin|sind|fahre?n?|mache?n?)_(?:jetzt|
        inzwischen|mittlerweile|nun|neuerdings)_(?:in|bei|als|mit|an)_(?-i:[A-ZÄÖÜ])|(?:wohne|arbeite|lebe|studiere|
        wohnen|leben|arbeiten|bin|sind)_(?:ich_|wir_)?(?:jetzt|inzwischen|mittlerweile)_(?:in|bei|als|mit|an)_)
    taste (?:(?:ist|sind|is|war_noch_nie)_(?:einfach_|echt_|so_)?(?:gar_)?(?:nicht_mein_\w+|nichts_für_mich|nix_für
        _mich|nicht_so_mein_\w+|mir_(?:zu_\w+|lieber|wichtig))|kann_ich_(?:gar_|überhaupt_)?(?:nichts_anfangen|nicht
        _(?:ab|leiden|ausstehen|brauchen|haben))|(?:nichts|nix)_für_mich|(?:mag|ess|trink|les|hör|nehm|vertrag)e?_ich
        _(?:gar_|überhaupt_|lieber|am_liebsten|nicht|gern\w*|null|kein\w*)|geht_(?:für_mich_)?gar_nicht|nerv(?:t|en)
        _mich|reicht_mir|liegt_mir_(?:mehr|nicht|gar_nicht)|find_?e?_ich_(?:furchtbar|schrecklich|grässlich|eklig)|ist
        _mir_(?:lieber|zu_\w+)|lass_mal_(?:die|das|den)_\w+_weg|nein_danke|bin_ich_kein_fan)
    rather (?:lieber|am_liebsten|hauptsache)_(?!nicht$|morgen|doch|ich|heute|später|so\b)
    decided (?:(?:wir|ich)_(?:nehmen|nehme|machen|fahren|fliegen|heiraten|bleiben|behalten|ziehen|kaufen|streichen)
        _(?:jetzt_|nun_|doch_|definitiv_){1,2}(?:die|den|das|nach|im|in|bei|am|zu)|(?:hat|haben|hab|habe)_(?:sich_|uns
        _|wir_|ich_|mich_)?(?:[\w-]+_){0,6}?(?:beschlossen|entschieden|geeinigt|abgemacht)(?!_noch))
    called (?:\w+_)?(?:hund|katze|kater|sohn|tochter|mann|frau|chef\w*|nachbar\w*|freund\w*|schwester|bruder|mutter|
        vater|oma|opa|firma|projekt|verein|band|baby|lehrer\w*|arzt|ärztin|die|der|(?:der|die|das|mein\w*|unser\w*)
        _\w+)_(?:heißt|heißen|nennt_sich)
    kin (?:mein\w*|unser\w*)_(?:[\w-]+_){0,2}?[\w-]+(?<!kopf)(?<!rücken)(?<!handy)(?<!magen)
    lives (?:(?:ist|sind|is|war)_(?!heute|kaputt|nicht|gut|toll|weg|gerade|grad|müde|krank|so\b|sehr|echt|total|leer|
        voll|sauer|super|da\b|zu\b|der_beste|schon|noch|wieder|nur|gegen_mich)(?:\w+_)?\w+(?:er|in|ist|ant|ent|eur|
        allergisch|tolerant|isch|et|ent|t)|arbeitet|wohnt|lebt|kommt_aus|stammt|studiert|geht_(?:in|auf|zur)|spricht|
        hat_(?:eine?n?|am|im|zwei|drei|kein\w*|parkinson|diabetes|pflege\w*)_?|(?:isst|trinkt)(?!_(?:lieber|gern|am
        _liebsten))|verträgt|spielt|trainiert|unterrichtet|fährt|braucht_(?:eine?n?)|lassen_nach|wird_\d+|steht_\w+_am)
    our unser\w*
    label (?:(?:\w+_)?(?:\w*regel|vorgabe|konvention)(?:_(?:für|in|bei)_\w+(?:_\w+){0,2})?)
    from_when (?:seit|ab)_(?!heute|gestern|jetzt|stunden|eben)(?:[\w.-]+_){0,2}?[\w-]+
    be (?:ist|sind|is|hat)_
    could (?P<ask>(?:kannst|könntest|würdest|magst|können|könnten|würden)_(?:du|sie)_)
    this (?:das|es|dies\w*|hier|da|dich|dir|ihn|sie|ihm|ihnen|dein\w*|noch|mehr|so)
    restrict (?:nur|ausschließlich|kein\w+|nie(?:mals)?(?!_(?:gesagt|gehört|gesehen|wieder))|grundsätzlich)
    first (?!(?:[\w-]+_){0,4}?(?:wollte|hatte|war|habe?|bin|dachte|konnte|sollte|musste)(?!\w))(?:ich_\w+e?|wir_\w+en|
        (?:[\w-]+_){1,4}?\w+_(?:ich|wir)|\w+e_ich)
    habit (?:seit_(?:de[mr]|sein\w*|ihr\w*|mein\w*)_\w+|(?:mon|diens|donners|frei|sams|sonn)tags|mittwochs|jede[ns]?
        _(?:zweite\w?_|dritte\w?_)?(?:tag|morgen|abend|mittag|woche|monat|jahr|nacht|sommer|winter|\w+tag|mittwoch|
        wochenende)|werktags|wochentags|am_wochenende_immer|(?:einmal|zweimal|dreimal|\d_?mal|mehrmals)_(?:pro|die|im|
        in_der)_(?:woche|monat|jahr|tag)|seit_(?:\w+_)?(?:jahren|monaten|\d{4}|kindheit|geburt)|morgens|abends|nachts|
        meistens|normalerweise)
    me (?:ich|wir|bin|hab|habe|arbeite?|mein\w*|unser\w*)
    self (?:(?:ich|wir)_(?:bin|sind|habe?n?|hab|lerne?n?|mache?n?|spiele?n?|betreue?n?|leite|führe|besitze?n?|
        schreibe?_(?:an|immer)|baue?n?|züchte?n?|verkaufe?n?|unterrichte?n?|engagiere|halte?n?|fahre?n?|pendle|
        betreibe?n?|sammle?n?|trainiere?n?|arbeite?n?|wohne?n?|lebe?n?|esse?n?|trinke?n?)|(?:bin|hab|habe|lern|lerne|
        arbeite?|wohne?|lebe?|studiere?|spiele?|komme?|sammle?|mache?|fahre?|züchte|trainiere?)_(?:ja_|halt_|übrigens_|
        ich_|wir_)?(?!gleich|gerade|grad|heute|schon|noch|auch_da|zu|so|nicht|wieder|kein)(?:ne|nen|n|eine?n?|die|der|
        das|im|in|bei|für|aus|mit|seit|als|an|am|zwei|drei|vier|\d+|mutter|vater|\w+(?:er|in|ist|ant|ent|eur|mann|
        frau))(?!\w))
    place (?:in|im|bei|beim|auf|für|als|aus|mit|seit)
    never_do (?:(?:ich|wir)_(?:esse?|essen|trinke?|trinken|rauche?|fahre?|vertrage?|vertragen|benutze?|nutze?|höre?|
        sehe?|schreibe?|besitze?|koche?)_(?:\w+_){0,3}?(?:kein\w*|nie|nicht|null|weder)_?(?!mehr_(?:weiter|lange)|
        gerade|zeit|lust|ahnung|frage|idee|bock)|\w+_(?:vertrag|ess|trink|nehm|benutz|mach|brauch)e?_ich_(?:nicht|nie|
        null|kein\w*))
    have (?:ich|wir)?_?(?:hab|habe|haben)_(?:ja_|auch_|halt_|übrigens_)?(?:ne|nen|n|eine?n?|zwei|drei|vier|\d+)_(?:\w+
        _)?(?:katze\w*|hund\w*|kater|kind\w*|sohn|töchter|tochter|söhne|jungs|mädchen|pferd\w*|kaninchen|hühner|garten|
        balkon|allergie|\w+allergie|behinderung|herzschrittmacher|enkel\w*|brüder|schwestern|zwillinge|auto|e-?bike|
        schrebergarten)
"""
AROUND = r"""
    openers (?:(?:hiermit_)?teile?_ich_(?:ihnen_|dir_)?mit,?_dass|bitte|hallo|hi|hey|ey|moin|servus|du|also|ja|und|
        aber|ach|übrigens|ehrlich_gesagt|persönlich|sorry|entschuldigung|grundsätzlich|nur_zur_info|zur_info|nur_damit
        _du_es_weißt|noch_was|danke|okay|ok|gut|so|äh+|ähm+|hm+|lol|haha\w*|naja|tja|na|mensch|alter|digga|junge|leute|
        stimmt|genau|achso|oh|(?:nur_)?(?:damit_(?:du|ihr)_bescheid_(?:weißt|wisst))[,_]*|(?:kurze_)?(?:info|anmerkung|
        hinweis)(?=:)|zur_erinnerung|für_die_zukunft(?=:)|ich_(?:wollte|möchte|muss)_(?:dir_|noch_|nur_){0,3}(?:sagen|
        erwähnen),?_dass|wichtig(?=:)|guten_(?:morgen|tag|abend)|liebe[rs]?_\w+|denn|weil|da|deshalb|daher|außerdem|ps|
        p\.s\.|btw|du_solltest_wissen,?_dass|dazu)(?!\w)
    marks (?:n+ei+n+|nee+|nö|ne(?=,|_warte|_moment)|falsch|eigentlich|tatsächlich|genauer_gesagt|stopp?|moment(?=,|
        _mal)|halt(?=,)|warte|korrektur|berichtigung|quatsch|das_(?:stimmt_(?:so_)?nicht|ist_(?:falsch|nicht_richtig))|
        du_(?:irrst_dich|liegst_falsch|verwechselst_\w+)|stimmt_nicht|tippfehler|verschrieben|(?:da_)?(?:habe?_ich|
        hab)_mich_(?:vertan|verschrieben|vertippt))(?!\w)
    joins (?:und|aber|oder|weil|denn|da|also|sonst|übrigens|außerdem|ach|deshalb)(?!\w)
    closers (?:bitte|danke|okay|ok|lol|haha\w*|übrigens|oder_so|nur_zur_info|vielen_dank|digga|alter|gell|(?<=,_)(?:ne|
        ja)|wenn_möglich|falls_möglich|danke_dir|merci|mfg|lg|berücksichtig\w+_sie_das_bitte|xd)(?!\w)
    courtesies bitte
    fillers übrigens|digga|lol
    requests (?:(?:jetzt_)?(?:wollt|möcht)e?_ich_(?:mal_)?fragen|(?:kannst|könntest|würdest|magst|weißt|hast|willst|
        machst|gibst)_du|(?:können|könnten|würden)_sie|was_(?:soll|kann|meinst|ist|kostet|gibt|hältst|koche|mache)|wie
        _(?:spät|viel|lange|kann|soll|geht|macht|ist|wird|isses)|wo_(?:kann|gibt|ist|finde)|wann_(?:ist|kommt|geht|
        muss)|warum|wieso|welche[rsn]?|wer_(?:ist|hat)|hast_du|gibt_es|gibts|irgendwelche|(?:such|schreib|zeig|gib|
        erklär|übersetz|hilf|nenn|sag|mach|erzähl|empfiehl|schau|prüf|finde?|plan|rechne?)_(?:mir|mal|doch|bitte|noch|
        uns|das|eine?n?)|hilf|ich_brauche_(?:noch|eine?n?)|berücksichtig\w+_sie)(?!\w)
    doubts \b(?:vielleicht|eventuell|überleg(?:e|en|t)|zöger\w+|mal_sehen|
        wenn(?!_(?:du|ich)_)|falls|angenommen|stell_dir|als_ob|würde|wäre|hätte(?!_gern)|könnte|sagt|sagte|
        meint(?!_sie)|meinte|glaubt|denkt|behauptet|angeblich|laut|hieß_es|steht|schreibt|schrieb|gehört|gelesen|lied|
        song|gedicht|roman|geschichte|figur|zitat|beispiel|traum|träumte|ob|er|sie(?!_bitte)|man|(?:mach|korrigier|
        übersetz|schreib)\w*_(?:den|die|das|diesen|diese))\b
    reports ^(?:die_)?(?:kinder|leute|menschen|männer|frauen)_|\b(?:sagt|sagte|meint|meinte|glaubt|denkt|behauptet|
        findet_dass|steht,|schreibt|schrieb|stand_da)\b
    voids ^(?:warum|wieso|weshalb|stimmt_es|ist_es_wahr)_|^sag_(?:jetzt_|mir_|bloß_)*nicht,?_dass|^(?:bitte
        _)?(?:schreib|erzähl|dichte|verfass)e?_(?:mir_|uns_)?eine?n?_(?![^.?!]*\b(?:immer|jede\w*)\b)|^(?:na_|ja_|ach_|
        oh_)*(?:klar|super|toll|klasse|prima|herrlich|wunderbar)[,.!_][^?]{0,60}\b(?:liebe|lieb|mag)\b|\b(?:würd|wär|
        hätt)e?_ich\b|^(?:super|toll|klasse|na_toll|ja_klar|ja_ja|ach_wie_schön|herrlich|großartig)\b|\b(?:scherz|spaß
        _beiseite|nur_spaß)\b|\bliebe_es,?_wenn|,_oder\b[^,]*$|,_(?:oder|gell|nicht_wahr|stimmt's)_?\?|,_(?:sagt|sagte|
        meint|meinte)_\w+
    moments (?:(?<!\w)(?:heute|morgen_(?:früh|abend)|gerade|diesmal|grad|gestern|jetzt_gleich|im_moment|momentan|
        heut))(?!\w)
    remember (?:(?:bitte|und|auch|kannst_du(?:_dir)?|noch)[,_]*)*(?:merke?n?_(?:dir|sie_sich)|behalte?|vergiss_nicht|
        vergiss_bitte_nicht|notiere?|notier_dir|schreib_dir_auf|denk_(?:bitte_)?(?:dran|daran)|halte?_fest|
        speicher(?:e|_dir)?)(?!\w)(?:_(?:mal|bitte|dir|das|folgendes|im_kopf|doch|ruhig))*(?:_?[,:–-]*_*dass(?!\w)|
        _?[:,–-]|(?=_(?:ich|mein|meine|der|die|das|wir|unser)_))
    abbreviations z.b|d.h|bzw|usw|nr|str|hr|fr|evtl|ggf|u.a|sog|inkl
    empty immer|nie|niemals|wieder|nein|nicht|das|dies|diese|dieser|doch|eigentlich
    emphatic immer|nie|niemals|bitte|punkt
    relatives wo|wohin|woher|welche\w*|deren|dessen
    calendar \b(?:januar|februar|märz|mai|juni|juli|august|september|oktober|november|dezember|(?:mon|diens|donners|
        frei|sams|sonn)tags?|mittwochs?)\b
    leading (?:am|den|dem|der|das|die|bei|um|beim|in|im|an)_+
    since (?:im|in|seit)_+(?:januar|februar|märz|april|mai|juni|juli|august|september|oktober|november|dezember|
        [12]\d{3})|gestern|heute|jetzt|letzte[ns]?_(?:woche|monat|jahr)
    topics (?:in|im|bei[mn]?|für|zu[mr]?|auf)_
    feelings \b(?:am_wochenende_nach|fieber|grippe|bis_\w+tag|fragen?|verspätung|fehler\w*|signal|unterwegs|auf_dem
        _weg|absturz|das_gleiche|schon_wieder)\b|\b(?:habe?n?|hab|hat|bin|sind|ist)
        _[^,.?!]*\b(?:(?:liegen)?ge\w{2,}(?:t|en)|(?:ver|be|er|zer)\w+(?:t|en)|\w+iert)(?!\w)|\bmein_?e?_(?:zug|flug|
        bus|handy|code|skript|app|rechner|laptop|internet)\b|\b(?:bin|sind|bist)_(?:ich_|wir_)?(?:(?:so|echt|grad|
        gerade|voll|total|sehr|ja|auch|noch|schon|halt|nur|ganz|mir|gleich)_){0,3}(?:müde|hungrig|krank|traurig|froh|
        glücklich|fertig|genervt|spät|dran|sicher|gespannt|neugierig|unterwegs|zurück|wieder|da\b|weg|gleich|sauer|
        gestresst|erledigt|kaputt|dabei|raus|durch|bereit|verwirrt|begeistert|dankbar|auf_(?:dem|der)|im_(?:zug|bus|
        auto|büro|stau|urlaub|bett)|am_(?:arbeiten|überlegen|ende)|tot|pleite|gegen|dafür|neu_hier)\b|\b(?:brauch|
        möcht|will|wollen|würd|hätt|wär|glaub|denk|mein|hoff|frag|weiß|wiss|find|fühl|versteh|such|überleg|versuch|seh|
        hör_(?:dich|grad)|freu|kann|könn|muss|müss|soll|werd|dachte|warte|bitte_um|schätze|vermiss|bedauer|vergess)\w*
        _(?:ich|wir|mich|uns|mir)\b|\b(?:ich|wir)_(?:\w+_)?(?:brauch|möcht|will\b|wollen|würd|hätt|wär|glaub|denk|hoff|
        frag|weiß|wiss|find|fühl|versteh|such|überleg|versuch|seh|freu|kann|könn|muss|müss|soll|werd|dachte|warte|
        schätze|vermiss|bedauer|geh_|gehe_(?:jetzt|mal|gleich)|komm_?e?_(?:später|gleich|zu)|mach_(?:mal|jetzt|das)|
        les_|gucke?|schaue?)\w*\b|\b(?:vielleicht|wahrscheinlich|fast|beinahe|eigentlich_wollte|hunger|durst|lust|bock|
        schmerzen|kopfweh|termin|meeting|problem|frage|idee|gefühl|zeit|angst_dass|glück|pech|weh|kaputt|hunger|
        ahnung)\b
"""
PHRASES = r"""
    constraint (?!das|es|ich|du|er|sie|wir|ihr|man|wenn|ob|wer|was|wie|so)(?:[\w/-]+_){1,5}?(?:müssen|muss|dürfen|darf|
        gehören|gehört|sollen)_(?:[\w/.-]+_){0,5}?(?:immer|stets|nie|niemals|nur|nicht|zwingend|auf_keinen_fall)\b
    constraint wir_(?:müssen|dürfen|sollten|wollen)_(?:[\w/.-]+_){0,6}?(?:immer|stets|nie|niemals|nur|nicht|kein\w*)_\w
    constraint wir_\w+en_(?:[\w/.-]+_){0,4}?(?:nie|niemals|immer|grundsätzlich|nur)_(?!mehr$|noch)\w
    correction^ (?:es|er|sie|das|ich|wir)_(?:ist|sind|bin|heißt?|heiße|wohnt?|wohne|arbeitet?|liegt|war)_{vague}(?:am_|
        um_|in_|mit_)?\w*[\w.:-]*(?:_(?:[\w.:-]+_?){0,5})?(?=.*(?:\d|\bmit_|\bin_|\bam_|[^.]_\w{4,}))
    fact (?:ich|wir)_(?:bin|sind)_(?:gelernte[rn]?_)?(?-i:[A-ZÄÖÜ])\w{3,}(?:{end}|_(?:bei|in|aus|von|mit|für)_|_und
        _(?:habe|wohn|leb|arbeit|unterricht|studier))
    correction^ (?:ich_)?(?:heiß\w*|wohne?|arbeite)_\w
    correction^ ich_mein(?:te|e)?_(?!dass|das\b|es\b|ja\b|nur\b)\w
    correction^ [^,.!?]{2,60}?,?_(?:und_)?nicht_(?!nur|so|mehr|gut|wahr|sicher|schlecht|das\b|an\b|mir\b)(?=(?:(?:am|
        im|in|um|auf|bei|der|die|den|das)_)?(?-i:[A-ZÄÖÜ\d]))(?:(?:am|im|in|um|bei|den|der|die|das)_)?{old}{end}
    change ich_(?:wohne?|lebe?|arbeite?|heiße?|studiere?)_jetzt_\w
    rule (?:wenn|falls|sobald)_(?:du|ich|wir)_[^!?]{3,80}?,?_(?:dann_)?(?:meine_ich|immer|nie|niemals|bitte
        _{imperative}|{imperative}_(?:\w+_){0,3}?(?:bitte|immer|nie|kein\w*))\b
    fact (?:ich_bin|hier_ist)_(?:der|die)_(?-i:[A-ZÄÖÜ])\w+
    preference (?!würde|möchte|hätte|weiß|wüsste|nehme|kann|darf)\w+e_ich_(?:(?:sehr|nicht|auch|viel)_)?(?:gerne?|
        lieber|am_liebsten)_\w
    change (?:ich_bin|wir_sind)_(?:(?:vor_kurzem|kürzlich|gerade|jetzt|neulich|inzwischen)_)?von_{old}_nach
        _[^,]{2,40}?_?(?:um)?gezogen
    change (?:ich_bin|wir_sind)_[^,]{0,20}?_?von_{old}_(?:auf|zu)_[^,]{2,40}?_(?:umgestiegen|gewechselt|umgezogen)
    change (?:mein|unser)\w*_[^,]{2,40}?_hat_sich_von_{old}_(?:auf|in|zu)_[^,]{2,40}?_geändert
    change (?:ich|wir)_(?!bin|sind|kann|können|weiß|wissen|will|wollen|mag|verstehe|glaube|denke|habe_keine|werde|
        möchte|sehe|möchten|erinnere|muss|brauche|hab)\w+_(?:hier_)?keine?n?_{old}_mehr{end}
    change (?:ich|wir)_(?!bin|sind|kann|können|weiß|wissen|will|wollen|mag|verstehe|glaube|denke|habe|werde|möchte|
        sehe|möchten|erinnere|muss|brauche|hab)\w+_nicht_mehr_(?:(?:bei|in|mit|für|im|am|als)_)?{old}{end}
    change (?:ich|wir)_(?!bin|sind|kann|können|weiß|wissen|will|wollen|mag|verstehe|glaube|denke|habe|werde|möchte|
        sehe|möchten|erinnere|muss|brauche|hab)\w+_{old}_nicht_mehr{end}
    change (?:ich_habe|wir_haben)_(?:im_\w+_|vor_\w+_\w+_|letzt\w+_\w+_)?(?:endlich_)?(?:mit_)?(?:dem_|der_)?{old}
        _aufgehört
    change früher_(?:habe?_ich_|bin_ich_|war_ich_|haben_wir_)?{old},?_(?:aber_)?(?:jetzt|heute|nun|inzwischen)\b
    change (?:wir_haben|ich_habe)_{old}_(?:durch|gegen)_[^,]{2,40}?_(?:ersetzt|getauscht|ausgetauscht)
    change (?:ich|wir|mein\w*_\w+|unser\w*_\w+)_(?:heißt?e?n?|ist|sind|wohne|arbeite)_jetzt_[^,]{2,40}?_(?:statt|
        anstatt|und_nicht_mehr)_{old}{end}
    change* (?:mein|unser)\w*_[^,]{2,40}?_(?:ist|sind|heißt)_nicht_mehr_{old},_sondern_\w
    constraint du_(?:musst|sollst)_(?!\w+_sein)(?:immer_|stets_|niemals_|nie_|nicht_)?[^,!?]{2,80}?{infinitive}\b
    constraint du_darfst_[^,!?]{0,80}?(?:nicht|nie|niemals|keine?n?)\b[^,!?]{2,60}?{infinitive}\b
    constraint (?:(?:alle|sämtliche|deine|die|meine|jede[rs]?)_)?(?:\w+_)?{things}_(?:müssen|muss|dürfen|darf|sollen
        _immer)_\w
    constraint (?:{imperative}_[^!?]{0,60}?)?(?:auf_(?:gar_)?keinen_fall|keinesfalls|unter_(?:gar_)?keinen_umständen)_\w
    constraint [^,!?]{2,80}?_(?:ist|sind)_(?:immer_|stets_)?[^,!?]{0,50}?(?:erforderlich|pflicht|verpflichtend|
        vorgeschrieben)
    rule (?!\w+_du\b){imperative}_(?:(?:mich|mir|uns|bitte|dich|dabei|also|dann)_){0,2}(?:[^,!?]{2,40}?
        _)?(?:{never}(?!\W*$)|{now}|nicht_mehr)\b
    rule {now},?_(?!(?:werde|will|möchte|gehe|bin|habe|wird|gibt|sind)\b)\w
    preference (?:ich|wir)_(?:(?:persönlich|generell|allgemein|wirklich|auch)_)?(?:bevorzugen?|mag|mögen|lieben?|
        hassen?|verabscheuen?|genießen?)(?:_(?:sehr|wirklich|total|eher|lieber|besonders|überhaupt|auch|einfach|am
        _liebsten))?{passing}_+\w
    preference (?:ich|wir)_(?!würde|möchte|nehme|hätte|weiß|wüsste|glaube|komme|gehe_jetzt|mache_das|wollte|mag
        _das)\w+_(?:lieber|am_liebsten|(?:sehr_|nicht_|nicht_so_)?gerne?){passing}_+\w
    preference (?:mir|uns)_(?:ist|sind|gefällt|gefallen|schmeckt|schmecken){passing}_[^!?]{2,80}?_(?:lieber|besser|
        wichtig|nicht|am_besten)\b
    preference mein\w*_liebling\w+_\w
    preference ich_(?:kann|ertrage)_[^!?]{2,80}?_nicht_(?:ausstehen|leiden|ertragen|ab)\b
    preference (?!das|dies|es|wenn|ob|dass|was|wie|wen|dich|ihn|sie|er|wir)[\w-]+(?:_[\w-]+){0,3}_(?:liebe|hasse|mag|
        bevorzuge)_ich_
    correction^* {said}\w*
    correction* (?:es_ist_|das_ist_)?nicht_(?!nur|bloß|so\b|das\b|dies)(?:(?:am|im|in|um|bei|den|der|die)_)?{old},?
        _sondern_(?!auch|dies|das\b|jen)[^,]{2,50}$
    correction* (?:ich_(?:meinte|sagte|meine|heiße?|bin)|(?:sie|er|es)_(?:heißt|ist)|(?:mein|unser)\w*_[^,]{2,30}?
        _(?:heißt|ist))_[^,]{2,60}?,?_(?:und_)?nicht_{old}{end}
    rule? (?:bitte_)?(?:duz|siez)(?:e|en_sie)?_mich\b
    rule (?:nenn\w*|ruf\w*|sprich|sprechen_sie)_(?:sie_)?mich_(?!de[nr]_|die_|das_|später|morgen|gleich|an\b|zurück|
        heute|mal_an)\w
    constraint (?:bei[nm]?|in|im|für|zu[mr]?|am|an|auf|mit|nach|vor|ab)_(?:(?!(?:ich|es|er|sie|wir|man|gibt|ist|war|
        hat|hatte|habe|sind|waren|haben|regnet|steht|geht|darf)\b)[\w-]+_){1,4}?(?:(?:bitte_)(?:immer|stets|nur)|
        (?:bitte_)?(?:nie|niemals|keine?n?|nichts_mit))_(?!ahnung|problem|frage|idee|mehr\b|einmal|zeit|lust|gewesen|
        noch)\w
    constraint {imperative}_(?:(?:bitte|mir|mich|dabei)_){0,2}(?:mein\w*_\w+_)?(?:keine?n?|nicht|nichts|nie|niemals)
        _(?!mehr\b|so\b|das\b|dies|es\b|sorgen|angst|panik|stress|jetzt|heute|vergessen|traurig|böse|auf\b|schon)\w
    decision (?:(?:wir|ich)_(?:haben?|hab)_(?:\w+_){0,4}?|(?:haben|hab)_(?:wir_|ich_|uns_|mich_)?(?:\w+
        _){0,3}?)(?:beschlossen|entschieden|abgemacht|vereinbart|ausgemacht|festgelegt|geeinigt)(?!_(?:noch|nichts))\b
    decision (?:wir|ich)_(?:haben?|hab)_(?:uns|mich)_[^?!]{3,80}?(?:entschieden|geeinigt|festgelegt)\b
    correction^ {np}{is}_{vague}(?:[\w'.:/@%€-]+_){0,7}?[\w'.:/@%€-]+(?:,?_(?:und_)?nicht_{old})?{end}
    fact (?:mein_(?:\w+_)?(?:name|nick\w*|spitzname)_(?:ist|lautet)|ich_(?:heiße|heiß)|(?:alle|freunde|die_leute)
        _nennen_mich|man_nennt_mich)_\w
    fact (?:(?:ich|wir)_(?:(?:übrigens|selbst|auch)_)?)?(?:bin|sind)_(?:(?:übrigens|seit_\w+_\w+|seit_\w+|auch|
        eigentlich|von_beruf|beruflich|gegen_[\w_]{3,30}?|stark|sehr|hochgradig)_){0,3}{lasting}
    fact (?:ich_|wir_)?(?:wohnen?|leben?|arbeiten?|studieren?|unterrichte|komme_(?:ursprünglich_)?aus|stamme|pendle|
        besitze|fahre_(?:einen?|mit)|spiele|spreche|züchte|betreibe|leite|trage|vertrage|esse|trinke|rauche|nutze|
        verwende|sammle|lerne|mache_(?:eine_ausbildung|gerade_mein)|haben?|hab)_(?:(?:übrigens|seit_\w+_\w+|auch|
        eigentlich|derzeit|ja|nämlich)_){0,2}(?!{fleeting}|mich\b|gern|lieber|mir\b|uns\b|nicht_(?!vertragen)|so\b|
        zu\b|daran|[^,!?]{2,30}_(?:mehr|ge\w+(?:t|en)){end})(?:ein\w*|zwei|drei|vier|\d+|kein\w*|in|bei|als|an|im|am|
        auf|zu|für|mit|nachts|nur|vegan|vegetarisch|glutenfrei|\w*allergie\w*|diabetes|asthma|zöliakie|rheuma|migräne|
        adhs|laktose\w*|gluten\w*|weder|fließend|\w+isch|python|linux|windows|medizin|jura|informatik|schichten|von)
        _?(?!{fleeting})\w*
    fact (?:mein|meine|meinem|unser|unsere)_(?:[\w-]+_){1,3}?(?:heißt|heißen|wohnt|wohnen|lebt|arbeitet|studiert|geht
        _(?:in|auf)|spricht|hat_(?!heute|gesagt|mich|gerade|angerufen|recht)|ist_(?!heute|kaputt|nicht|gut|toll|weg|
        gerade|müde|krank|so\b|sehr|der_(?:beste|meinung)|echt|total|leer|voll|sauer|super|da\b)|hört_auf|läuft_auf|
        liegt_(?:in|bei|auf)|wurde_\d|wird_\d|verträgt|isst_kein)_?\w
    fact (?:ich|wir)_\w+en?_(?:[^,;!?]{2,50}_)?(?:jeden|jede|jedes)_(?!mal)\w+
    constraint ich_darf_[^,?!]{2,40}?_?(?:nichts|kein\w*)_(?!dafür|sagen|vergessen|davon)\w
    preference (?!diese|die_leute|sie|wir)(?:[\w-]+_){1,3}(?:nerven|stören|langweilen)_(?:mich|uns)\b
    fact ich_(?:fahre|besitze|trage|nutze|verwende|spiele)_(?:eine?n?|mein\w*)_(?!runde|moment|frage)\w+
    constraint {imperative}_(?:mein\w*|mir)_[^!?]{2,60}?_niemals_\w
    rule (?:wenn|jedes_mal,?_wenn|immer_wenn)_(?:du|ich)_[^!?]{3,80}?,?_(?:bitte_(?:immer|nie|nur|stets)|(?:dann
        _)?{imperative}_[^!?]{0,40}\b(?:immer|nie|stets))\b
    rule? {ask}(?:mich_)(?:bitte_)?(?:duzen|siezen|\w+_nennen|mit_\w+_(?:\w+_)?(?:anreden|ansprechen))\b
    rule? (?:hör_auf|hören_sie_auf)_(?!damit|jetzt)[^!?]{3,60}?zu_\w+
    rule (?!\w+_du\b){imperative}_[^,!?]{2,60}?_(?:jedes_mal|standardmäßig|in_zukunft|künftig)\b
    rule bitte_{never}_\w
    rule (?:bitte_)?(?:nur|immer)_(?:noch_)?(?:auf|in|per|mit|metrisch\w*|kurze|vegan\w*|vegetarisch\w*|schriftlich|
        text)_\w[^?]{2,60}
    constraint (?:es_ist_)?(?:verboten|tabu|untersagt|nicht_erlaubt|pflicht)(?:_ist)?:?_\w
    constraint ich_darf_(?:niemals|nie|kein\w*|nicht)_(?!vergessen|jetzt)\w
    preference (?:mag|hasse|liebe)_(?!ich|es_|es$|dich|das|dein|diese|nicht_mehr|sie\b|ihn\b|(?:die|den|das)_(?:idee|
        art|erste))(?:keine?n?_|nicht_)?\w{3,}
    preference [\w-]+(?:_[\w-]+){0,3}_(?:ist|sind)_(?:nicht_)?(?:mein_ding|mein\w*_liebling\w*|nichts_für_mich)
    decision (?:entscheidung|beschluss|beschlossen|entschieden|abgemacht)(?:_ist)?[:,–—-]+_*\w
    fact (?:bei_)?(?:mir|uns)_(?:wurde|ist)_(?:\w+_){0,3}?(?:diagnostiziert|festgestellt)\b
    change (?:ich|wir)_(?:habe?n?|bin|sind)_(?:\w+_){0,4}?(?:geheiratet|adoptiert|gekündigt|befördert_worden|in_rente
        _gegangen|umgezogen|umgestiegen)\b
    constraint (?:jede[rs]?)_(?:[\w/-]+_){1,4}?(?:braucht|benötigt|kriegt|bekommt)_\w
    fact mein\w*_(?:hund|katze|kater|sohn|tochter|mann|frau|mutter|mama|vater|papa|bruder|schwester|oma|opa|freund\w*|
        chef\w*|partner\w*|kollegin?)_(?-i:[A-ZÄÖÜ])\w+_(?!sagt|meint|hat_gesagt)\w
    constraint~ (?:keine?|kein|nur)_(?!ahnung|sorge|lust|zeit|idee|angst|panik|problem|frage|eile|chance|du\b|ich\b|
        das\b)(?:[\w-]+_){0,4}?[\w-]+{end}
    fact ich_bin_(?:\d{4}_)?in_(?-i:[A-ZÄÖÜ])\w+_(?:geboren|aufgewachsen)
    rule (?!\w+_du\b){imperative}_[^,!?]{2,60}?,?_auch_wenn_
    constraint~ (?:bei[nm]?|in|im|für|zu[mr]?)_(?:[\w-]+_){1,3}?(?:ohne|nur|keine?n?)_\w
    fact (?:unsere?|meine?)_(?:[\w-]+_){1,2}?(?:laufen|nutzen|verwenden|liegen|heißen|wohnen|vertragen)_\w
    rule ich_bitte_(?:sie|dich)(?:_darum)?,?_(?!um\b|mir_)[^.?!]{3,90}?_zu_\w+
    constraint (?:nie|niemals)_(?:mit_|ohne_)(?!mir|dir|ihm|ihr|uns)[\w-]+{end}
    correction^ {np}\w+_(?:um|am|in|auf|mit|bei|über)_[^,?!]{0,30}(?:\d|(?-i:[A-ZÄÖÜ]))[^,?!]{0,20}{end}
    constraint~ nichts_(?!mehr|anderes|neues|besonderes)(?:[\w-]+_?){1,4}{end}
    rule? {ask}(?:\w+_){0,3}?(?:duzen|siezen)\b
    correction* nicht_{old},_(?:\w+_){1,2}(?:heißt|ist|sind|bin)(?!\w)
    fact (?:ich|wir)_(?:bin|sind)_(?:[\w-]+_){1,4}?(?:verheiratet|verlobt|geboren|aufgewachsen|tätig|angestellt|
        beschäftigt){end}
    preference ich_bin_(?:eher|mehr)_(?:ein\w*|der|die|so_ein\w*)_\w
    rule {imperative}_(?:(?:mir|mich|bitte|mit_mir|uns)_){0,3}(?:kurz|knapp|ausführlich|einfach|auf_(?!deutsch
        _übersetz)\w+isch|auf_deutsch|in_(?:grad|gramm|kilometern|metern|stichpunkten|celsius|euro)|ohne_emojis|per_du|
        förmlich|locker|klein|höflich)\b
    preference (?:ich|wir)_(?:hätten?|möchten?|wünsche_mir|wollen?)_(?:gern\w*|lieber|nur|bitte|immer|generell)_(?:\w+
        _){0,3}?(?:antwort\w*|erklärung\w*|nachrichten|zusammenfassung\w*|texte)\b
    preference (?:ich_)?(?:steh\w*_(?:total_|voll_|nicht_|mehr_)?auf|bin_(?:ein_|kein_)?(?:großer_|totaler_|echter
        _)?(?:fan_von|\w+mensch|\w+typ|\w+liebhaber\w*))_?(?!dich|dem_schlauch)\w
    decision (?:wir|ich)_(?:nehmen?|bleiben?_bei|setzen?_auf|gehen_mit|machen_es_mit)_(?:jetzt_|nun_|definitiv_|doch_|
        künftig_)\w
    rule (?:hör\w*(?:_bitte)?_auf|schluss|genug)_mit_(?:den|deinen|diesen|dem|die|das_ganze)_(?!quatsch|scheiß|unsinn|
        mist)\w+_(?:in|bei|wenn|weg|sein)\w*_?\w*
    change (?:ich_habe?|wir_haben)_(?:endlich_|gerade_)?(?:unser\w*|mein\w*|das|den|die)_{old}_(?:verkauft|abgeschafft|
        weggegeben)\b
    rule? (?P<ask>(?:kannst|könntest|würdest|können|könnten|würden)_(?:du|sie)_(?:bitte_)?)(?:[\w-]+_){1,3}(?:immer|
        nie|nur)_[^?!]{3,60}en{end}?
    change seit_(?!heute|gestern|stunden|wann|eben)(?:dieser_|diesem_|letzte[rnm]_|anfang_)?\w+_(?:wohne|arbeite|lebe|
        studiere|bin|nutze)_(?:ich|wir)_\w
    constraint (?!mach|sorg|keine_(?:ahnung|sorge|lust|zeit|idee|angst|panik|probleme?|frage|eile|chance|macht|
        kohle))(?:bitte_)?(?:keine?n?|nie|niemals)_(?:(?!\b(?:ich|er|sie|es|wir|habe?|hat|war|ist|bin|so|mehr|
        wieder)\b)[\w-]+_?){1,5}(?:bitte|für_mich|in_(?:mein|den|der)\w*|mehr_vorschlagen)\b
    correction^* (?:ist|sind|heißt|liegt|beginnt|startet|wohnt|arbeitet|kostet|läuft)_(?:der|die|das|mein\w*|unser\w*|
        sein\w*|ihr\w*)_(?:[\w/-]+_){1,5}?{vague}[^,.?!]{1,40}{end}
    rule (?!\w+_du\b){imperative}_(?:(?:mir|bitte|ab_jetzt|etwas|ein_bisschen|viel)_){0,3}(?:kürzer|knapper|
        ausführlicher|einfacher|förmlicher|lockerer|höflicher)\b
    constraint alle_(?:\w+_)?(?:{things}|zeiten|uhrzeiten|maße|berichte)_(?:bitte_)?(?:immer_|nur_)?(?:in|auf|mit|ohne|
        als|per)_\w+
    correction* (?:es_ist_|das_ist_)?nicht_(?:(?:am|im|um|der|die)_)?{old},_(?:(?:am|im|um|es_ist|der|die)
        _)?(?-i:[A-ZÄÖÜ]\w+|\d\S*){end}
    constraint keine_(?!ahnung|sorge|lust|zeit|idee|angst|panik|problem|frage|eile|chance)(?:[\w-]+_){1,2}?(?:vor|nach|
        in|bei|am|für_mich)_(?!mir|dir|uns)[\w -]{2,30}{end}
    correction^ [^,.!?]{2,40}?_nicht_(?:auf_|in_|am_|um_|bei_)?{old},?_sondern_\w
    constraint (?!das|es|ich|du|er|sie|wir|man|heute)(?:[\w/-]+_){1,4}?(?:werden|wird)_(?:[\w/.-]+
        _){0,4}?(?:ausschließlich|nur|niemals|nie|immer|grundsätzlich)_(?!besser|schlecht|schlimmer|wieder)\w
"""
TABLE = table(WORDS, AROUND, PHRASES)
