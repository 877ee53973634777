"""Words that announce a secret in many languages, and words that describe passwords."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Language:
    """Lower-case patterns for the names of secrets in a language, and for the words around them.

    Secrets in plain words are only found in languages with `codes`, since only these are known well enough.

    Attributes:
        names: Names of secrets that may be plain words.
        cues: Words, separated by spaces. Each name contains one of them, which makes the search fast.
        keys: Names of secrets that are never plain words.
        codes: Names of secrets that consist of digits.
        links: Words for "is", in addition to ANY_LINK.
        is_link_optional: The secret may follow its name directly.
        prepositions: Words that begin a phrase such as "for the router".
        quality_endings: Endings of words that describe a password.
        possessives: Words such as "my". After these, plain words may follow the name without a link.
        verb_endings: Endings of verbs, which are not such plain words.
        is_han: The language is written without spaces.
    """

    names: str
    cues: str
    keys: str = ""
    codes: str = ""
    links: str = ""
    is_link_optional: bool = False
    prepositions: str = ""
    quality_endings: str = r"(?!)"
    possessives: str = ""
    verb_endings: str = r"(?!)"
    is_han: bool = False


ANY_LINK = (
    "is|was|ist|lautet|est|c['’]est|es|era|è|é|és|este|luidt|är|jest|brzmi|είναι|это|це|là|adalah|ialah|yaitu|คือ|"
    "هي|هو|است|היא|הוא|yra"
)
"""Words for "is" that have no other meaning in another language. All languages need them, since names such as
`password` are borrowed from English."""

LANGUAGES = (
    Language(
        names=r"pass ?word|pass ?phrase|pass ?code|passwd|(?<![^\W_])pwd?|(?:secret|code|safe) ?word|"
        r"secret (?:phrase|answer)|security answer|(?:wi-?fi|network|wlan) key|login key|master key",
        codes=r"(?:pin(?:[ -]?(?:code|number))?|puk(?: code)?|cvv|cvc|otp|pass ?code|"
        r"(?:access|security|login|(?:un)?lock|verification|confirmation|authentication|one[ -]time|card|sim) code|"
        r"(?:(?:front|back|side|main)[ -])?(?:door|gate|garage|entry|entrance|alarm|building|lobby|keypad|lock ?box|"
        r"key ?safe|safe|vault|locker|suitcase|padlock|bike lock|intercom|buzzer)(?:['’]s)? (?:code|combination)|"
        r"(?:code|combination) (?:for|of|to|on|at) (?:the|my|our|your|his|her|their) (?:[^\W\d_]+ ){0,2}?"
        r"(?:door|gate|garage|alarm|building|house|safe|locker|lock|intercom|entrance|vault|suitcase))",
        keys=r"pwd|api[ _-]?key|secret[ _-]?(?:access[ _-]?)?key|"
        r"(?:private|signing|encryption|account|shared[ _-]?access)[ _-]?key|"
        r"(?:client|app|consumer|shared|jwt|webhook)[ _-]?secret|(?:access|auth|secret|bot|refresh|session)[ _-]?token|"
        r"aws[ _-]secret(?:[ _-]access)?(?:[ _-]key)?|(?<![^\W_])(?:secret|token|pass)(?=[\"']\s*[:=]|\s*=)",
        cues="token pass pw safe secret security key pin puk cv otp code combin",
        links="is|was|are|were|will be|is now|is still|is called|reads",
        prepositions="for|of|to|on|at|in|from",
        quality_endings=r"(?:ed|ing|able|ible|ly|less)$",
    ),
    Language(
        names=r"passwort|kennwort|passphrase|losungswort|codewort|geheimwort|zugangswort|sicherheitsantwort|"
        r"(?:netzwerk|wlan|wifi)-?schlüssel",
        codes=r"(?:pin(?:-?(?:code|nummer))?|puk|geheimzahl|geheimnummer|geheimcode|kartenprüfnummer|cvv|cvc|zahlencode|"
        r"(?:sms|push|mobile|m)?-?tan(?=:| ist| lautet)|"
        r"(?:zugangs|sicherheits|freischalt|entsperr|bestätigungs|zugriffs|prüf|verifizierungs)code|"
        r"(?:(?:haus|wohnungs|garagen|keller|hof|eingangs)?tür|tor|alarm|tresor|safe|(?:zahlen|fahrrad)?schloss|garagen|"
        r"eingangs|haus|schließfach|koffer)-?(?:code|kombination)|"
        r"(?:code|kombination) (?:für|von|vom|zu|zum|zur|der|des|am|an der) (?:(?:die|den|das|der|dem|unsere[nmr]?|"
        r"meine[nmr]?|unser|mein) )?(?:[a-zäöüß]*(?:tür|tor|tresor|safe|schloss|schlosses|alarmanlage)|garage|haus|"
        r"schließfach|koffer))",
        keys=r"geheimer schlüssel|zugangscode",
        cues="wort passphrase schlüssel pin puk geheim nummer tan cv code kombin",
        links="ist|war|lautet|lautete|heißt|wird|ist jetzt|ist nun|wäre",
        prepositions="für|von|vom|zu|zum|zur|im|am|in|der|des|meiner|meines|unserer|unseres",
        quality_endings=r"(?:^(?:ge|ver|be|er|zer|ent|ab|auf|aus|ein|an|hinter|zurück)\w+(?:t|en)|bar|lich|los|stellig)$",
    ),
    Language(
        names=r"парол(?:ь|я|ем|ю)|(?:кодовое|секретное|парольное) слово|(?:кодовая|секретная|парольная|ключевая) фраза|"
        r"ключ (?:сети|wi-?fi|вайфая|доступа)|ответ на (?:секретный|контрольный) вопрос",
        codes=r"(?:(?:пин|pin)(?:[ -]?код[а-я]?)?|(?:пук|puk)(?:[ -]?код)?|(?:cvv|cvc|цвв)(?:[ -]?код)?|секретный код|"
        r"код (?:доступа|безопасности|подтверждения|разблокировки|карты|из смс|активации|домофона|двери|подъезда|сейфа|"
        r"сигнализации|калитки|ворот|гаража|замка)|код (?:от|для|к|на) (?:[^\W\d_]+ )?(?:двер|подъезд|домофон|калитк|"
        r"ворот|гараж|сейф|сигнализаци|замк|шкафчик)[а-я]*)",
        keys=r"секретный ключ|ключ api",
        cues="парол слово фраза ключ ответ пин pin пук puk cv цвв код",
        links="это|есть|был|была|было|будет|теперь|сейчас|такой|такая|следующий|стал",
        prepositions="от|для|к|на|в|из|у",
        quality_endings=r"(?:[ыио]й|ая|ое|ен|ён|ано|ено|ся|сь)$",
        possessives="мой|моя|мои|наш|наша|мо[её]|запомни:?|запомните:?",
        verb_endings=r"(?:ет|ёт|ит|ут|ют|ат|ят|ся|сь|л|ли|ть)$",
        is_link_optional=True,
    ),
    Language(
        names=r"парол(?:ь|я|ем|ю)|(?:кодове|секретне|парольне) слово|(?:кодова|секретна|парольна|ключова) фраза|"
        r"ключ (?:мережі|wi-?fi|вайфаю|доступу)|відповідь на (?:секретне|контрольне) питання",
        codes=r"(?:(?:пін|pin)(?:[ -]?код[а-яі]?)?|(?:пук|puk)(?:[ -]?код)?|(?:cvv|cvc)(?:[ -]?код)?|секретний код|"
        r"код (?:доступу|безпеки|підтвердження|розблокування|картки|з смс|активації|домофона|домофону|дверей|"
        r"під['’]їзду|сейфа|сигналізації|хвіртки|воріт|гаража|замка)|код (?:від|для|до|на) (?:[^\W\d_]+ )?(?:двер|"
        r"під['’]їзд|домофон|хвіртк|воріт|гараж|сейф|сигналізаці|замк)[а-яіїє]*)",
        keys=r"паролі|секретний ключ|ключ api",
        cues="парол слово фраза ключ відповідь пін pin пук puk cv код",
        links="це|є|був|була|було|буде|тепер|зараз|такий|така|наступний|став",
        prepositions="від|для|до|на|в|у|з|із",
        quality_endings=r"(?:ий|ій|ене|ено|ано|ся|сь)$",
        possessives="мій|моя|моє|наш|наша|запам['’]ятай:?|запам['’]ятайте:?",
        verb_endings=r"(?:є|ить|еть|ють|уть|ать|ять|ся|сь|в|ла|ли|ти)$",
        is_link_optional=True,
    ),
    Language(
        names=r"(?<!gestor de )contrase[ñn]a(?: maestra| secreta)?|contrasenya|"
        r"clave (?:secreta|maestra|de acceso|de red|wi-?fi|personal)|"
        r"clave(?= (?:del|de la|de mi|de nuestro|para el|para la) (?:wi-?fi|router|red|correo|banco|tarjeta|móvil|"
        r"cuenta|teléfono|ordenador))|palabra (?:clave|secreta|de paso)|frase (?:secreta|de acceso|de contraseña)|"
        r"(?<![^\W_])password",
        codes=r"(?:pin|puk|cvv|cvc|(?:código|codigo) (?:pin|puk|secreto|de (?:acceso|seguridad|verificación|desbloqueo|"
        r"confirmación|la tarjeta|mi tarjeta))|clave numérica|número secreto|pin secreto|"
        r"(?:código|codigo|combinación|clave) (?:del?|de la|de mi|de nuestr[oa]|para el|para la) (?:puerta|portal|"
        r"portero|garaje|alarma|edificio|casa|caja fuerte|candado|taquilla|entrada))",
        keys=r"clave (?:api|del wifi)|clau secreta",
        cues="clau contrase clave palabra frase password pin puk cv digo número combinación",
        links="es|era|será|son|es ahora|sería",
        prepositions="de|del|para|en|al",
        quality_endings=r"(?:ad[oa]|id[oa]|able|ible|mente|ísima)$",
    ),
    Language(
        names=r"(?<!gestionnaire de )mot de passe(?: maître| principal)?|(?<![^\W_])mdp|mot secret|"
        r"phrase (?:secrète|de passe)|code ?wi-?fi|passphrase|"
        r"clé (?:wi-?fi|du wi-?fi|réseau|de sécurité)|réponse secrète|(?<![^\W_])password",
        codes=r"(?:pin|puk|cvv|cvc|cryptogramme(?: visuel)?|code (?:pin|puk|secret|confidentiel|personnel|d['’]accès|"
        r"de (?:sécurité|déverrouillage|vérification|confirmation|(?:ma|la) carte))|digicode|(?:code|combinaison) "
        r"(?:du |de (?:la |l['’]|ma |mon |notre )?|d['’]|pour (?:la |le |l['’]))(?:porte|portail|immeuble|entrée|"
        r"alarme|garage|coffre|cadenas|interphone|maison|casier))",
        keys=r"code secret|clé (?:secrète|api|d['’]accès)",
        cues="pass mdp secr wifi wi-fi clé pin puk cv crypto code combin",
        links="est|était|sera|c['’]est|reste|serait",
        prepositions="de|du|des|pour|d['’]|sur|à|au",
        quality_endings=r"(?:é|ée|és|ible|able|ment|eux)$",
    ),
    Language(
        names="密码|密碼|口令|暗号|暗號|密语|密語|通行码|密钥|密鑰|口令词|安全词",
        codes="(?:(?<![a-z])(?:pin|puk|cvv)(?:码|碼)?|验证码|驗證碼|安全码|安全碼|门禁码|门锁码|开门码|解锁码|解鎖碼|提取码|校验码|动态码|识别码)",
        cues="密 口令 暗 码 碼 安全词 pin puk cvv",
        links="是|为|為|就是|等于",
        is_link_optional=True,
        is_han=True,
    ),
    Language(
        "parola d['’]ordine|parola chiave|chiave (?:segreta|api|d['’]accesso)|codice segreto", "parola chiave codice"
    ),
    Language(
        "senhas?\\b|palavra[- ]passe|chave (?:secreta|api|de acesso)|código secreto", "senha palavra chave código"
    ),
    Language("parolă|parola (?:mea|contului|wifi)|cheia secretă", "parol cheia", links="e"),
    Language("wachtwoord|toegangscode|geheime sleutel", "wachtwoord toegangscode sleutel"),
    Language("lösenord(?:et)?|hemlig nyckel", "lösenord nyckel"),
    Language(
        "passord(?:et)?|adgangskoden?|kodeord(?:et)?|løsenord", "passord adgangskode kodeord løsenord", links="er"
    ),
    Language("salasana(?:ni|mme)?|tunnussana", "salasana tunnussana", links="on"),
    Language(r"(?<![^\W_])has[łl](?:o|a|em)\b|tajny klucz|klucz (?:api|dostępu)", "has klucz", links="to"),
    Language(
        r"(?<![^\W_])(?:hesl(?:o|a|em)\b|tajný k[lľ][íú]č|lozink[aeu]\b|zapork[ae]\b|šifr[aeu]\b)",
        "hesl tajn lozink zapork šifr",
        links="je|zní|znie",
    ),
    Language("jelsz(?:ó|av)\\w{0,4}", "jelsz", links="az?", is_link_optional=True),
    Language("şifre\\w{0,6}|parola(?:m|mız|sı|nız)\\b|gizli anahtar", "şifre parola gizli", is_link_optional=True),
    Language("slaptažodis|salasõna|parool", "slaptažodis salasõna parool", links="ir|on"),
    Language("парола(?:та)?\\b|лозинка|шифрата", "парола лозинка шифрата", links="е|је"),
    Language("κωδικ(?:ός|ο)\\w{0,2}(?: πρόσβασης)?|συνθηματικό", "κωδικ συνθηματικό"),
    Language("סיסמ[האת]\\w{0,3}", "סיסמ", is_link_optional=True),
    Language(
        "كلمة (?:المرور|السر)|الرقم السري|رمز عبور|گذرواژه|پسورد", "كلمة الرقم رمز گذرواژه پسورد", is_link_optional=True
    ),
    Language("पासवर्ड", "पासवर्ड", links="है", is_link_optional=True),
    Language("mật khẩu|kata (?:sandi|laluan|kunci)|รหัสผ่าน", "khẩu kata รหัสผ่าน", is_link_optional=True),
    Language(
        "パスワード|暗証番号|合言葉|秘密鍵|シークレットキー|パスコード",
        "パス 暗証 合言葉 秘密鍵 シークレット",
        links="は|が",
        is_link_optional=True,
    ),
    Language("비밀번호|패스워드|암호", "비밀번호 패스워드 암호", links="는|은|가|이", is_link_optional=True),
)

LIGHT = frozenset(
    (
        "a an the this that these those my your our his her its their i you he she it we they me him us them who whom "
        "whose what which when where why how if because since until while after before and or but so not no never "
        "always often sometimes usually still just only also even again already too very quite rather more most less "
        "least much many some any every each all both none nothing something anything somebody someone nobody of in "
        "on at by to for from with without about into onto over under behind inside near as than then there here now "
        "today tomorrow yesterday is are was were be been being am do does did has have had can could may might must "
        "should would will shall isn't wasn't doesn't don't can't won't please via per one's going ein eine einen "
        "einem einer eines der die das den dem des dies diese dieses mein meine meinem meinen dein deine sein seine "
        "ihr ihre unser unsere ich du er sie es wir mir mich dir dich uns wer wann wo wie warum ob wenn weil und oder "
        "aber denn sondern doch nicht kein keine keinen nie niemals immer oft manchmal meist noch nur auch schon "
        "wieder zu sehr ganz ziemlich mehr weniger viel viele etwas nichts alle alles jede jeder jedes auf aus bei "
        "beim bis durch für gegen hinter im mit nach ohne seit über um unter von vom vor zum zur zwischen als dann da "
        "dort hier jetzt heute gestern morgen ist sind war waren wird werden wurde hat habe haben kann muss soll darf "
        "bitte dass genau leider einfach eh ja я ты он она оно мы вы они меня тебя его её нас вас их мне тебе ему ей "
        "нам вам им мой моя моё мои твой наш ваш свой этот эта это эти тот та то те кто что какой где когда как "
        "почему зачем если чтобы потому и или но а да не ни нет никогда всегда часто иногда обычно ещё еще уже снова "
        "опять только лишь тоже также очень слишком довольно больше меньше более менее много мало все всё каждый "
        "любой в во на по за под над от до для из у о об с со к при без через после перед между там тут здесь сейчас "
        "сегодня вчера завтра был была было были будет будут есть можно нужно надо нельзя пора лучше чем тогда потом "
        "так такой такая такое всех один одна ти він вона воно ми ви вони мене його її їх мені тобі йому їй їм мій "
        "моє мої твій свій цей ця це ці той ті хто що який де коли як чому навіщо якщо щоб бо тому і й або але ні "
        "немає ніколи завжди іноді зазвичай ще вже знову тільки лише теж також дуже занадто досить більше менше "
        "багато всі кожен будь-який під від з із зі після між зараз сьогодні вчора був була було були буде будуть є "
        "можна треба потрібно слід краще ніж тоді потім такий така таке un una unos unas el la los las lo este esta "
        "esto ese esa eso aquel mi mis tu tus su sus nuestro nuestra yo tú él ella nosotros te se nos le les quien "
        "quién que qué cuando cuándo donde dónde como cómo por porque si y e o u pero sino nunca jamás siempre "
        "todavía aún ya solo sólo también otra otro vez muy demasiado bastante más menos mucho mucha algo nada todo "
        "toda todos cada de del al en con sin para sobre desde hasta entre bajo tras según ahora hoy ayer mañana aquí "
        "ahí allí son era fue está están estaba ha hay puede debe tiene así tan igual favor une l' ce cet cette ces "
        "mon ma mes ton ta tes sa ses notre votre vos leur je il elle nous vous ils elles lui qui quoi quand où "
        "comment pourquoi parce et ou mais donc car ni ne pas plus jamais toujours souvent parfois encore déjà "
        "seulement aussi très trop assez bien moins beaucoup rien tout toute tous chaque d' à au aux dans sur sous "
        "avec sans pour par chez vers depuis avant après contre maintenant aujourd'hui demain ici là est sont était "
        "ont été peut doit faut n'est c'est celui celle svp merci "
    ).split()
)
"""Function words, which end a password and are never part of one. All languages share the list, since names of secrets
are borrowed."""

QUALITIES = frozenset(
    (
        "safe secure insecure strong weak good bad better best worse worst fine ok okay wrong right correct incorrect "
        "old new same different similar identical long longer short shorter easy hard difficult simple complex unique "
        "random secret private public shared personal important useless useful necessary needed optional mandatory "
        "missing empty blank invalid valid unknown known lost gone stolen hidden written broken forgotten set reset "
        "due ready temporary permanent default weird funny silly stupid terrible great hell annoying case sensitive "
        "one two three four five six seven eight nine ten eleven twelve sixteen digits digit characters character "
        "letters words numbers long-lived up down out off back help unsafe awful visible readable guessable "
        "alphanumeric numeric kept told given taken sent held made found left chosen shown seen got put cut built "
        "spelt stuck none null nil true false undefined rules first later everywhere somewhere elsewhere impossible "
        "mine yours sicher unsicher stark schwach gut schlecht besser schlechter falsch richtig korrekt alt neu "
        "gleich dasselbe anders ähnlich lang länger kurz kürzer leicht schwer schwierig einfach komplex einzigartig "
        "zufällig geheim privat öffentlich persönlich wichtig nötig notwendig erforderlich pflicht leer ungültig "
        "gültig unbekannt bekannt weg verloren kaputt fällig bereit fertig vorläufig komisch blöd doof egal "
        "abgelaufen vergessen gesperrt gespeichert geändert gestohlen geknackt vierstellig sechsstellig achtstellig "
        "eins zwei drei vier fünf sechs sieben acht neun zehn zwölf zeichen ziffern stellen buchstaben wörter hilfe "
        "überall irgendwo erlaubt verboten верный неверный правильный неправильный старый новый тот сложный простой "
        "длинный короткий надёжный надежный слабый сильный безопасный случайный общий личный секретный важен нужен "
        "обязателен пуст пустой неизвестен известен забыт утерян изменён изменен сохранён сохранен истёк истек "
        "устарел готов верен неверен прежний временный недействителен действителен четыре шесть восемь цифры цифр "
        "символов букв знаков помогите спасибо срочно правильний неправильний старий новий складний простий довгий "
        "закороткий надійний слабкий сильний безпечний випадковий спільний особистий секретний важливий потрібен "
        "обов'язковий порожній невідомий відомий забутий втрачений змінено збережено застарів прострочений готовий "
        "вірний невірний колишній тимчасовий недійсний дійсний чотири шість вісім цифри символів літер знаків "
        "допоможіть дякую терміново segura insegura fuerte débil buena mala mejor peor correcta incorrecta vieja "
        "antigua nueva misma distinta diferente parecida larga corta fácil difícil sencilla compleja única aleatoria "
        "secreta privada pública compartida importante necesaria obligatoria opcional vacía inválida válida "
        "desconocida conocida perdida caducada olvidada guardada temporal rara tonta errónea falsa dormir cuatro seis "
        "ocho doce dígitos cifras caracteres letras ayuda gracias imposible sûr sécurisé fort faible bon mauvais "
        "meilleur pire vieux ancien nouveau même différent court facile difficile complexe aléatoire privé partagé "
        "personnel nécessaire obligatoire optionnel vide invalide valide inconnu connu perdu expiré oublié volé faux "
        "juste temporaire bizarre nul introuvable quatre huit douze chiffres caractères lettres aide "
    ).split()
)
"""Words that describe a password, or what happened to it."""

HAN_LIGHT = tuple(
    (
        "什么 什麼 多少 哪 谁 誰 错 錯 对 對 不 很 太 又 安全 空 必 已 在 由 用 我 你 他 她 它 "
        "这 這 那 一 两 三 四 五 六 七 八 九 十 至 要 应 應 可 需 随 隨 新 旧 舊 自 弱 强 強 "
        "长 長 短 简 簡 复 複 過 过 正 好 坏 壞 忘 改 被 没 沒 有 怎 每 最 更 非 无 無 唯 公 "
        "私 个 個 同 相 重要 保密 加密 默认 默認 临时 臨時 谢 请 請 了 否 见 見 看 问 問 存 放 写 "
        "寫 如何 为 為 因 而 "
    ).split()
)
"""Chinese words of both kinds. Text that begins with one is not a password."""

SEED_NAMES = (
    "(?:seed|recovery|mnemonic|backup)(?:[ -](?:phrase|words|key))?|(?:сид|сід)[ -]?фраза|фраза восстановления|"
    "фраза відновлення|wiederherstellungsphrase|frase (?:semilla|de recupera(?:ción|ção)|semente|di recupero|seed)|"
    "phrase de récupération|助记词|fraza odzyskiwania|(?:リカバリー|シード)フレーズ"
)
SEED_CUES = ("seed", "recovery", "mnemonic", "backup", "фраз", "phrase", "frase", "助记词", "fraza", "フレーズ")
"""Each of SEED_NAMES contains one of these, in lower case."""
NEVER_IN_SEEDS = frozenset(
    "the and for are was has had not but his her she him out our your from have been were into than them their would "
    "could should der die das und ist nicht ein eine mit los las una que con por les des est pas une dans pour это что "
    "как или для при".split()
)
"""Common words that are in no word list for seed phrases."""
