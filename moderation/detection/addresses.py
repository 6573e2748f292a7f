"""Addresses for mail and for browsers, written plainly or in words."""

import re

ENDINGS = (
    "com|net|org|de|at|ch|uk|co|es|fr|it|pt|br|nl|be|pl|tr|jp|eu|io|me|us|ca|au|ie|info|biz|app|dev|"
    "art|photo|photos|photography|studio|studios|film|films|video|pics|gallery|design|agency|media|"
    "shop|store|online|site|website|web|cloud|page|link|bio|xyz|club|live|life|love|wedding|events|"
    "mx|ar|cl|pe|lu|dk|se|no|fi|cz|gr|ru|ua|in|cn|kr|sa|ae|eg|ma|tv|fm|gg|ly|to|cc|ai|so|work|works|"
    "pro|email|berlin|paris|london|cat|gal|tech|digital|space|world|style|ink|house|company|group|"
    "cafe|music|band|tattoo|fashion|marketing|productions|pictures|camera|graphics|ltd|one|today|plus|name|zone|"
    "city|land|farm|family|blog|wiki|vip|fun|rocks|team|cool|guru|social|chat|contact|directory|academy"
)
_AT_WORDS = (
    "arroba|arobase|arobas|arobaze|chiocciola|klammeraffe|at-zeichen|at zeichen|at sign|at-sign|at symbol|"
    "affenklammer|affenschwanz|aapestaart|apenstaartje|apestaartje|malpa|snabela|snabel-a|snabel a|"
    "kuyruklu a|et isareti|ät|zavinac|arond|kukac|собака|собачка|равлик|эт|اتمارك|ات|アットマーク|アット|"
    "あっと|艾特|圈a|골뱅이|एट|ऐट"
)
# What "dot" is called, each with the endings that go with it: "at this point it" is no address.
_DOTS = {
    "dot|d0t|period": (
        "com|net|org|co|uk|io|me|eu|de|fr|es|it|nl|pt|pl|br|ch|at|ie|us|ca|au|info|biz|app|dev|art|xyz|tv|ink|"
        "photo|photos|photography|studio|studios|film|films|video|pics|pictures|gallery|design|agency|media|"
        "shop|store|online|site|club|berlin|london|ru|ua|se|dk|0rg|c0m"
    ),
    "punkt": "com|net|org|de|at|ch|eu|info|se|dk|no|io|studio|film|photo|co|shop|c0m",
    "punto": "com|net|org|it|es|mx|ar|cl|pe|eu|io|studio|film|photo",
    "point": "com|net|org|fr|be|ch|ca|lu|eu|io|studio|film|photo",
    "ponto": "com|net|org|pt|br|eu|io|studio|film|photo",
    "punt": "com|net|org|nl|be|eu|studio|film|photo|cat",
    "kropka": "com|net|org|pl|eu|studio|film|photo",
    "nokta": "com|net|org|tr|io|studio|film|photo",
    "tecka|punct|точка|крапка|نقطة|دوت|ドット|どっと|点|점|डॉट": "com|net|org|ru|ua|jp|cn|kr|cz|ro|in|sa|ae|io|fr",
}
_DOT_WORDS = "|".join(_DOTS)
_OPEN, _SHUT = r"[(\[{<]\s?", r"\s?[)\]}>]"
_MARKED = rf"{_OPEN}(?:\.|{_DOT_WORDS}){_SHUT}"
AT_SIGN = (
    rf"(?:@|[📧✉📩🐌🐒]|{_OPEN}(?:a|at|et|@|{_AT_WORDS}){_SHUT}|(?<=\s)(?:{_AT_WORDS})(?=\s)|"
    r"(?<=[_#*~—–-])at(?=[_#*~—–-]))"
)
DOT_WORD = rf"(?:{_MARKED}|(?<=\s)(?:{_DOT_WORDS})(?=\s)|[—–*_-]dot[—–*_-])"
NAME = r"[\w+-]{1,64}"
# A dot that is only a dot has nothing around it, or it would be the end of a sentence.
POINT = rf"(?:\.(?=\S)|\s?{DOT_WORD}\s?)"
# The end of an address whose last dot is said, or marked.
SAID_END = (
    rf"(?:\s?{_MARKED}\s?(?:{ENDINGS})|\s?[—–*_-]\s?dot\s?[—–*_-]\s?(?:{ENDINGS})|"
    + "|".join(rf"\s(?:{word})\s(?:{ends})" for word, ends in _DOTS.items())
    + r")(?!\w)"
)
END = rf"(?:\.(?:{ENDINGS})(?!\w)|{SAID_END})"
_WHO = rf"(?<![\w+-]){NAME}(?:{POINT}{NAME}){{0,4}}"
_GAP = r"[\s#*~—–-]{0,3}"
MAIL = re.compile(rf"{_WHO}{_GAP}{AT_SIGN}{_GAP}{NAME}(?:{POINT}{NAME}){{0,2}}{END}")
# Between words "at" is only an at if the dot is said too, or if who is before it is a mailbox.
SAID = re.compile(rf"{_WHO}\s(?:at|bei|chez|et|en|auf)\s{NAME}(?:{POINT}{NAME}){{0,2}}{SAID_END}")
BOX = re.compile(
    rf"(?<![\w+-])(?:info|hello|hi|hallo|hola|contact|kontakt|booking|bookings|mail|office|studio|me|"
    rf"[\w-]*[\d_][\w-]*|\w+\.\w+)\sat\s{NAME}\.(?:{ENDINGS})(?!\w)"
)
LOOSE = re.compile(
    rf"(?<![\w+-]){NAME}(?:\s?\.\s?{NAME}){{0,4}}[\s\[\](){{}}<>*_-]{{0,3}}@[\s\[\](){{}}<>*_-]{{0,3}}(?:{NAME}\s?[\[(]?\.[\])]?\s?){{1,3}}(?:{ENDINGS})(?!\w)"
)
SIGNED = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}")
LINK = re.compile(
    rf"(?:https?://|www\.)[^\s<>\"')]{{3,400}}|"
    rf"(?<![\w@.-])[\w-]{{2,63}}(?:\.[\w-]{{2,63}}){{0,2}}\.(?:{ENDINGS})(?![\w.@-]*@)(?:/[^\s<>\"')]{{0,200}}|(?![\w-]))"
)
# An address in words, with what comes after its slash.
WORDED = re.compile(
    rf"(?<![\w-])[\w-]{{3,63}}(?:{SAID_END}|\s\.\s(?:com|net|org|de|fr|es|it|nl|pl|pt)(?!\w))"
    r"(?:\s?(?:/|slash|schragstrich|barra|barre|slesh)\s?\w{1,40})?"
)
HANDLE = re.compile(r"(?<![\w@.])@[a-z_][\w.-]{2,40}|(?<![\w#])[a-z][\w.]{2,30}#\d{4}(?!\d)")
CASHTAG = re.compile(r"(?<![\w$])\$[a-z][\w-]{2,30}")
_IBAN_LANDS = (
    "ad|ae|al|at|az|ba|be|bg|bh|br|by|ch|cr|cy|cz|de|dk|do|ee|eg|es|fi|fo|fr|gb|ge|gi|gl|gr|gt|hr|hu|ie|il|"
    "iq|is|it|jo|kw|kz|lb|lc|li|lt|lu|lv|ly|mc|md|me|mk|mr|mt|mu|nl|no|pk|pl|ps|pt|qa|ro|rs|sa|sc|se|si|sk|"
    "sm|sn|tl|tn|tr|ua|va|vg|xk"
)
IBAN = re.compile(
    rf"(?<![a-z0-9])(?:{_IBAN_LANDS})\d{{2}}(?:[ .-]?[a-z0-9]{{2,4}}){{3,8}}(?![a-z0-9])"
)
WALLET = re.compile(
    r"(?<!\w)(?:0x[0-9a-f]{40}|bc1[0-9a-z]{20,60}|t[1-9a-z]{33}|[13][1-9a-z]{25,34})(?!\w)"
)
UUID = re.compile(r"(?<!\w)[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}(?!\w)")
UNDERSCORED = re.compile(r"(?<![\w/@.#-])[a-z][a-z0-9]*(?:[._][a-z0-9]+)+(?![\w/@-])")


AT_ANY = re.compile(AT_SIGN)
AT_WORD = re.compile(r"\s(?:at|bei|chez|et|en|auf)\s")
DOTTED = re.compile(r"\w\.\w|://")


def find_mail(text: str) -> str:
    found = None
    if "@" in text:
        found = SIGNED.search(text) or LOOSE.search(text)
    if found is None and AT_ANY.search(text):
        found = MAIL.search(text)
    if found is None and AT_WORD.search(text):
        found = SAID.search(text) or BOX.search(text)
    return found[0] if found else ""


def find_links(text: str) -> list[str]:
    return [found[0] for found in LINK.finditer(text)] if DOTTED.search(text) else []
