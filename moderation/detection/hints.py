"""Described without being named, and asked for."""

import re

from moderation.detection.lexicon import turns
from moderation.detection.proposals import saves
from moderation.detection.verdict import Verdict
from moderation.detection.words import Sentence, any_of

MY_NUMBER = re.compile(
    r"\b(?:my|the|our) (?:phone |mobile |cell )?(?:number|e-?mail)|meine (?:handy)?nummer|mi (?:numero|telefono)|"
    r"mon numero|(?:o )?meu numero|il mio numero|mijn nummer|moj numer|numaram|رقمي"
)
# Asking for it. "The number of guests" is another number.
_YOUR = (
    r"(?:your|ur|deine?n?|ihre?n?|euren?|tu|su|tus|ton|ta|votre|teu|tua|seu|sua|tuo|il tuo|la tua|suo|je|jouw|uw|"
    r"twoj|swoj|senin)"
)
_WAY = (
    r"(?:phone number|mobile number|cell number|number|cell|mobile|handynummer|mobilnummer|telefonnummer|"
    r"nummer|numero|telefono|movil|celular|whatsapp|telephone|portable|telemovel|telefone|cellulare|numer|"
    r"e-?mail(?:adresse|address| address|adres)?|mail(?:adresse|adres)?|correo|courriel|contact details|"
    r"kontaktdaten|contacto|coordonnees)"
)
ASKED = re.compile(
    rf"(?<!\w){_YOUR} (?:\w+ )?{_WAY}(?!\w)(?! (?:of|de|di|von|van|template|style|design|campaign|signature|banner))|"
    r"podaj (?:mi )?(?:numer|maila)|numaran[ıi] |رقمك|رقم جوالك|رقم هاتفك|(?:電話番号|メールアドレス|連絡先|lineのid)を?教えて|"
    r"(?:インスタ|line|ライン)の?(?:dm)?で(?:話|連絡|やり取り)"
)
WHERE = re.compile(
    r"profil|\bbio\b|website|homepage|web ?site|\bweb\b|logo|watermark|first picture|cover"
)


def judge_hints(verdict: Verdict, plain: str, spoken: list[Sentence]) -> None:
    if any(sentence.refuses for sentence in spoken):
        return
    asks = any_of(spoken, "contact") or any_of(spoken, "mine") or any_of(spoken, "search")
    same = any(said in plain for said in turns("named_same"))
    if any(said in plain for said in turns("hinted")):
        verdict.add("handle", 0.7 + 0.4 * (asks or same))
    asked = ASKED.search(plain)
    if asked:
        verdict.add("email" if "mail" in asked[0] else "phone", 1.0)
    for sentence in spoken:
        if (
            sentence.near("mine", "platform", 1)
            and (sentence.has("book") or saves(sentence))
            and (
                sentence.has("save")
                or sentence.has("contact")
                or sentence.near("book", "platform", 5)
            )
        ):
            verdict.add("link", 1.0 - 0.8 * sentence.near("work", "platform", 2))
        if sentence.near("search", "searched", 8) and sentence.has("search"):
            verdict.add(
                "link",
                0.6 + 0.45 * ("form" in plain or any_of(spoken, "contact") or "first" in plain),
            )
        if MY_NUMBER.search(sentence.text) and WHERE.search(sentence.text):
            verdict.add("phone", 1.0)
