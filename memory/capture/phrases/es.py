"""Spanish: in which words people state what is to be kept; grammar.py tells how to read it."""

from memory.capture.phrases.grammar import table

WORDS = r"""
    asked (?:responde|contesta|escribe|usa|utiliza|emplea|llámame|llámanos|dime|di|indica|pregúntame|pregunta|pon|
        ponme|añade|agrega|incluye|cita|muestra|muéstrame|dame|da|haz|habla|háblame|trátame|evita|convierte|pasa|
        traduce|envía|envíame|manda|mándame|menciona|termina|empieza|explica|explícame|redondea|avísame|recuérdame|
        busca|comprueba|verifica|consulta|guarda|tutéame|escríbeme|respóndeme|contéstame|resume|formatea|cuenta|
        calcula|corrige|ordena|propón|recomiéndame|limita|deja|omite|añádeme|responda|conteste|escriba|use|utilice)
    infinitive (?:responder|contestar|escribir|usar|utilizar|llamarme|decir|indicar|preguntar(?:me)?|poner|añadir|
        agregar|incluir|citar|mostrar|dar|hacer|hablar|tratar(?:me)?|evitar|convertir|pasar|traducir|enviar|mandar|
        mencionar|terminar|empezar|explicar|redondear|avisar(?:me)?|guardar|tutear(?:me)?|resumir|calcular|compartir|
        borrar|revelar|respetar|ser_breve)
    now (?:a_partir_de_(?:ahora|hoy|este_momento)|de_ahora_en_adelante|desde_(?:ahora|hoy)|en_adelante|en_lo_sucesivo)
    passing (?!_+(?:(?:el|la|lo|los|las|tu|su|est\w|es[aoe]s?|aquel\w*)_(?:primer\w*|segund\w+|tercer\w*|últim\w+|
        otr\w+|de_antes|idea|forma|opción)|est[aeo]s?\b|es[aeo]s?\b|aquel\w*|cómo|tu\b|tus\b|lo_que\b|mucho$|mucho,|
        más_el_(?:primer|segund)|más_la_(?:primer|segund)|más_(?:est|es[aeo])|la_idea|saber|que_no_hablemos|irme|ir\b|
        no_hablar|verte|verlo|saberlo|la_opción)\w*)
    things (?:respuestas?|precios?|fechas?|textos?|mensajes?|informes?|unidades|recetas?|correos?|traducciones|listas?|
        títulos?|código|nombres?|cantidades|números?|notas?|citas?|fuentes?|pruebas|documentos?|resúmenes)
    said (?:(?:ella_|él_)?(?:se_llama|me_llamo)_|(?:mi|su|nuestr[oa])_[^,]{2,40}?_(?:se_llama|es)_(?!que\b|no\b|buen)|
        (?:yo_)?(?:vivo_en|trabajo_en|soy_de|nací_)_?|se_escribe_)
    # what a wish for somebody's doing ends in, with the pronouns that hang on it
    doing (?:(?!d[eé]jame|olv[ií]da|cu[ií]dame)\w+(?:me|nos|melo|mela|melos|melas|le|les)(?!\w)|(?:responde|contesta|
        escribe|usa|utiliza|emplea|llámame|llámanos|dime|di|indica|pregúntame|pregunta|pon|ponme|añade|agrega|incluye|
        cita|muestra|muéstrame|dame|da|haz|habla|háblame|trátame|evita|convierte|pasa|traduce|envía|envíame|manda|
        mándame|menciona|termina|empieza|explica|explícame|redondea|avísame|recuérdame|busca|comprueba|verifica|
        consulta|guarda|tutéame|escríbeme|respóndeme|contéstame|resume|formatea|cuenta|calcula|corrige|ordena|propón|
        recomiéndame|limita|deja|omite|añádeme|responda|conteste|escriba|use|utilice)(?!\w))
    ask (?P<ask>(?:puedes|podrías|podrás|puede|podría)_(?:por_favor_)?|(?:quiero|quisiera|me_gustaría|prefiero|
        necesito|le_ruego|te_pido|le_pido|te_agradecería|le_agradecería)_que_(?:siempre_)?|(?:tienes|tiene)_que_|
        procura_|intenta_)?
    lasting (?:\w*alérgic[oa]s?|intolerante\w*|vegan[oa]s?|vegetarian[oa]s?|pescetarian\w+|diabétic[oa]|celíac[oa]|
        asmátic[oa]|epiléptic[oa]|zurd[oa]|diestr[oa]|daltónic[oa]|cieg[oa]|sord[oa]|disléxic[oa]|autista|embarazada|
        casad[oa]s?|divorciad[oa]|solter[oa]|viud[oa]|jubilad[oa]|autónom[oa]|estudiante|enfermer[oa]|médic[oa]|
        profesor\w*|maestr[oa]|abogad[oa]|ingenier[oa]|programador\w*|camarer[oa]|cociner[oa]|conductor\w*|
        agricultor\w*|(?!consciente|suficiente|valiente|inocente|diferente|presente)\w{3,}(?:ista|ero|era|dor|dora|
        ólogo|óloga|ante|ente|tor|tora|ico|ica)(?!\w)|de_(?!acuerdo|verdad|nada|los_que)|madre_|padre_|musulm\w+|
        judí[oa]|católic[oa]|ate[oa]|una?_(?!poco|idiota|tonto|desastre)|mamá|papá|madre|padre|un_\w+|hij[oa]_únic[oa])
    fleeting (?:una_(?:pregunta|duda|idea|reunión|cita|prisa|entrevista|llamada)|un_(?:tren|vuelo|autobús|avión|
        problema|momento|minuto|error|examen|resfriado|dolor|catarro|bug|rato)|pregunta|duda|hambre|sueño|sed|frío|
        calor|miedo|prisa|ganas|tiempo|razón|que_|que|fiebre|dolor|problema\w*|no_idea|ni_idea|claro|suerte|mucho|
        muchas_ganas|mucha|muchos_problemas|examen|visto|hecho)
    np (?:(?:el|la|los|las|mi|mis|nuestr[oa]s?|su|sus)_(?:[\w/-]+_){1,5}?)
    vague (?!(?:que|no|bien|mal|muy|tan|más|menos|así|aquí|ahí|allí|bueno|buena|malo|genial|verdad|mentira|correcto|lo|
        eso|esto|mejor|peor|igual|claro|todo|nada|raro|difícil|fácil|roto|solo|sólo|por|para|culpa|una?_(?:buena|mala|
        pena|poco|problema|rollo|mierda|locura|tontería)|hecho|lista?o?|cansad\w|enferm\w|feliz|triste|hart\w|
        ocupad\w)(?!\w))
    not (?:uses|utilices|emplees|respondas|contestes|escribas|llames|digas|pongas|añadas|agregues|incluyas|envíes|
        mandes|menciones|compartas|borres|hables|des|hagas|empieces|termines|preguntes|trates|guardes|cambies|toques|
        traduzcas|inventes|repitas|pidas|muestres|cites|ofrezcas|asumas|supongas|reveles|publiques|elimines|resumas|
        corrijas|omitas|recomiendes|propongas|me_(?:llames|escribas|hables|trates|digas|des|mandes|envíes|preguntes|
        respondas|contestes)|le_(?:digas|des|escribas|mandes|envíes)|se_lo_digas|hagas_\w+|subas|metas|ejecutes|
        despliegues|loguees|guardes|abras|sugieras|incluyas|expliques|disculpes|termines_con|acabes|conviertas|
        redondees|asumas|tutees|me_(?:tutees|sugieras|propongas|recomiendes|pongas|hagas))
    is (?:es|son|está|están|empieza|comienza|termina|cuesta|abre|cierra|vive|trabaja|corre|escucha|queda|tiene|se
        _llama|sale|llega|va|usa)
    nobody nadie
    may (?:debe)
    settled (?:(?:está_|queda_)?(?:decidido|acordado))
    without (?:sin|nada_de|ning[úu]n\w*)
    always (?:siempre|nunca|jamás)
    must (?:deben?|tienen?_que|han?_de)
    lastingly (?:siempre|nunca|jamás|solo|sólo|únicamente)
    whom (?:yo|tú|él|ella|nosotros|ellos|ellas|usted|eso|esto|que|quien|si|cuando|donde|como|se|uno|vida)
    it (?:es|era)
    articles (?:el|la|los|las|en|a|al|con)
    in (?:en|para|con|de)
    no no
    beg (?P<ask>(?:l[ea]|te|os)_(?:ruego|pido|pediría|agradecería|agradezco|suplico)_que_)
    manner (?:sin|usted|tú|trat\w+)
    inf \w+[aei]r
    only (?:solo|sólo|únicamente)
    ever (?<!como\s)siempre
    situation (?:cuando|si|cada_vez_que|siempre_que)_(?:yo_)?(?:te|le|os)_(?:\w+_)?(?:pase|mande|envíe|pida|pregunte|
        pregunto|pido|mando|paso|envío|escriba|escribo|diga|digo|comparta|muestre|suba|hable|hablo|dé|doy|cuente|pegue)
    asking (?:puedes|podrías|debería|hay|es|son|tengo|crees)
    nothing (?:(?:ningún|ninguna)_(?!problema|duda|idea|sentido|lado|momento|caso|manera|gana)[\w-]+|nada_(?:sale|
        entra|pasa_a|se_\w+))
    moving (?:me_he_(?:hecho|puesto|cambiado|pasado)_\w+|(?:me|nos)_(?:mudé|mudamos|cambié|cambiamos|separé|separamos|
        jubilé|divorcié|fui_a_vivir)|(?:dejé|dejamos|vendí|vendimos|renuncié|plaqué)_(?!de_|que|el_(?:coche_en|móvil|
        bolso)|la_(?:puerta|llave|luz)|un\b|una\b|eso|esto|pasar|claro))
    nowadays (?:ahora|actualmente|hoy_en_día|desde_\w+)
    being (?:ahora|actualmente|últimamente)_(?:vivo|vivimos|trabajo|curro|laburo|trabajamos|estudio|uso|usamos|estoy
        _en_(?-i:[A-ZÁÉÍÓÚÑ])|soy|doy|tengo_\w+_(?:años|hijos|perros))_?
    taste (?:no_me_(?:gusta|gustan|entra|va)|no_(?:es|son)_lo_mío|(?:no_)?me_(?:matan?|estresan?|agobian?|aturden?|
        marean?|cansan?_mucho|chiflan?|flipan?|pierden|ponen?_de_los_nervios|va_mejor|viene_mejor|resulta_más_\w+|da
        _mucha_pereza|caen?_(?:mal|fatal|pesad\w+)|sientan?_(?:mal|fatal))|no_(?:lo|la|los|las)_(?:soporto|trago|
        aguanto|quiero_ver)|mil_veces|antes_que_\w+|(?:no_)?(?:uso|como|bebo|tomo|aguanto|soporto))
    rather (?:mejor|antes|más_bien)_(?:en|por|con|sin)_(?!otro_momento|luego|cierto)
    decided (?:(?:nos_quedamos_con|nos_vamos_a|hemos_quedado|quedamos_en|nos_decidimos|me_decidí|(?:h?emos|he|han|ha)
        _(?:decidido|acordado|elegido|escogido|resuelto)|(?:decidimos|decidieron|acordamos|acordó|decidió))(?!_(?:nada|
        aún|todavía)))
    called (?:(?:el|la|mi|su|nuestr[oa]|l[oa]s|mis)_)(?:[\w-]+_){1,3}?se_llaman?
    kin (?:mis?|nuestr[oa]s?|la_abuel\w+|mi_(?:viej|señor)\w*)_(?:[\w-]+_){0,2}?[\w-]+
    lives (?:(?:es|son|era)_(?!muy|tan|que|un_(?:desastre|pesad|idiota)|genial|lo|la_(?:mejor|peor)|el_(?:mejor|peor)|
        hoy|para|así|una?_(?:mierda|locura|mierda))(?:una?_)?\w{4,}|trabaja|curra|labura|vive|viven|estudia|tiene
        _(?!que|razón|un_(?:problema|resfriado)|fiebre|hambre|sueño|miedo)|toma|come|juega|va_a_(?:la|un|primer|
        segund)|canta|nació|habla|lleva_(?!rato|horas|todo)|no_(?:come|toma|bebe|puede|tolera|oye|ve\b|usa)|usa|cumple|
        (?:me|le)_(?:da|hace)_alergia)_?
    our nuestr\w+
    label (?:(?:una_)?(?:regla|norma|convenio)(?:_(?:para|de|en)_\w+(?:_\w+){0,2})?)
    from_when (?:desde|a_partir_de)_(?!ayer|hoy|ahora|anoche|hace_(?:rato|horas))(?:\w+_){0,3}?\w+
    be (?:es|son|está|tiene)_
    could (?P<ask>(?:puedes|podrías|puede|podría)_)
    this (?:eso|esto|est[ea]s?|es[ea]s?|te|le|ahí|aquí|nada|tu|tus|todavía|aún|más|así)
    restrict (?:(?<!no_)s[oó]lo|nunca|jamás|únicamente)
    first (?:yo_|nosotros_)?(?:[\w]+_){0,4}?(?:lo_|la_|los_|las_|me_|nos_)?(?:nunca_|siempre_|solo_|sólo_)?\w+(?:o|oy|
        mos)
    habit (?:desde_(?:el|la|su|mi)_\w+|tod[oa]s_l[oa]s_(?:días|años|meses|noches|mañanas|tardes|semanas|veranos|
        inviernos|findes|fines|lunes|martes|miércoles|jueves|viernes|sábados|domingos)|cada_(?!vez|uno|cual)\w+|l[oa]s
        _(?:lunes|martes|miércoles|jueves|viernes|sábados|domingos|findes|fines_de_semana|mañanas|tardes|noches)|
        (?:una|dos|tres)_ve(?:z|ces)_(?:por|a_la|al)_\w+|(?:desde|hace)_(?:hace_)?(?:\w+_){0,2}?(?:años|meses|niñ[oa]|
        \d{4}|pequeñ[oa]|chic[oa])|normalmente|de_lunes_a_\w+)
    me (?:yo|nosotros|mi|mis|nuestr[oa]|me|nos|tengo|tenemos|voy|vamos|trabajo|curro|entreno|doy|hago|hacemos|estudio|
        como|comemos|ceno|juego|toco|canto|salgo|corro|nado|llevo|ensayo|vivo|vivimos|soy|cuido|libro|quedo|quedamos|
        cocino|descanso)
    self (?:(?:yo_)?(?:soy|somos|tengo|tenemos|vivo|curro|laburo|cuido|llevo|estudio|toco|juego|hago|crío|vendo|dirijo|
        coordino|colecciono|cultivo|uso|entreno|doy|manejo|conduzco|voy_a_(?:clase|un|una)|estoy_(?:en_(?:segundo|
        primer|tercer|cuarto|quinto)|haciendo_(?:un|el)|estudiando|aprendiendo|escribiendo_(?:un|mi)|casad|jubilad|
        embarazad)\w*))_?
    place (?:en|de|con|para|desde)
    never_do (?:(?:yo_)?no_(?:como|bebo|fumo|conduzco|manejo|uso|tomo|veo_bien|oigo|tolero|digiero|trabajo|cocino)_|
        (?:\w+_){1,2}no_(?:uso|como|tomo|bebo|tolero|puedo_(?:comer|tomar|beber)))
    have (?:tengo|tenemos)_(?:una?|dos|tres|cuatro|cinco|\d+)_(?:\w+_)?(?:hij\w+|perr\w+|gat\w+|niñ\w+|hermano\w*|
        hermana\w*|niet\w+|caballo\w*|huerto|jardín|coche|furgo\w*|moto|terraza|hipoteca|sobrin\w+|gemel\w+|mellizos|
        alergia\w*|prótesis|marcapasos|beca|bar|tienda|taller|panadería)
"""
AROUND = r"""
    openers (?:(?:le|les|te|os)_(?:informo|comunico|aviso|recuerdo)_(?:de_)?que|por_favor|porfa|porfis|hola|oye|oiga|
        vale|bueno|pues|sí|y|pero|ah|por_cierto|la_verdad_es_que|la_verdad|sinceramente|perdona|perdón|en_general|para
        _que_lo_sepas|que_sepas_que|ten_en_cuenta_que|gracias|ok|okey|mira|eh|em|a_ver|buenas|buenos_días|buenas
        _(?:tardes|noches)|tío|tía|amig[oa]|jaja\w*|ya|entonces|así_que|además|también|es_que|porque|que(?=_(?:tengo|
        soy|no))|(?:te|le)_(?:comento|cuento|digo|informo)(?:_de)?_que|(?:quería|quiero|debo|olvidé|se_me_olvidó)
        _(?:decir(?:te|le)?|mencionar|comentar(?:te)?|contarte)_que|como_dato(?=,)|dato(?=:)|nota(?=:)|para_el
        _futuro(?=,)|dicho_esto|che|wey|güey|weon|bro|o_sea|ojo(?=,)|al_final(?!_(?:hemos|he|decid))|uf|ay|uy|ups)(?!\w)
    marks (?:que_no,?_que|na+(?=[,_])|no+(?=[,.:!…–—-]|_no,|_(?:es|son|se_llama|me_llamo|vivo|el|la|soy|mi|
        era)\b(?=.*\b(?:con|no_con|jaja\w*)\b))|nop|en_realidad|de_hecho|más_bien|incorrecto|error(?=[,:])|mentira|te
        _equivocas|te_has_equivocado|se_equivoca|eso_(?:no_es_(?:cierto|correcto|así|verdad)|está_mal|es_(?:falso|
        incorrecto))|correcci[óo]n|espera|perdón(?=,_(?:es|era|el|la|son|quise|quería))|me_equivoqué|me_he_equivocado|
        qué_va|digo(?=,)|fe_de_erratas|mal(?=[,:])|rectifico)(?!\w)
    joins (?:y|e|pero|porque|que_(?:tengo|soy|me|es)|así_que|además|también|pues|entonces|si_no|ah|o_sea)(?!\w)
    closers (?:por_favor|porfa(?:_?vor)?|porfis|gracias|vale|ok|jaja\w*|jeje\w*|lol|(?<=,_)eh|y_ya_está|ya_está|por
        _cierto|tío|tía|che|si_puede_ser|si_puedes|de_nada|muchas_gracias|xd)(?!\w)
    courtesies por_favor|porfa|porfis
    fillers jaja\w*|por_cierto|lol
    requests (?:(?:puedes|podrías|(?:puede|podría)_(?:usted_)?\w+r(?:me|nos)|sabes|me_(?:puedes|podrías|dices|ayudas|
        recomiendas|das|haces|buscas|explicas))|qué|(?:cuál|cuánto|cuánta|cómo|dónde|cuándo|por_qué|quién)\w*|alguna
        _(?:idea|sugerencia|recomendación)|(?:dime|dame|búscame|escríbeme|hazme|explícame|ayúdame|recomiéndame|
        muéstrame|tradúceme|cuéntame|mira|busca|escribe|recuérdame|prepárame)_(?!siempre)|hay_(?:algún|alguna|algo)|
        necesito_(?:una?|que_me)|es_(?:posible|normal))(?!\w)
    doubts \b(?:a_lo_mejor|quizás?|tal_vez|puede_que|ni_idea|dud(?:o|amos)|haz_como_(?:que|si)|
        si|ojalá|imagina|imagínate|supón|supongamos|como_si|dice|dijo|dicen|decía|cree|opina|piensa|según|
        afirma|asegura|escribió|escribe_que|canción|poema|novela|cuento|personaje|cita|ejemplo|sueño|soñé|traduce|él|
        ella|ellos|parece_que|fuera|hubiera|tuviera|(?:corrige|traduce|reescribe|resume)_(?:este|esta|el|la)|sería|
        viviría)\b
    reports ^(?:los_|las_|la_)?(?:niñ[oa]s|gente|personas|hombres|mujeres)_|\b(?:dice|(?<!todos\sme\s)dicen|dijo|decía|
        cree|creen|opina|piensa|afirma|asegura|escribió|insiste|pone_que)\b
    voids ^¿?(?:por_qué|es_verdad_que|cómo|cuánt\w+|quién)_|^no_me_digas_que|^(?:por_favor_)?(?:escribe|escríbeme|
        cuéntame|redacta|inventa)_una?_(?![^.?!]*\b(?:siempre|cada)\b)|^(?:ah_|ay_|uy_|oh_|qué_)*(?:sí|genial|bien|
        claro|fantástico|estupendo|perfecto)[,.!_][^?]{0,60}\b(?:encantan?|adoro|amo)\b|^(?:genial|qué_bien|qué
        _ilusión|claro|sí_claro|sí,_claro|fantástico|maravilloso|estupendo)[,_!]|\b(?:es_broma|broma)\b|,
        _verdad\b[^,]*$|,_(?:verdad|no|cierto|a_que_sí)_?\?|me_encanta_(?:cuando|que)|,_(?:dice|dijo)_\w+
    moments (?:(?<!\w)(?:hoy|mañana_por|ahora_mismo|esta_vez|esta_(?:noche|mañana|tarde|semana)|ayer|en_este_momento|
        anoche_))(?!\w)
    remember (?:(?:por_favor|y|también|pues|oye|puedes)[,_]*)*(?:recuerda|recuerde|acuérdate|acordate|apunta|anota|
        toma_nota|ten_en_cuenta|ten_presente|no_(?:te_)?olvides|no_se_te_olvide|memoriza|guarda|que_no_se_te
        _olvide)(?!\w)(?:_(?:esto|por_favor|porfa|para_siempre|bien))*(?:_?[:,–-]|(?:_de)?_que(?!\w)|_(?=(?:mi|mis|el|
        la|soy|tengo|vivo)_[^?]*\b(?:es|son|tengo|soy|vivo|está|se_llama|tiene)\b)|(?=_\w+(?:ar|er|ir)_))
    abbreviations sra|srta|ud|uds|p.ej|pág|av|núm
    empty siempre|nunca|jamás|más|no|eso|esto|ese|esa|este|esta|aquello
    emphatic siempre|nunca|jamás|punto|por_favor
    relatives donde|quienes?|cuy[oa]s?
    calendar \b(?:lunes|martes|miércoles|jueves|viernes|sábados?|domingos?|enero|febrero|marzo|abril|mayo|junio|julio|
        agosto|septiembre|octubre|noviembre|diciembre)\b
    leading (?:el|la|los|las|al|del|en|a|con)_+
    since (?:en|desde)_+(?:enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre|
        [12]\d{3})|ayer|hoy|ahora|la_semana_pasada|el_(?:mes|año)_pasado
    topics (?:en|para|con|sobre)_
    feelings \b(?:fiebre|gripe|hasta_el_\w+|preguntas?|dudas?|retraso|señal|error\w*|fallo\w*|de_camino|otra_vez|lo
        _mismo)\b|\bmi_(?:tren|vuelo|bus|móvil|celular|código|script|ordenador|compu|internet)\b|\b(?:quiero|quería|
        quisiera|queremos|necesito|necesitamos|creo|pienso|sé|supongo|espero|siento|veo|entiendo|busco|intento|puedo|
        podemos|podría|debo|debería|acabo|olvidé|estoy_(?:muy|tan|harta?|cansad|mal|bien|en_(?:el|la|casa)|aquí|list|
        segur|perdid|liad|ocupad|aburrid|enferm|trist|content|hart|pensando|buscando|esperando|mirando|viendo|leyendo|
        escribiendo_(?:un_(?:correo|mensaje|mail))|probando|intentando)\w*|tengo_(?:que|un_(?:problema|duda|rato|
        examen|vuelo|mal)|una_(?:duda|pregunta|reunión|idea|cita)|hambre|sueño|frío|calor|sed|ganas|prisa|miedo_de|
        fiebre|razón|tiempo|dolor|mucho|muchas|la_(?:sensación|impresión))|voy_a_\w+r|vamos_a_\w+r|me_(?:duele|alegro|
        pregunto|parece|siento|gustaría|imagino|acuerdo|voy|quedo_dormid|refiero)|llevo_(?:todo|un_rato|horas|
        esperando)|ojalá|quizás?|tal_vez|casi|hago_(?:bien|mal)|soy_(?:yo|tont|idiota|un_desastre|feliz)|tengo_ganas|
        doy_(?:gracias|cuenta|igual)|me_da_igual|hago_falta|no_(?:sé|puedo|quiero|creo|entiendo|veo_(?:nada|por)))\b
"""
PHRASES = r"""
    fact (?:mi|mis|nuestr[oa]s?)_(?:[\w-]+_){1,4}?(?:se_llaman?|vive|viven|trabaja|estudia|nació|cumple|habla|tiene
        _(?!que|razón|un_(?:problema|resfriado)|fiebre)|tienen_(?!que|razón)|es_(?!muy|tan|que|un_(?:desastre|pesado|
        idiota)|genial|la_(?:mejor|peor)|el_(?:mejor|peor)|lo)|son_(?!muy|tan)|está_en_(?!casa|el_baño)|va_(?:al|a_la)|
        corre_en|usa|no_(?:come|puede_comer))_?\w
    change (?:yo_|nosotros_)?ya_no_(?!sé|puedo|quiero|entiendo|me_acuerdo|recuerdo|hay|importa|hace|es\b|está|me_gusta
        _esto|tenemos_|aguanto|tengo_(?:tiempo|ganas))(?P<old>(?:\w*[oé]|\w+mos|me_\w+|nos_\w+)\b[^,;!?]{2,60}?){end}
    fact (?:yo_)?soy_(?!yo|así|consciente|feliz|capaz|incapaz|tont|idiota|culpable|libre|consciente|que|el_|la_|lo_|un
        _desastre|tan|muy|más|menos|nadie|nada|un[oa]?_(?:poco|desastre|idiota))(?:un[ao]?_)?\w{4,}(?:{end}|,|_(?:y|en|
        de|con|desde|por)_)
    constraint (?:nunca|jamás)_(?!he|has|ha|había|hemos|me_(?:he|ha|había)|digas_nunca|es_tarde|se_|más\b|lo_|fui|vi\b|
        supe|pensé|te_rindas|olvides|dejes_de|imaginé|pude|tuve|estuve|quise)(?:les?_)?\w+(?:as|es)(?!\w)_\w
    rule? {ask}siempre_(?!pasa|hay|es_|me_\w+as_una?_)(?:(?:me|nos|le)_)?(?:{doing}|\w+(?:as|es|a|e)_(?:en|primero|el|
        la|los|las|con|un|una|mis|mi)\b|{infinitive})
    constraint no_{not}_(?!esto|eso|este|ese|esta|esa|lo\b|nada{end}|así|tonter|mentiras|caso|ahora|hoy|todavía|aún)\w
    constraint (?:tod[oa]s_l[oa]s|cada|cualquier|ningún|ninguna|nuestr[oa]s?|mis?)_(?:[\w/-]+_){1,5}?(?:deben?|tienen?
        _que|han?_de|debería\w*|pueden?|puede)_(?!ser_(?:difícil|bonito)|estar_(?:cans|bromeando))\w
    correction^ (?:es|son|se_llama|me_llamo)_{vague}[\w-]+_(?:con|sin|no_con|y_no)_\w
    correction^ (?:quería_decir|quise_decir|me_refería_a|digo)_(?!que\b)\w
    fact (?:yo_)?no_(?:como|bebo|fumo|conduzco|tomo|uso|trabajo_(?:los|en|de)|tengo_(?:coche|hijos|carnet|horno|
        mascotas)|hablo|comemos|usamos|tolero|bebemos|puedo_comer)_?(?!eso|esto|nada_hoy)\w
    preference (?:yo_)?no_(?:soporto|soportamos|aguanto){passing}_+\w
    rule? {ask}(?:llámame|ll[aá]mame|llamarme|díganme|dígame|trátame|tutéame|háblame|tratarme|hablarme)_(?!(?:el|la)_|
        luego|mañana|más_tarde|cuando|al\b|si\b|después|por_teléfono|de_nuevo|a_las)\w
    fact (?:yo_)?(?:tengo|tenemos)_(?!{fleeting}(?!\w))(?:una?_|dos_|tres_|cuatro_|\d+_|alergia|intolerancia|diabetes|
        asma|celia|hipertensión|migrañas|gastritis|ansiedad|hij\w+|perr\w+|gat\w+|mellizos|gemelos)\w*
    constraint~ nada_(?!más|que|nuevo)(?:[\w-]+_?){1,4}{end}
    change (?:(?:yo_)?me_(?:he_)?|nos_(?:hemos_)?)(?:mudé|mudado|mudamos|trasladé|trasladado|trasladamos)_(?:hace_poco
        _)?(?:de|desde)_{old}_a_\w
    change (?:(?:yo_)?me_(?:he_)?|nos_(?:hemos_)?)(?:mudé|mudado|mudamos|trasladé|trasladado|trasladamos)_a_(?!la
        _siguiente|otr|un)\w
    change (?:yo_)?(?:me_(?:pasé|cambié|he_pasado|he_cambiado)|nos_(?:pasamos|cambiamos|hemos_pasado)|(?:he|hemos)
        _(?:cambiado|migrado)|migré)_(?:de|desde)_{old}_a_\w
    change (?:yo_)?(?:cambié|he_cambiado|actualicé)_(?:mi|el)_[^,]{2,40}?_(?:del?|desde)_{old}_al?_\w
    change (?:yo_|nosotros_)?ya_no_(?!sé|puedo|quiero|entiendo|me_acuerdo|recuerdo|hay|importa|hace|es\b|está|me_gusta
        _esto|tenemos_|aguanto|tengo_(?:tiempo|ganas))(?P<old>(?:\w*[oé]|\w+oy|\w+mos|me_\w+|nos
        _\w+)\b[^,;!?]{2,60}?){end}
    change (?:he_dejado|hemos_dejado|dejé|dejamos)_de_(?P<old>\w+r\b[^,;!?]{0,50}?){end}
    change antes_(?P<old>(?:yo_)?\w+(?:ía|aba|íamos|ábamos)\b[^,;!?]{2,60}?),?_(?:y_|pero_)?ahora\b
    change* (?:cambiamos|hemos_cambiado|he_cambiado|cambié|reemplazamos|sustituimos)_{old}_por_\w
    change (?:mi|nuestr[oa])_[^,]{2,40}?_ya_no_es_{old},?_(?:ahora|sino)_\w
    constraint (?:tú_)?(?:debes|tienes_que|has_de)_(?:siempre_|nunca_)?{infinitive}\b
    constraint (?:(?:todas?_las|todos_los|las|los|tus|mis|cada|cualquier)_)?(?:\w+_)?{things}_(?:siempre_)?(?:deben|
        debe|tienen_que|tiene_que|han_de)_\w
    constraint (?:nunca_)?(?:bajo_ning(?:ún|una)_(?:concepto|circunstancia|pretexto)|en_ningún_caso|de_ninguna_manera)
        _\w
    constraint (?:jamás|nunca_jamás)_{not}\b
    constraint (?:es_(?:obligatorio|imprescindible)|está_prohibido|queda_prohibido)_(?:siempre_)?{infinitive}\b
    rule (?!nunca_digas)(?:nunca|no)_{not}_[^!?]{0,80}?(?:nunca|jamás|más)\b(?!_de\b)
    rule nunca_(?:más_)?{not}\b(?!_nunca)
    rule {now},?_(?!(?:voy|vamos|quiero|iré|soy|estoy|no_voy)\b)\w
    rule (?:en_el_futuro|para_el_futuro|en_adelante),?_(?:por_favor,?_)?(?:no_{not}|{asked})\b
    preference (?:(?:yo|nosotros)_)?(?:siempre_|normalmente_)?(?:prefiero|preferimos|preferiría|odio|odiamos|detesto|
        adoro|amo){passing}_+\w
    preference (?:a_(?:mí|nosotros)_)?(?:no_)?(?:me|nos)_(?:gustan?|encantan?|molestan?|agradan?|disgustan?)(?:
        _(?:mucho|muchísimo|más|bastante|nada))?{passing}_+\w
    preference mis?_\w[^,.!?]{1,40}?_(?:favorit|preferid)[oa]s?_(?:es|son)_\w
    correction* (?:es_)?no_(?:es_|era_)?(?!solo|sólo|solamente|tan\b|est[oe]\b|es[oe]\b)(?:(?:el|la|en|de|con|a)
        _)?{old},?_sino_(?!que|también|aquel|es[oe]\b|est[oe]\b)[^,]{2,50}$
    correction* (?:quería_decir|quise_decir|me_refería_a|dije|se_llama|es|mi_\w+_(?:es|se_llama))_[^,]{2,60}?,?_(?:y
        _)?no_(?:(?:el|la|en|a|con)_)?{old}{end}
    rule (?:quiero|quisiera|prefiero|le_ruego|te_ruego|te_pido|le_pido|me_gustaría|agradecería|te_agradecería)_que
        _(?:no_)?(?:siempre_|nunca_)?(?:me_|nos_)(?!ayud|digas_qué|expliques_(?:esto|qué)|hagas_un|des_un|escribas_un)\w
    rule (?:cuando|si)_(?:te|me|yo|pregunto|pido|escribo|digo|pida|hable)_?[^!?]{3,80}?,?_(?:me_refiero|quiero_decir|
        siempre|nunca|{doing}_siempre|no_{not})\b
    constraint (?:en|para|con|de|a|al|por)_[^,.!?]{2,40}?,?_(?:nada_de|(?:nunca|jamás|siempre)_(?={not}|{asked})|no
        _{not}|(?<=,_)(?:solo|sólo|sin|ningún|ninguna))_?(?!embargo|duda|más$|problema|que\b|he\b|había|se_me)\w
    constraint (?!eso|esto|él|ella|ellos|yo|tú|si|cuando|que|quien|se\b|hoy)(?:l[oa]s?_|el_)?(?:[\w/-]+
        _){1,4}?(?:nunca|jamás|siempre|no)_(?:deben?|pueden?|tienen?_que)_\w
    constraint no_(?:puedo|podemos)_(?:comer|beber|tomar|usar|conducir|trabajar)_(?!nada_ahora|esto|eso|hoy)\w
    preference (?:yo_)?(?:no_)?soy_(?:muy_)?fan_de_\w
    correction^ {np}{is}_{vague}(?:[\w'.:/@%€-]+_){0,7}?[\w'.:/@%€-]+(?:,?_(?:y_)?no_{old})?{end}
    fact (?:mi_(?:\w+_)?(?:nombre|apodo)_(?:es|completo_es)|(?:yo_)?me_llamo|me_dicen|todos_me_(?:llaman|dicen))_\w
    fact (?:yo_)?(?:so[yi]|somos)_(?:(?:también|muy|de_profesión|originalmente)_)?{lasting}
    fact (?:yo_)?(?:vivo|vivimos|trabajo|trabajamos|estudio|nací|crecí|resido|conduzco|hablo|toco|juego_(?:al|a_la)|
        colecciono|practico|enseño|doy_clase\w*|llevo_(?!un_rato|horas|mucho|esperando)|uso|usamos|utilizo|utilizamos|
        tomo|corro|cultivo|cr[ií]o|dirijo|comparto_piso|padezco|sufro|estoy_(?:casad|divorciad|jubilad|embarazad|
        embarazada|separad|en_paro|de_baja|estudiando|aprendiendo|a_dieta)\w*)_?(?!esto|eso|en_ello|mucho_(?:mejor|
        peor))(?:\w)
    change (?:he|hemos)_(?:adoptado|tenido|comprado)_una?_(?!problem|error|idea|duda)\w
    change (?:(?:he|hemos)_vendido|vend(?:í|imos))_(?:mi|nuestr[oa]|el|la)_{old}(?:{end}|_y_)
    rule? [¿¡]?(?P<ask>(?:puedes|podrías|puede|podría)_(?:por_favor_)?)\w+r(?:me|nos|le)?_(?:siempre|solo|sólo)_\w
    rule (?:deja|para|dejad)_de_(?!ser|mentir|molestar)\w+r(?:me)?_\w
    rule {doing}_(?:siempre|solo|sólo|en_(?!cinco|dos|tres|una|un|pocas|el|la|este|esta)\w+|sin_(?:emojis|tecnicismos|
        rodeos|tildes)|de_tú|de_usted|breve\w*|corto|con_mayúsculas|en_minúsculas)(?!\w)
    constraint (?:está_|queda_)?(?:terminantemente_)?(?:prohibido|prohibida)_\w
    preference (?:yo_)?(?:me_va_(?:más|mejor)|soy_más_de|no_soy_(?:muy_)?de|no_me_va|no_me_van|paso_de|no_quiero
        _(?:que_me|respuestas|mensajes|emojis))_\w
    decision (?:decisión|decidido|queda_decidido|está_decidido)(?:_final|_tomada)?[:,–—-]+_*\w
    correction^* (?:es|son|era|está|se_llama|me_llamo|se_escribe|vivo|trabajo|soy|fue)_{vague}(?:[\w'.:/@-]+
        _){0,6}?[\w'.:/@-]+{end}
    fact a_mi_\w+_(?:le_(?:da_alergia|encanta|gusta)|no_le_)\w*
    constraint cada_(?:[\w/-]+_){1,4}?(?:necesita|requiere|lleva|pasa_por)_\w
    rule {asked}_(?:me_)?(?:siempre_)?(?:más|menos)_(?:corto|breve|claro|simple|formal|largo|detallado|sencillo)\b
    constraint (?:todos_los|todas_las)_(?:{things}|horas|medidas|precios)_(?:en|con|sin)_\w
    correction* no_es_{old},_(?:sino_)?es_\w
    constraint nada_de_(?!eso|esto|nada)\w+_(?:antes|después|en|para|los|por_la|conmigo)_\w
    fact soy_(?-i:[A-ZÁÉÍÓÚÑ])\w+(?:{end}|_y_)
    correction* (?:soy|es|son|está|vivo_en|trabajo_en)_[^,]{2,40},_(?:y_)?no_(?:en_)?{old}{end}
    rule {asked}_[^,!?]{2,60}?,?_aunque_
    fact me_(?:dan?|produce[n]?)_(?:miedo|asco|alergia|pánico|náuseas)_\w
    correction^ [^,.!?]{2,40}?_no_(?:está_|es_|era_)?(?:en_|el_|la_)?{old},?_sino_\w
    constraint (?:l[oa]s|el|la)_(?:[\w/-]+_){1,3}?se_\w+_(?:solo|sólo|siempre|nunca|únicamente)_\w
    rule (?:tut[eé]ame|tutéeme|trátame_de_(?:tú|usted)|háblame_de_(?:tú|usted|vos)|háblales?_de_usted)\b
    constraint (?:nada_de|jamás)_(?!eso|esto|nada|nervios|miedo|prisa|llorar|drama)\w+{end}
    rule {situation}_(?:(?!nunca|siempre)[\w'-]+_){1,8}?(?:{asked}|\w+(?:me|lo|la|los|las))(?!\w)_\w
    constraint (?:l[oa]s?|el)_(?:[\w/-]+_){1,4}?(?:nunca|jamás|siempre|solo|sólo)_se_\w+_\w
    constraint (?:antes|después)_de_[^,.!?]{2,30}?,?_(?:no_{not}|no_me_\w+|nada_de)_\w
    rule (?:cada_vez_que|siempre_que)_[^!?]{3,80}?,_(?:por_favor,?_)?{asked}\b
    preference (?:quiero|prefiero|quisiera)_(?:(?:las|tus|unas)_)?(?:respuestas|explicaciones|mensajes|textos)_\w
    correction^ [^,.!?]{2,60}?,?_(?:y_)?no_(?!solo|sólo|sé|puedo|quiero|es\b|hay|me\b|lo\b|gracias)(?:(?:el|la|en|a|
        con)_)?{old}{end}
    change ahora_(?:vivo|trabajo|estudio)_en_\w
    change (?:me_(?:casé|he_casado|divorcié|jubilé|he_jubilado|gradué)|(?:he_)?adopt(?:é|ado|amos)|(?:acabo_de|
        acabamos_de)_(?:adoptar|mudar|tener_un|casar|empezar_a_trabajar|jubilar)\w*)_?\w
    rule (?:deja|para|basta|corta)_(?:ya_)?(?:de_|con_)?(?:l[oa]s|tant[oa]s?)_(?!tonter|mentira|juego)\w+_(?:conmigo|
        cuando|a_mí|en_(?:mis|tus|las_respuestas|los_mensajes))_?\w*
    preference me_(?:ponen_(?:nervios[oa]|de_los_nervios|mal)|sacan_de_quicio|aburren|irritan|cansan)_(?!esos|estas?|
        estos|tus)\w
    change desde_(?!ayer|hoy|hace|anoche|siempre|las?_)(?:\w+_){0,2}\w+,?_(?:vivo|trabajo|estudio|uso|soy|vivimos|
        usamos)_\w
    rule cuando_(?:me_|te_|yo_)[^!?]{3,80}?_{asked}_(?:\w+_)?siempre\b
    constraint (?!eso|esto|él|ella|yo|tú|se\b)(?:l[oa]s?_|el_)?(?:[\w/-]+_){1,4}?(?:deben?|tienen?_que)_(?:\w+
        _){0,3}?(?:siempre|nunca|solo|sólo|obligatoriamente)\b
    constraint (?:nunca_|jamás_|no_|siempre_)(?:debemos|podemos|tenemos_que|se_(?:debe|puede|hace|sube|usa|permite))
        _(?!olvidar|hacer_nada|saber)\w
    constraint (?:sin|solo|sólo|únicamente)_(?!embargo|duda|querer|problema|quería|quiero|era|es\b|que\b|una_pregunta|
        por\b)(?:\w+_){1,4}?(?:por_favor|porfa|para_mí|en_mis)\b
    preference (?!eso|esto|ese|esta|si|cuando)(?:el_|la_|los_|las_)?[\w-]+(?:_[\w-]+){0,3},?_(?:no_)?(?:me_(?:encanta|
        encantan|gusta_mucho|da_asco|dan_asco|sienta_mal|sientan_mal)|l[oa]s?_(?:odio|detesto|adoro))\b
    constraint (?:(?:todos_)?los|(?:todas_)?las)_(?:{things}|horas|medidas|precios)_(?:siempre|solo|sólo)_(?:en|con|
        sin|como)_\w
    constraint~ (?:nada_de|sin|ningún|ninguna|solo|sólo)_(?!duda|problema|eso|esto)(?:\w+_){0,4}?\w+{end}
    constraint~ (?:en|para|con)_(?:[\w-]+_){1,3}?(?:sin|solo|sólo)_\w
    constraint no_me_(?!digas_que|jodas|hagas_(?:reír|esto)|tomes|mientas|dejes)\w+(?:es|as)_(?!esto|eso|así|nada\b)\w
    rule (?:le|te)_(?:pido|ruego|agradezco)_que_(?:en_adelante_|a_partir_de_ahora_|siempre_|nunca_)(?:no_)?\w
    correction^ {np}\w+_(?:en|a|con|por|de)_[^,?!]{0,30}(?:\d|(?-i:[A-ZÁÉÍÓÚÑ]))[^,?!]{0,20}{end}
    constraint (?!que|eso|esto|ya|aún)(?:l[oa]s|el|la)_(?:[\w/-]+_){1,5}?(?:no|nunca)_se_\w+n?_(?!sabe|puede_más|nada)\w
"""
TABLE = table(WORDS, AROUND, PHRASES)
