"""How seven languages tell a secret in plain words: `my password is sunshine`; and how they tell of passwords else."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sentences:
    """What announces a secret in a language. All but cues are regular expressions, for small letters.

    names: of secrets that can be words; codes: of those that are digits. cues: one of them stands in each of both,
    which makes looking for them fast. links: what stands for `is`. ties: what begins the words on what a secret is for.
    like: how words end that say what a password is like. mine: what stands before a name where the secret may follow
    without a link, unless it ends like a verb (verbs). is_han: written without spaces.
    """

    names: str
    codes: str
    cues: tuple[str, ...]
    links: str
    ties: str = ""
    like: str = r"(?!)"
    mine: str = ""
    verbs: str = r"(?!)"
    is_han: bool = False


SENTENCES = (
    Sentences(
        names=r"pass ?word|pass ?phrase|pass ?code|passwd|\bpwd|\bpw|(?:secret|code|safe) ?word|"
        r"secret (?:phrase|answer)|security answer|(?:wi-?fi|network|wlan) key|login key|master key",
        codes=r"(?:pin(?:[ -]?(?:code|number))?|puk(?: code)?|cvv|cvc|otp|pass ?code|"
        r"(?:access|security|login|(?:un)?lock|verification|confirmation|authentication|one[ -]time|card|sim) code)",
        cues=("pass", "pw", "word", "secret", "answer", "key", "pin", "puk", "cv", "otp", "code"),
        links="is|was|are|were|will be|is now|is still|is called|reads",
        ties="for|of|to|on|at|in|from",
        like=r"(?:ed|ing|able|ible|ly|less)$",
    ),
    Sentences(
        names=r"passwort|kennwort|passphrase|losungswort|codewort|geheimwort|zugangswort|sicherheitsantwort|"
        r"(?:netzwerk|wlan|wifi)-?schlüssel",
        codes=r"(?:pin(?:-?(?:code|nummer))?|puk|geheimzahl|geheimnummer|geheimcode|kartenprüfnummer|cvv|cvc|zahlencode|"
        r"(?:sms|push|mobile|m)?-?tan(?=:| ist| lautet)|"
        r"(?:zugangs|sicherheits|freischalt|entsperr|bestätigungs|zugriffs|prüf|verifizierungs)code)",
        cues=("wort", "passphrase", "schlüssel", "pin", "puk", "geheim", "nummer", "tan", "cv", "code"),
        links="ist|war|lautet|lautete|heißt|wird|ist jetzt|ist nun|wäre",
        ties="für|von|vom|zu|zum|zur|im|am|in|der|des|meiner|meines|unserer|unseres",
        like=r"(?:^(?:ge|ver|be|er|zer|ent|ab|auf|aus|ein|an|hinter|zurück)\w+(?:t|en)|bar|lich|los|stellig)$",
    ),
    Sentences(
        names=r"парол(?:ь|я|ем|ю)|(?:кодовое|секретное|парольное) слово|(?:кодовая|секретная|парольная|ключевая) фраза|"
        r"ключ (?:сети|wi-?fi|вайфая|доступа)|ответ на (?:секретный|контрольный) вопрос",
        codes=r"(?:(?:пин|pin)(?:[ -]?код[а-я]?)?|(?:пук|puk)(?:[ -]?код)?|(?:cvv|cvc|цвв)(?:[ -]?код)?|секретный код|"
        r"код (?:доступа|безопасности|подтверждения|разблокировки|карты|из смс|активации))",
        cues=("парол", "слово", "фраза", "ключ", "ответ", "пин", "pin", "пук", "puk", "cv", "цвв", "код"),
        links="это|есть|был|была|было|будет|теперь|сейчас|такой|такая|следующий|стал",
        ties="от|для|к|на|в|из|у",
        like=r"(?:[ыио]й|ая|ое|ен|ён|ано|ено|ся|сь)$",
        mine="мой|моя|мои|наш|наша|мо[её]|запомни:?|запомните:?",
        verbs=r"(?:ет|ёт|ит|ут|ют|ат|ят|ся|сь|л|ли|ть)$",
    ),
    Sentences(
        names=r"парол(?:ь|я|ем|ю)|(?:кодове|секретне|парольне) слово|(?:кодова|секретна|парольна|ключова) фраза|"
        r"ключ (?:мережі|wi-?fi|вайфаю|доступу)|відповідь на (?:секретне|контрольне) питання",
        codes=r"(?:(?:пін|pin)(?:[ -]?код[а-яі]?)?|(?:пук|puk)(?:[ -]?код)?|(?:cvv|cvc)(?:[ -]?код)?|секретний код|"
        r"код (?:доступу|безпеки|підтвердження|розблокування|картки|з смс|активації))",
        cues=("парол", "слово", "фраза", "ключ", "відповідь", "пін", "pin", "пук", "puk", "cv", "код"),
        links="це|є|був|була|було|буде|тепер|зараз|такий|така|наступний|став",
        ties="від|для|до|на|в|у|з|із",
        like=r"(?:ий|ій|ене|ено|ано|ся|сь)$",
        mine="мій|моя|моє|наш|наша|запам['’]ятай:?|запам['’]ятайте:?",
        verbs=r"(?:є|ить|еть|ють|уть|ать|ять|ся|сь|в|ла|ли|ти)$",
    ),
    Sentences(
        names=r"(?<!gestor de )contrase[ñn]a(?: maestra| secreta)?|contrasenya|"
        r"clave (?:secreta|maestra|de acceso|de red|wi-?fi|personal)|"
        r"clave(?= (?:del|de la|de mi|de nuestro|para el|para la) (?:wi-?fi|router|red|correo|banco|tarjeta|móvil|"
        r"cuenta|teléfono|ordenador))|palabra (?:clave|secreta|de paso)|frase (?:secreta|de acceso|de contraseña)|"
        r"\bpassword",
        codes=r"(?:pin|puk|cvv|cvc|(?:código|codigo) (?:pin|puk|secreto|de (?:acceso|seguridad|verificación|desbloqueo|"
        r"confirmación|la tarjeta|mi tarjeta))|clave numérica|número secreto|pin secreto)",
        cues=("contrase", "clave", "palabra", "frase", "password", "pin", "puk", "cv", "digo", "número"),
        links="es|era|será|son|es ahora|sería",
        ties="de|del|para|en|al",
        like=r"(?:ad[oa]|id[oa]|able|ible|mente|ísima)$",
    ),
    Sentences(
        names=r"(?<!gestionnaire de )mot de passe(?: maître| principal)?|\bmdp|mot secret|"
        r"phrase (?:secrète|de passe)|code ?wi-?fi|passphrase|"
        r"clé (?:wi-?fi|du wi-?fi|réseau|de sécurité)|réponse secrète|\bpassword",
        codes=r"(?:pin|puk|cvv|cvc|cryptogramme(?: visuel)?|code (?:pin|puk|secret|confidentiel|personnel|d['’]accès|"
        r"de (?:sécurité|déverrouillage|vérification|confirmation|(?:ma|la) carte)))",
        cues=("pass", "mdp", "secr", "wifi", "wi-fi", "clé", "pin", "puk", "cv", "crypto", "code"),
        links="est|était|sera|c['’]est|reste|serait",
        ties="de|du|des|pour|d['’]|sur|à|au",
        like=r"(?:é|ée|és|ible|able|ment|eux)$",
    ),
    Sentences(
        names="密码|密碼|口令|暗号|暗號|密语|密語|通行码|密钥|密鑰|口令词|安全词",
        codes="(?:(?<![a-z])(?:pin|puk|cvv)(?:码|碼)?|验证码|驗證碼|安全码|安全碼|解锁码|解鎖碼|提取码|校验码|动态码|识别码)",
        cues=("密", "口令", "暗", "码", "碼", "安全词", "pin", "puk", "cvv"),
        links="是|为|為|就是|等于",
        is_han=True,
    ),
)
"""The languages in which a secret in plain words is known: those that the bot speaks."""

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
"""Words that no password is, and that end one. Names are borrowed everywhere, so all languages share the list."""

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
"""Words that say what a password is like, or what became of it."""

HAN_LIGHT = tuple(
    (
        "什么 什麼 多少 哪 谁 誰 错 錯 对 對 不 很 太 又 安全 空 必 已 在 由 用 我 你 他 她 它 "
        "这 這 那 一 两 三 四 五 六 七 八 九 十 至 要 应 應 可 需 随 隨 新 旧 舊 自 弱 强 強 "
        "长 長 短 简 簡 复 複 過 过 正 好 坏 壞 忘 改 被 没 沒 有 怎 每 最 更 非 无 無 唯 公 "
        "私 个 個 同 相 重要 保密 加密 默认 默認 临时 臨時 谢 请 請 了 否 见 見 看 问 問 存 放 写 "
        "寫 如何 为 為 因 而 "
    ).split()
)
"""The same in Chinese, where they begin what is no password."""
