"""French: in which words people state what is to be kept; grammar.py tells how to read it."""

from memory.capture.phrases.grammar import table

WORDS = r"""
    asked (?:(?:répond|écri|écriv|utilis|emploi|employ|indiqu|demand|di|dit|met|mett|ajout|inclu|cit|montr|donn|fai|
        fait|parl|évit|converti|convertiss|tradui|traduis|envoi|envoy|mentionn|termin|commenc|expliqu|arrondi|prévien|
        préven|rappell|rappel|cherch|vérifi|gard|tutoi|tutoy|vouvoi|vouvoy|précis|partag|effac|supprim|divulgu|appell|
        appel|résum|propos|recommand|corrig|compt|calcul|trait|laiss|signal|suppos|invent|répèt|répét|publi|révèl|
        touch|chang|rédig|pass|prend|pren)(?:e|es|s|ds|ts|ez|dez|ons)?)
    infinitive (?:(?:m'|me_|l'|le_|les_)?(?:répondre|écrire|utiliser|employer|indiquer|demander|dire|mettre|ajouter|
        inclure|citer|montrer|donner|parler|éviter|convertir|traduire|envoyer|mentionner|terminer|commencer|expliquer|
        arrondir|prévenir|vérifier|garder|tutoyer|vouvoyer|préciser|partager|effacer|supprimer|divulguer|appeler|
        résumer|proposer|recommander|corriger|calculer|respecter|laisser|révéler|être_bref))
    now (?:à_partir_de_(?:maintenant|aujourd'hui)|dorénavant|désormais|à_partir_de_mtn|à_l'avenir|à_compter_d[e']
        _?(?:maintenant|aujourd'hui))
    i (?:(?:je|j'|nous|on)_?)
    passing (?!_+(?:(?:la|le|l'|ta|ton|cette|ce)_?(?:premi\w+|deuxi\w+|second\w*|troisi\w+|derni\w+|autre|idée|façon|
        option|fait_que_tu)|ça$|ça,|cel\w+|ceci|cette|ce\b|ces\b|ta\b|ton\b|tes\b|ne_pas_en|comment|merci|bien,|bien$|
        y_aller|partir|rester|te\b|toi\b|l'option)\b)
    things (?:réponses?|prix|dates?|textes?|messages?|rapports?|unités|recettes?|e?-?mails?|traductions?|listes?|
        titres?|code|noms?|montants?|nombres?|notes?|citations?|sources?|tests?|documents?|résumés?)
    ask (?P<ask>(?:(?:tu_peux|vous_pouvez|tu_pourrais|pourrais-tu|peux-tu|pouvez-vous|pourriez-vous)_(?:s'il_te_plaît_|
        stp_)?)|(?:(?:je_(?:veux|voudrais|préfère|préférerais|souhaite)|j'aimerais|merci_de_faire_en_sorte)_qu(?:e_|
        ')(?:tu_|vous_)?)|(?:merci_de|pense_à|essaie_de|veille_à|pensez_à|je_te_demande_de|je_vous_prie_de)_)?
    lasting (?:(?:très_)?allergique\w*|intolérant\w*|végane?|vegan|végétarien\w*|diabétique|c[œo]eliaque|asthmatique|
        épileptique|gauch[eè]re?|gaucher|droiti[eè]re?|daltonien\w*|aveugle|sourde?|malentendante?|malvoyante?|
        dyslexique|autiste|enceinte|mariée?|divorcée?|célibataire|veu(?:f|ve)|retraitée?|à_la_retraite|étudiante?|
        infirmi[eè]re?|infirmier|médecin|prof\w*|avocate?|ingénieure?|développeu\w+|serveu\w+|cuisini\w+|chauffeur|
        agricult\w+|maman_|papa_|musulmane?|juive?|juif|catholique|athée|née?|de_(?!retour|bonne|mauvaise|plus)|
        originaire|une?_(?!peu|idiot|boulet)|fille_unique|fils_unique|freelance|indépendante?|au_chômage|en
        _(?:fauteuil|terminale|licence|master|CDI|alternance)|\w{3,}(?:iste|ière|ier|eur|euse|rice|logue|ienne|ien|
        graphe)(?!\w)|abonnée?|pacsée?|fiancée?|du_(?:soir|matin))
    fleeting (?:une_(?:question|idée|réunion|urgence|erreur|faveur|minute)|un_(?:vol|bus|avion|problème|souci|bug|
        doute|rendez-vous|examen|rhume|truc|message|train)|question|faim|soif|froid|chaud|peur|mal_|envie|besoin|hâte|
        l'impression|raison|tort|oublié|vu|lu|fait|dit|essayé|été|eu|pas_|plus_|rien_|du_mal|la_(?:flemme|tête|grippe)|
        le_temps|l'air|pensé|reçu|perdu|trouvé|mis|pris|du_(?:boulot|travail|retard)|trop_|tellement_|juste|bien_)
    np (?:(?:(?:le|la|les|mon|ma|mes|notre|nos|son|sa|ses|leur)_|l')(?:[\w'/-]+_){1,5}?)
    vague (?!(?:que|pas|bien|mal|très|trop|si|plus|moins|comme|bon|bonne|nul|super|vrai|faux|ça|là|ici|parti|mieux|
        pire|pareil|tout|rien|bizarre|dur|facile|cassé|juste|seulement|pour|parce|ma_faute|une?_(?:bonne|mauvaise|peu|
        problème|blague|galère)|fait|prêt\w*|fatigué\w*|malade\w*|contente?|triste|occupé\w*|gentil|mort\w*|génial|
        cool|encore|toujours|déjà|quoi|toi|moi|lui|elle)(?!\w))
    is (?:est|sont|commence|débute|finit|coûte|ouvre|ferme|vit|habite|travaille|tourne|écoute|a|s'appelle|arrive|part|
        va|utilise|c'est|se_trouve|passe|tombe)
    nobody personne_ne
    may (?:doit)
    settled (?:(?:c'est_)?(?:décidé|acté|tranché))
    without (?:sans|jamais_(?:de|d')|pas_(?:de|d')|aucune?)
    always (?:toujours|jamais)
    must (?:doi(?:ven)?t|(?:ne_)?peu(?:ven)?t)
    lastingly (?:toujours|jamais|uniquement|seulement|exclusivement)
    whom (?:je|tu|il|elle|on|nous|vous|ils|elles|ça|cela|ce|qui|que|où|si|quand|comment|vie)
    it (?:c'est|c'était|ce_n'est)
    articles (?:le|la|les|du|au|à|en|un|une)
    in (?:dans|pour|en|avec|sur)
    no pas
    beg (?P<ask>je_(?:vous|te)_(?:prie|demande|saurais_gré|serais_reconnaissante?)_(?:de_|d')(?:bien_vouloir_)?|je
        _(?:souhaite|souhaiterais|voudrais|aimerais|préférerais)_que_(?:vous|tu)_)
    manner (?:sans|(?:me_)?(?:vouvo|tuto)\w+|ne_plus)
    inf \w+(?:er|ir|re)
    only (?:que|uniquement|juste|seulement)
    ever (?<!comme\s)toujours
    situation (?:quand|si|lorsque|dès_que|chaque_fois_que)_(?:je_(?:t'|te_|vous_)?|j')(?:envoie|demande|écris|parle|
        donne|colle|partage|montre|dis|pose|veux|transmets|file|balance|copie)
    asking (?:tu_peux|peux|est-ce|dois|faut|puis|pourrais|qu'est|je_peux)
    nothing (?:(?:aucune?|nulle?)_(?!idée|problème|souci|chance|envie|doute|raison|rapport|intérêt|importance|
        cas)[\w'-]+|rien_(?:ne_|n')|pas_(?:de_|d')(?!souci|problème|chance|panique|quoi|nouvelle|réponse|stress|soucis|
        idée|bol|temps)[\w'-]+_(?:chez|dans|le|avant|après|pour|avec|en|à)_)
    moving (?:(?:on|nous|je|j')_?(?:a_|avons_|ai_)(?:quitté|plaqué|vendu|lâché|démissionné|changé_de)|je_(?:me_suis|
        suis)_(?:installée?|séparée?|mise?_à|partie?_(?:de|vivre))|on_s'est_(?:installés?|séparés?))_(?!tou|la
        _(?:table|réunion|pièce|maison_à)|le_(?:bureau|boulot)_à|ça|ce\b)
    nowadays (?:maintenant|désormais|aujourd'hui|à_présent|mtn)
    being (?:(?:je|on|nous|j')_?(?:vis|vit|vivons|habite|habitons|bosse|travaille|utilise|étudie)_)
    taste (?:c'est_pas_(?:trop_|vraiment_|du_tout_)?(?:mon_truc|ma_tasse|pour_moi|mon_délire)|ce_n'est_pas_(?:mon_truc|
        pour_moi)|très_peu_pour_moi|(?:je|j')_?(?:kiffe|carbure|raffole|supporte_pas|digère_pas|blaire_pas)|me
        _(?:donne|donnent)_(?:envie_de_vomir|la_nausée|mal)|me_(?:convient|conviennent|va|vont)_mieux|m'(?:énerve|
        énervent|agace|agacent|angoisse|angoissent|ennuie)|j'en_ai_(?:horreur|soupé)|ça_me_(?:gave|saoule|stresse|
        dégoûte))
    rather (?:plutôt|de_préférence)_(?!bien|mal|cool|bon|pas|non|sympa)
    decided (?:(?:on|nous|j'|je|comité|bureau|conseil|équipe|famille)_?(?:a_|avons_|ai_|a_finalement_)(?:finalement_|
        tous_|enfin_)?(?:décidé|choisi|opté|convenu|tranché|voté|acté)|c'est_(?:décidé|acté|tranché|réglé),?)(?!
        _(?:rien|encore))_?
    called (?:(?:le|la|les|mon|ma|mes|notre|nos|son|sa)_)(?:[\w'-]+_){1,3}?(?:s'appellent?|c'est(?=_(?-i:[A-ZÉ])))
    kin (?:mon|ma|mes|notre|nos)_(?:[\w'-]+_){0,2}?[\w'-]+(?<!tête)(?<!ventre)(?<!dos)(?<!téléphone)
    lives (?:(?:est|sont)_(?!pas|très|trop|que|super|génial|en_(?:retard|panne)|malade|mort|cassé|fatigué|la
        _(?:meilleure|pire)|le_(?:meilleur|pire)|nul|là|parti|encore|déjà|toujours|plus|une?_(?:idiot|boulet|
        catastrophe))(?:une?_|en_|de_)?\w{4,}|bosse|travaille|vit|vivent|habite|étudie|a_(?:une?|deux|trois|\d+|des|le
        _diabète|alzheimer|parkinson)_?|mange|boit|joue|parle|fait_(?:du|de_la|des)|vient_de|ne_(?:mange|boit|supporte|
        peut|voit|conduit)|supporte|tourne|utilise|fête|entre_en|rentre_(?:que|le)|dort|va_(?:au|à_la|à_l'))_?
    our (?:notre|nos)
    label (?:(?:petite_)?(?:règle|consigne|convention)(?:_(?:pour|de|dans)_\w+(?:_\w+){0,2})?)
    from_when (?:depuis|à_partir_d[eu]|dès)_(?!hier|ce_matin|des_heures|maintenant|toujours)(?:[\w'-]+_){0,2}?[\w'-]+
    be (?:est|sont|a)_
    could (?P<ask>(?:peux-tu|pourrais-tu|pouvez-vous|pourriez-vous|tu_peux|tu_pourrais|vous_pouvez|vous_pourriez)_)
    this (?:ça|cela|ce|cet|cette|ces|celui|celle|te|toi|vous|ton|ta|tes|là|ici|en|y|encore|tout)
    restrict (?:que_(?:des?|du|de_la|en|le|la|les|sur|au)|(?<!suis_)(?<!ai_)(?<!est_)(?<!'ai_)jamais|uniquement|
        seulement)
    first (?:moi_)?(?:je|j'|on|nous)_?(?:(?:ne_|n'|les?_|la_|l'|me_|m'))?\w+
    habit (?:depuis_(?:son|sa|mon|ma)_\w+|(?:tous|toutes)_les_(?:deux_)?(?:jours|soirs|matins|midis|ans|mois|semaines|
        nuits|week-ends|étés|hivers|\w+dis|dimanches|\d+)|chaque_(?!fois)\w+|le_(?:lundi|mardi|mercredi|jeudi|vendredi|
        samedi|dimanche|week-end|matin|soir)|les_(?:lundis|mardis|mercredis|jeudis|vendredis|samedis|dimanches|
        week-ends|semaines_\w+)|(?:une|deux|trois|\d)_fois_par_\w+|depuis_(?:\w+_){0,2}?(?:ans|mois|années|\d{4}|
        l'enfance|tout_petite?)|d'habitude|en_semaine)
    me (?:je|j'|on|nous|mon|ma|mes|notre|nos|chui|moi)
    self (?:(?:moi_)?(?:(?:je|on|nous)_(?!\w+(?:ais|ait|ions|rai|rons|rez|ra)\b|suis_(?:en_train|allé|venu|dans|là|à|
        au)|en_|y_|se_|(?:a|avons)_(?!une?_|deux|trois|quatre|\d|des_)|me_|te_|vous_|ne_|n'|l'|le_|la_|les_|peux|dois|
        vais|vois|fais_(?:ça|comment|quoi))[\w']+|j'(?!ai\b|y_|en_|étais|avais|aurais|irai|espère|arrive|attends|
        essaie|entends|imagine|ignore)[\w]+|j'ai_(?:une?|deux|trois|quatre|\d+|des)|chui|chuis))_
    place (?:à|en|dans|chez|au|aux|pour|avec|depuis|comme)
    never_do (?:je_|j'|on_|nous_)(?:ne_|n')?(?:mange|mangeons|bois|fume|conduis|bosse|travaille|utilise|supporte|
        tolère|digère|porte|regarde|ai_plus_d[e'])_?(?:pas|jamais|plus|ni|\w+rat)_?
    have (?:j'ai|on_a|nous_avons)_(?:une?|deux|trois|quatre|\d+|des)_(?:\w+_)?(?:fille\w*|fils|enfants?|garçons?|
        chiens?|chats?|chevaux|poules|jumeaux|jumelles|frères?|sœurs?|petits-enfants|jardin|potager|voiture|appart\w*|
        balcon|allergie\w*|ados?|bébé|lapins?|boutique|resto|ferme|prothèse|gîte)
"""
AROUND = r"""
    openers (?:je_(?:vous|te)_(?:informe|signale|préviens|précise)_que|s'il_(?:te|vous)_pla[iî]t|stp|svp|mince|zut|
        oups|salut|coucou|hello|bonjour|bonsoir|alors|bon|ben|bah|oui|et|mais|au_fait|franchement|honnêtement|pardon|
        désolée?|en_général|pour_info|pour_information|sache_que|note_que|merci|moi,?|ok|okay|dis|dis-moi|dites|écoute|
        tiens|mdr|lol|ptdr|haha\w*|euh|hm+|voilà|ah|oh|en_gros|d'ailleurs|sinon|donc|car|parce_que|vu_que|comme_je
        _disais|du_coup|(?:je_(?:voulais|dois|tiens_à|voudrais)|j'ai_oublié_de|j'aimerais)_(?:te_|vous_)?(?:dire|
        préciser|signaler|prévenir|mentionner)_que|il_faut_(?:savoir|que_tu_saches)_que|à_savoir(?=,|_que)|à_noter(?=,|
        _que)|pour_(?:rappel|la_suite|mémoire|le_contexte)|mec|fr+(?:ère|érot)?|chef|cher_\w+|en_passant|ps|puis|aussi|
        en_plus)(?!\w)
    marks (?:no+n|na+n?|faux|en_fait|en_réalité|plutôt|erreur(?=[,:.])|correction|rectification|attends|attendez|oups|
        je_me_suis_trompée?|je_me_trompe|tu_te_trompes|vous_vous_trompez|tu_(?:as|t'es)_(?:confondu|trompée?|mal
        _compris)|t'as_(?:confondu|mal_compris)|c'est_(?:faux|incorrect|pas_(?:ça|vrai|exact))|ce_n'est_pas_(?:vrai|
        exact|correct|ça)|pas_du_tout|pas_exactement|coquille)(?!\w)
    joins (?:et|mais|car|parce_que|puis|sinon|donc|aussi|d'ailleurs|du_coup|ou|alors)(?!\w)
    closers (?:s'il_(?:te|vous)_pla[iî]t|stp|svp|merci(?:_(?:beaucoup|d'avance))?|ok|okay|mdr|lol|ptdr|haha\w*|hein|
        voilà|au_fait|d'ailleurs|pour_info|si_possible|aïe|mec|xd|bisous|cordialement|d'accord)(?!\w)
    courtesies s'il_te_pla[iî]t|s'il_vous_pla[iî]t|stp|svp
    fillers mdr|au_fait|d'ailleurs|lol
    requests (?:(?:re(?:fai|met|pren|écri)\w*_(?:le|la|les|ça|tout)|tu_peux|tu_pourrais|peux-tu|pourrais-tu|vous
        _pouvez|pouvez-vous|pourriez-vous|t'as|tu_as|tu_connais|tu_sais|est-ce|je_vous_saurais_gré)|qu'est-ce|c'est
        _quoi|quelle?s?_(?:est|sont|heure|temps|est-ce|serait)|comment|combien|où|quand_(?:est|part|arrive)|pourquoi|
        qui_est|une_(?:idée|suggestion)|des_(?:idées|suggestions|conseils)|(?:dis|donne|écris|fais|montre|trouve|
        explique|aide|cherche|propose|traduis|raconte|rappelle|prépare)-moi|(?:trouve|cherche|traduis|calcule|résume)_|
        il_y_a_(?:un|une|quelque)|j'ai_besoin_(?:de|d'))(?!\w)
    doubts \b(?:peut-être|hésit(?:e|es|ons|ez|ent)|on_verra|fais_comme_si|
        si(?!_(?:tu|je|on)_)|s'il(?!_(?:te|vous)_plaît)|imagine|imaginons|supposons|admettons|comme_si|
        dit(?!es)|disait|disent|pense_que|croit|répète|affirme|prétend|selon|d'après|paraît|apparemment|écrit_que|a
        _écrit|chanson|poème|roman|histoire|personnage|citation|exemple|rêve|rêvé|il|elle|ils|elles|serait|aurait|
        étais|(?:corrige|traduis|réécris|résume)_(?:ce|cette|le|la))\b
    reports ^(?:les_)?(?:enfants|gens|hommes|femmes)_|\b(?:(?<!tout\sle\smonde\s)dit|disent|disait|pense|pensent|croit|
        répète|affirme|prétend|écrit_qu\w*|a_écrit|trouve_que|insiste)\b
    voids ^(?:pourquoi|est-ce_que|c'est_vrai_que|comment|combien)_|^ne_me_dis_pas_que|^(?:écris|rédige|raconte|
        invente)(?:-moi)?_une?_(?![^.?!]*\b(?:toujours|chaque)\b)|^(?:(?:ah|oh)_oui|(?:ah_|oh_|ouais_)*(?:génial|super|
        chouette|parfait|magnifique|bravo))[,.!_][^?]{0,60}\bj'adore\b|^(?:génial|super|chouette|ah_super|ouais_bien
        _sûr|bien_sûr|trop_bien|magnifique|parfait)[,_!]_?(?:j'|je)|\b(?:je_(?:plaisante|rigole|déconne)|blague_à
        _part)\b|j'adore_quand|\bquoi$|,_(?:non|hein|pas_vrai|n'est-ce_pas)_?\?|,_(?:dit|disait)(?:-il|-elle)?_?\w*$
    moments (?:(?<!\w)(?:maintenant|aujourd'hui|demain|cette_fois|ce_(?:soir|matin|midi)|hier|en_ce_moment|tout_à
        _l'heure|cette_journée|là_tout_de_suite))(?!\w)
    remember (?:(?:s'il_te_plaît|stp|svp|et|aussi|tu_peux|alors)[,_]*)*(?:souviens-toi|souvenez-vous|retiens|retenez|
        rappelle-toi|n'oublie_pas|n'oubliez_pas|note(?=_(?:bien_)?(?:que|ça|quelque_part)|_?:)|garde_en_tête|gardez_en
        _tête|mémorise|garde_en_mémoire|prends_note|enregistre)(?!\w)(?:_(?:bien|ça|ceci|stp|quelque_part|s'il_te
        _plaît))*(?:_?[:,–-]|_qu(?:e(?!\w)|')|_(?=(?:mon|ma|mes|je|j'|le|la|l')[^?]*\b(?:est|sont|ai|suis|c'est|
        s'appelle|a)\b)|(?=_\w+(?:er|ir|re)_))
    abbreviations mme|mlle|p.ex|env
    empty toujours|jamais|plus|non|pas|ça|cela|ceci|celui-là|celui-ci|ce|cette
    emphatic toujours|jamais|point|stp|svp
    relatives où|dont|laquelle|lequel|lesquel\w+
    calendar \b(?:lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|janvier|février|mars|avril|mai|juin|juillet|août|
        septembre|octobre|novembre|décembre)\b
    leading (?:le|les|la|du|chez|au|un|une|à|en)_+|(?:l'|d')
    since (?:en|depuis)_+(?:janvier|février|mars|avril|mai|juin|juillet|août|septembre|octobre|novembre|décembre|
        [12]\d{3})|hier|aujourd'hui|maintenant|la_semaine_dernière|le_mois_dernier|l'an_dernier
    topics (?:dans|pour|en|avec|sur)_
    feelings \b(?:fièvre|grippe|jusqu'à_\w+|j'attends|questions?|retard|signal|erreurs?|bugs?|en_route|encore_une_fois|
        pareil)\b|\bmon_(?:train|vol|bus|avion|portable|téléphone|code|script|ordi\w*|pc|internet)\b|\b(?:je_|j'|on_|
        nous_|chui_)(?:(?:ne_|n'|me_|m'|t'|te_|vous_|en_|y_|suis_(?:en_train_de_)?)?)(?:veux|veut|voudrais|vais|va_|
        besoin|ai_(?:besoin|faim|soif|froid|chaud|sommeil|peur|mal|envie|hâte|oublié|une?_(?:question|idée|problème|
        souci|doute|réunion|rdv|examen|train|vol|bug)|trop|pas|le_temps|l'impression|raison|tort|été|eu|vu|fait|dit|lu|
        pas_le|la_flemme|du_mal|plein)|pense|crois|sais|sens|vois|espère|suppose|cherche|essaie|peux|peut|dois|doit|
        comprends|demande|attends|arrive|reviens|rentre_|pars_|fais_(?:une_pause|quoi|comment)|(?:trop_|très_|
        tellement_|si_|un_peu_|vraiment_|encore_|déjà_|super_|bien_)*(?:fatigu|crevé|mort|malade|content|triste|désolé|
        stress|perdu|prêt|déçu|énervé|occupé|bloqué|ravi|dégoûté|à_la_(?:bourre|maison|gare)|au_(?:bureau|boulot|lit)|
        en_(?:retard|route|réunion|train|vacances)|dans_le|là|sûr|d'accord|pressé|nul|paumé|vénère|à_fond|à_bout|
        étonné|curieu)\w*|remercie|prie|aimerais|souhaite|propose|imagine|doute|parie|m'ennuie|me_demande|regrette|
        plaisante|trouve|entends|regarde_(?:un|une|le|la)|lis_(?:un|une|le|la)|adore_(?:quand|ma_vie|ton|ta|l'idée)|en
        _peux|promets|vote|déteste_(?:ça|tout))\w*|\b(?:peut-être|sans_doute|probablement|presque|bientôt|ça_me_fait
        _mal|j'en_peux|aimerait|pourrait|marche_(?:pas|plus)|est_en_panne|m'a_(?:dit|demandé)|va_\w+r)\b
"""
PHRASES = r"""
    fact (?:mon|ma|mes|notre|nos)_(?:[\w'-]+_){1,4}?(?:c'est_(?!pas|la_|nul|bien|super)|s'appelle(?:nt)?|habite|vit|
        vivent|travaille|étudie|est_(?!pas|très|trop|que|super|génial|une?_(?:idiot|boulet)|en_(?:retard|panne)|malade|
        mort|cassé|fatigué|le_meilleur|la_meilleure)|sont_(?!pas|très|trop|malade)|a_(?!pas|encore|déjà|dit|besoin|
        raison|mal|fait|été|oublié)|parle|mange_pas|ne_mange|tourne_sur|utilise|est_né\w*|va_à)_?\w
    constraint (?:ne_|n')(?!t'inquiète|vous_inqui|oublie|oubliez|aie|ayez|sois_pas|t'en_fais|vous_en|hésite|hésitez|
        bouge|sais|peux|veux|vous_moquez|te_moque|dis_rien|lâche)(?:(?:me|m'|nous|le|la|les|lui|y|en)_?)?\w+(?:e|es|s|
        ez|ds|ts)_(?:surtout_)?(?:pas|jamais|plus|rien|aucun\w*)_(?!ça\b|cela|ce\b|cette|maintenant|encore|tout_de
        _suite|trop|si\b)\w
    rule? {ask}(?:m'appeler|appelle-moi|appelez-moi|tutoie-moi|tutoyez-moi|vouvoie-moi|vouvoyez-moi|me_tutoyer|me
        _vouvoyer|adresse-toi_à_moi|parle-moi|parlez-moi|écris-moi|écrivez-moi|réponds-moi|répondez-moi)_(?!l[ea]_|l'|
        plus_tard|demain|quand|dès|si\b|de_|un\b|une\b|encore|à_\d|vite)(?:en_|par_|avec_|sans_|comme_|à_|uniquement_|
        toujours_)?\w
    constraint (?:tou(?:te)?s?_l[ea]?s?|chaque|aucun\w*|notre|nos|mes|mon|ma)_(?:[\w'/-]+_){1,5}?(?:doi(?:ven)?t|
        peu(?:ven)?t|devrai(?:en)?t|(?:ne_|n')(?:doi|peu|est|sont))_?(?!être_(?:dur|sympa|fatigu)|avoir_été)\w
    rule (?:quand|si|lorsque)_(?:tu|je|on|vous)_[^!?]{3,80}?,?_(?:je_(?:veux_dire|parle_de)|c'est_que_je_parle|ça_veut
        _dire|toujours_|(?:ne_|n'){asked}|{asked}(?:-moi)?_(?:\w+_){0,2}?toujours)\b
    correction^ c'est_{vague}[\w'-]+_(?:avec|sans)_\w
    correction^ (?:je_voulais_dire|je_parlais_de|je_veux_dire)_(?!que\b)\w
    constraint (?!ça|cela|il|elle|ils|elles|je|tu|on|si|quand|ce\b)(?:l[ea]s?_|l')?(?:[\w'/-]+_){1,5}?(?:ne_|
        n')(?:doi(?:ven)?t|peu(?:ven)?t)_(?:jamais|pas|plus|en_aucun_cas)_\w
    change (?:j'ai|on_a|nous_avons)_(?:(?:récemment|enfin)_)?(?:déménagé|emménagé)_(?:récemment_)?(?:de_|d'|du_){old}
        _(?:à|vers|au|en|pour)_\w
    change (?:j'ai|on_a|nous_avons)_(?:(?:récemment|enfin)_)?(?:déménagé|emménagé)_(?:récemment_)?(?:à|au|en)
        _(?!cause)\w
    change (?:je_suis|on_est|nous_sommes)_(?:(?:récemment|enfin)_)?passée?s?_(?:de_|d'|du_){old}_(?:à|au|sur)_\w
    change (?:j'ai|on_a|nous_avons)_(?:changé|modifié)_(?:mon|ma|mes|notre|de)_[^,]{2,40}?_(?:du|de)_{old}_(?:au|à|
        pour)_\w
    change {i}n(?:e_|'|')?_?(?!a_plus_|avons_plus_|sais|peux|veux|comprends|en_peux|pense|crois|me_souviens|vois|suis
        _plus_sûr|peut|sait|veut|arrive|ai_plus_(?:le_temps|envie)|a_plus_|avons_plus_)(?:[mn]ous_|m'|me_)?[\w']+_plus
        _(?!tard|que\b|jamais_ça|rien|grand|besoin)(?:(?:de|chez|à|en|au|du|pour|dans|avec|le|la)_|d')?{old}{end}
    change (?:j'ai|on_a|nous_avons)_(?:enfin_)?(?:arrêté|cessé)_(?:de_|d'|le_|la_){old}{end}
    change (?:j'ai|on_a|nous_avons)_(?:remplacé|échangé)_{old}_(?:par|contre|pour)_\w
    change avant,?_(?P<old>(?:je_|j'|on_|nous_)[^,;!?]{2,60}?),?_(?:et_|mais_)?(?:maintenant|aujourd'hui)\b
    change (?:mon|ma|notre)_[^,]{2,40}?_n'est_plus_{old},?_(?:mais|c'est)_\w
    constraint (?:tu_dois|vous_devez)_(?:toujours_|absolument_|impérativement_)?{infinitive}\b
    constraint (?:(?:toutes_les|tous_les|les|tes|mes|chaque)_)?(?:\w+_)?{things}_(?:doivent|doit)_(?:toujours
        _)?(?!avoir_été)\w
    constraint (?:(?:ne_|n'){asked}_)?(?:[^,!?]{2,40}_)?(?:en_aucun_cas|sous_aucun_prétexte|en_aucune_circonstance)_\w
    rule {asked}(?:-(?:moi|nous|le|la|les|lui))?_(?:(?:bien|donc)_)?(?:toujours|systématiquement)\b
    rule (?:ne_|n')(?:(?:me|m'|nous|le|la|les|lui|y|en)_?)?{asked}_(?:plus_)?(?:jamais|plus)\b
    rule {now},?_(?!(?:je|on|nous|il|elle)\b|j')\w
    preference {i}(?:(?:vraiment|toujours)_)?(?:préf[èe]re|préférons|préférerais|adore|adorons|déteste|détestons)(?:
        _(?:vraiment|toujours))?{passing}_+\w
    preference {i}aim(?:e|ons)(?:_(?:mieux|beaucoup|bien|vraiment|énormément|particulièrement)){1,2}{passing}_+\w
    preference j'aime{passing}_(?:les?|la|l'|manger|boire|marcher|lire|quand|qu|faire|écouter|regarder|voyager|
        cuisiner)\w*
    preference (?:je_|nous_|on_)n'aim(?:e|ons)_(?:pas|vraiment_pas|pas_du_tout){passing}_+\w
    preference (?:je_|on_)ne_supporte_(?:pas|plus){passing}_+\w
    preference m(?:on|a|es)_\w[^,.!?]{1,40}?_(?:préférée?s?|favorite?s?)_(?:est|sont|c'est)_\w
    correction* (?:ce_n'est_|c'est_|c'était_)?pas_(?!seulement|que\b|mal\b|mauvais|ceci|ça\b|cela|si\b)(?:(?:le|la|à|
        en)_)?{old},?_mais_(?!pas\b|aussi|cela|ça\b|je\b|c'est_pas)[^,]{2,50}$
    correction* (?:je_voulais_dire|je_parlais_de|j'ai_dit|(?:elle|il)_s'appelle|c'est|(?:mon|ma)_\w+_(?:est|
        s'appelle))_[^,]{2,60}?,?_(?:et_)?(?:non_pas_|non_|pas_)(?:(?:le|la|à|en)_)?{old}{end}
    rule? {ask}(?:me_|m'|nous_)?toujours_(?:me_|m'|nous_|les_|le_|l')?(?:\w+(?:er|ir|re)(?!\w)|{asked})_\w
    rule (?:tutoie|tutoyez|vouvoie|vouvoyez)-moi\b
    correction^ {np}_?{is}_{vague}(?:[\w'.:/@%€-]+_){0,7}?[\w'.:/@%€-]+(?:,?_(?:et_)?(?:pas|non)_{old})?{end}
    correction^* (?:c'est|c'était|ce_sont|il_est|elle_est|je_m'appelle|il_s'appelle|elle_s'appelle|j'habite|je
        _travaille|je_suis|ça_s'écrit)_{vague}(?:[\w'.:/@-]+_){0,6}?[\w'.:/@-]+{end}
    correction^ (?!.*\b(?:pas|juste|seulement|merci|plus|encore|reste)\b)(?:[\w'/.:-]+
        _){0,4}?[\w/.:-]*\d[\w.:/%€-]*(?:_\w+)?{end}
    fact (?:mon_(?:\w+_)?(?:prénom|nom|pseudo|surnom)_(?:est|c'est)|moi_c'est|je_m'appelle|on_m'appelle|tout_le_monde
        _m'appelle)_?(?!pas|bien|bon|ça|cool|super|top|parfait|noté|vrai|fait|fini|dommage|nul|mort|gentil|compris|ok|
        clair|chaud|parti|sûr)\w
    fact (?:je_suis|nous_sommes|on_est|chuis|j'suis)_(?:(?:aussi|très|originaire|actuellement|hyper|plutôt|gravement|
        sévèrement)_)?{lasting}
    fact (?:j'ai|on_a|nous_avons)_(?!{fleeting}(?!\w))(?:une?_|deux_|trois_|quatre_|\d+_|des_(?:jumeaux|enfants|chats|
        chiens|allergies|migraines|poules)|du_diabète|de_l'asthme|le_diabète|la_maladie|l'intolérance|pas_(?:de
        _(?:voiture|four|micro-ondes|permis|balance)|d'enfants?))\w*
    rule (?:arrête|arrêtez|stop|assez|fini)_(?:avec_)?(?:les|tes|ces|de)_(?!bêtises|mensonges|conneries|
        blagues)[^,?!]{3,40}?_(?:avec_moi|dans_\w+|quand_\w+|en_\w+)
    constraint jamais_(?:de_|d')(?!la_vie|souci|problème|chance|nouvelle|réponse|vacances|repos)[\w'-]+(?:
        _[\w'-]+){0,2}{end}
    preference je_ne_suis_pas_(?:très_|trop_|un_)?fan_d(?:e|u|es)_(?!ça|ce)\w
    decision (?:finalement|au_final|du_coup),?_(?:on|nous)_(?:part(?:ons)?|rest(?:e|ons)|va|allons)_(?:sur|avec)_\w
    change (?:j'ai|on_a|nous_avons)_(?:enfin_)?vendu_(?:mon|ma|notre|le|la|l')_?{old}(?:{end}|_et_)
    rule quand_(?:tu|je|on)_[^!?]{3,80}?,?_{asked}(?:-moi)?_toujours\b
    rule? {ask}ne_(?:plus_)?jamais_(?:me_|m'|nous_)?\w+(?:er|ir|re)(?!\w)_\w
    rule (?!il|elle|on|ça|je|tu){asked}(?:-moi)?_[^,!?]{2,60}?_(?:à_chaque_fois|systématiquement|par_défaut)\b
    constraint (?:on|nous)_(?:ne_)?(?:doit|devons|peut|pouvons|utilise|déploie|stocke|pousse|merge|met|envoie|fait)
        _(?:jamais|toujours|pas|uniquement|que)_(?!ça\b|encore|oublier)\w
    constraint (?:il_est_|c'est_)?(?:interdit|obligatoire|exclu|impératif|défense|hors_de_question)_(?:de_|d'|:_?)\w
    constraint il_(?:ne_)?faut_(?:jamais|toujours|pas|surtout_pas|impérativement)_(?!dire_jamais|oublier|rêver|croire|
        juger|exagérer|s'étirer|perdre)\w+(?:er|ir|re)(?!\w)_\w
    constraint (?:uniquement|que|seulement)_(?:du|des|de_la|en)_\w[^,.?!]{1,40}_(?:s'il_te_plaît|stp|svp|pour_moi)
    preference (?:je_suis_(?:pas_)?(?:plutôt_|très_|une?_)?(?:fan_de|du_genre|accro|lève-tôt|couche-tard)|j'ai_horreur
        _(?:de|d')|je_kiffe|je_supporte_pas|j'aime_pas|j'évite|je_suis_(?:plutôt|plus|très)_\w+_que)_?(?!ça\b|quand_il|
        ton\b|ta\b|l'idée|que_tu)\w
    preference (?!ça|cela|ce\b|si|quand)(?:les?_|la_|l'|des_)?[\w'-]+(?:_[\w'-]+){0,3},_(?:c'est_(?:pas_)?mon_truc|
        très_peu_pour_moi|je_(?:n')?(?:aime_pas|supporte_pas|déteste|adore)|j'(?:adore|aime_pas))\b
    correction^ (?!seulement|.*\bn(?:e_|'))[^,.!?]{2,60}?,?_(?:et_)?(?:pas|non_pas|non)_(?!seulement|cher|sûr|encore|
        que\b|de_|mal\b|du_tout|vrai|possible|grave)(?:(?:le|la|à|en)_)?{old}{end}
    change j'habite_maintenant_\w
    constraint chaque_(?:[\w'/-]+_){1,4}?(?:nécessite|a_besoin_d|requiert|passe_par)\w*
    constraint (?:tous_les|toutes_les)_(?:{things}|heures|mesures|prix)_(?:en|avec|sans|au_format)_\w
    correction* ce_n'est_pas_{old},_c'est_\w
    constraint~ (?:pas_(?:de_|d')|jamais_(?:de_|d')|sans_|uniquement_|que_du_|que_des_)(?!souci|problème|idée)\w+(?:
        _[\w'-]+){0,4}?{end}
    constraint pas_d(?:e_|')(?!souci|problème|idée|quoi|chance|panique|nouvelles?)\w+_(?:avant|après|dans|le_|pendant|
        chez_moi|entre)_?\w
    constraint~ (?:dans|pour|avec|en)_(?:[\w'-]+_){1,3}?(?:sans|uniquement|que)_\w
    fact j'ai_(?:peur|horreur)_(?:de_|des_|du_|d')(?!te_|vous_|m'|rater|faire|la_réponse)\w
    change (?:j'habite|je_vis|je_travaille|je_bosse|on_habite)_[^,]{2,40}?_maintenant{end}
    constraint (?:l[ea]s?_|l')(?:[\w'/-]+_){1,4}?(?:est|sont)_\w+_(?:uniquement|toujours|jamais|seulement|
        exclusivement)_\w
    decision (?:on|nous)_(?:part(?:ons)?_sur|rest(?:e|ons)_sur|opt(?:e|ons)_pour)_(?!ça\b|le_premier|la_première)\w
    fact (?:chui|chuis|jsuis|j'suis|je_suis)_(?:très_)?al+erg\w+_\w
    correction^ {np}_?\w+_(?:à|en|sur|avec|au|par)_[^,?!]{0,30}(?:\d|(?-i:[A-ZÀÉÈ]))[^,?!]{0,20}{end}
    constraint~ rien_(?:de_|d')(?!grave|nouveau|spécial)(?:[\w'-]+_?){1,4}{end}
    constraint+ pas_(?:de_|d')(?!souci|problème|chance|panique|quoi|nouvelle|réponse|stress|idée|bol|temps)[\w'-]+
        _(?:chez_(?:nous|moi)|à_la_maison|dans_(?:mes|les|tes)|pour_moi|le_soir|avant_|après_)
    preference je_suis_(?:plutôt|plus)_(?:du_|un_|une_)?(?!d'accord|pour|contre|bien|content)\w+_(?:que|et_pas)_\w
    rule (?:à_l'avenir|dans_le_futur),?_(?:s'il_te_plaît,?_)?(?:ne_|n')?{asked}
    rule (?:chaque_fois_que|à_chaque_fois_que)_[^!?]{3,80}?,_(?:s'il_te_plaît,?_)?{asked}
    constraint je_(?:ne_)?(?:peux|dois)_(?:pas|jamais|plus)_(?:manger|boire|prendre|conduire|consommer|travailler)
        _(?!ça|ce_soir)\w
    preference {i}(?:veux|voudrais|aimerais|souhaite|préférerais)_(?:(?:des|tes|vos|les|de)_)(?:réponses|explications|
        messages|textes|résumés)_\w
    change (?:je_me_suis|on_s'est|je_viens_de_(?:me_)?|on_vient_d(?:e_|'))_?(?:mariée?s?|divorcée?|pacsés?|marier|
        adopter|divorcer|commencer_un|avoir_un|changer_de_(?:boulot|travail|numéro))\b
    preference (?:les|l')_?(?!gens|voisins)(?:[\w'-]+_){1,3}(?:m'(?:énervent|agacent|ennuient|insupportent)|me
        _(?:gênent|fatiguent|saoulent))
    change depuis_(?!hier|ce_matin|toujours|des_heures|une_heure)(?:\w+_){0,2}\w+,?_(?:je_(?:travaille|vis|suis|bosse)|
        j'habite|j'utilise|on_(?:vit|utilise))_\w
    rule (?:arrête|arrêtez|cesse|cessez|évite|évitez)_(?:de_|d')(?!rire|pleurer|mentir|faire_ça)(?:me_|m')?\w+(?:er|ir|
        re)(?!\w)_?\w*
    rule {asked}(?:-(?:moi|nous))?_(?:(?:plus|toujours)_)?(?:en_(?!deux|trois|cinq|un|une|cette|ce)\w+|sans
        _(?:emoji\w*|majuscule\w*|jargon)|court|brièvement|simplement|au_tutoiement)(?:_(?:uniquement|seulement|stp|
        svp|toujours))
    constraint (?:mets|mettez|utilise|utilisez|écris|envoie|propose|proposez|donne|ajoute|parle|dis|fais)(?:-moi)?
        _(?:pas|jamais|plus_d|surtout_pas|aucun\w*)_(?!ça\b|cela|ce\b|cette|maintenant|encore)\w
    decision (?:on|nous|je)_(?:part(?:ons|s)?_sur|va_(?:utiliser|prendre|rester_sur|partir_sur)|allons_(?:utiliser|
        prendre)|rest(?:e|ons)_sur|garde(?:ons)?|prends?|passe_(?:à|sur)|opt(?:e|ons)_pour)_(?!ça\b|le_premier|le
        _temps|l'air|soin|une?_(?:douche|café|pause))\w[^,?!]{1,60}?(?:finalement|définitivement|désormais|pour_le
        _projet|c'est_décidé|point_final)
    decision (?:décision|c'est_décidé|décidé|c'est_acté)(?:_(?:prise|finale))?_?[:,–—-]+_*\w
    rule {asked}(?:-moi)?_[^,!?]{2,60}?,?_même_(?:si|quand)_
    correction* (?:je_suis|c'est|j'habite|moi_c'est)_[^,]{2,40},_(?:et_)?pas_(?:à_)?{old}{end}
    correction^ [^,.!?]{2,40}?_?n'est_pas_(?:sous_|à_|en_|le_|la_)?{old},?_mais_\w
    rule je_(?:vous|te)_prie_de_(?:ne_plus|ne_pas|ne_jamais|toujours|désormais)_\w
    constraint (?!ça|il|elle|on|je|tu|ce)(?:l[ea]s?|mes|nos|notre)_(?:[\w'/-]+_){1,5}?(?:ne_|n')?\w+nt_jamais_\w
"""
TABLE = table(WORDS, AROUND, PHRASES)
