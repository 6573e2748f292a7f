"""Addresses, and names of services that are hidden."""

import re

from django.conf import settings

from moderation.detection.addresses import WORDED, find_links, find_mail
from moderation.detection.folding import unleet
from moderation.detection.lexicon import turns
from moderation.detection.verdict import Verdict
from moderation.detection.words import Sentence, any_of, sentences

LEETED = re.compile(r"(?<![a-z\d])(?:[a-z]+\d|\d+[a-z])[a-z\d]*")
_OUT = "|".join(map(re.escape, turns("ways_out")))
OUT_AT = re.compile(rf"(?<![\w.-])(?:[\w-]+\.)?(?:{_OUT})")


# What one does at an address to leave by it.
LINK_VERBS = re.compile(
    r"(?<!\w)(?:book(?!s?\b ?(?:cover|design|launch))|reserv|hire|buch(?:en|e|t|ung)|termine?\b|terminanfrag|anfrag|bestell|agend|"
    r"marcac|prenot|contact form|formular|formulaire|kontakt|contatt[io]|contato|contacto|cheaper|"
    r"gunstiger|billiger|barato|moins cher|economico|goedkoper|taniej|discount|rabatt|descuento|"
    r"desconto|sconto|remise|korting|use code|quote|preise|prices|price list|precios|tarif|listino|"
    r"packages|paquetes|without the|boek|rezerw|rezerv|fee(?!l)|pay (?!at)|enquir|inquir|schedul|"
    r"appointment|rdv|rendez-vous|write to me|get in touch|the form)|予約|حجز"
)

# A name that is hidden is a name that is meant.
HIDDEN = re.compile(
    r"wh.?tsap|w.?hatsapp|tel[e3]?gram+(?!m)|inst.?gram|snapch.?t|faceb.?ok|wech.?t|disc[^a]?rd|paypal|venmo|cashapp|"
    r"revolut(?!i)|tiktok|hotmail|protonm.?il|gmail(?:dot|punkt|punto|point|ponto)?com"
)
PARTED = re.compile(r"(?<![a-z])(?:g[ .-]mail|gee ?mail|hot[ .-]mail|jimail|google ?mail)(?![a-z])")
DM = re.compile(
    r"(?<!\w)(?:dms?|pms?|mp) (?:me|open|is open|are open)|slide (?:in|into)|(?:my|your) dms?(?!\w)|schreib(?:t)? (?:mir )?(?:ne |eine )?(?:dm|pn)"
)


def squeezed(text: str) -> str:
    """Without anything between the letters; signs that stand for letters as those."""
    return re.sub(r"[^a-z]", "", text.translate(SIGNS))


SIGNS = str.maketrans("@$€!|013457", "aseiioieast")


def judge_addresses(verdict: Verdict, plain: str, closed: str, spoken: list[Sentence]) -> None:
    unleeted = LEETED.sub(lambda found: unleet(found[0]), closed)
    backwards = plain[::-1] if "moc." in plain or any_of(spoken, "reversed") else ""
    underscored = plain.replace("_", " ") if "_" in plain else ""
    for text in {plain, closed, unleeted, backwards, underscored}:
        mail = find_mail(text) if text else ""
        if mail:
            verdict.add("email", 1.2)
            break
    if any_of(spoken, "mailprovider"):
        asks = any_of(spoken, "contact") or any_of(spoken, "mine")
        verdict.add("email", 0.8 + 0.3 * asks - 0.7 * any_of(spoken, "work"))
    if PARTED.search(plain):
        verdict.add("email", 1.0)
    refuses = any(sentence.refuses for sentence in spoken)
    named = any(
        any_of(spoken, one) for one in ("messenger", "social", "payservice", "mailprovider")
    )
    if not named and not refuses and HIDDEN.search(squeezed(plain)):
        verdict.add("handle", 1.1)
    if DM.search(plain) and not refuses:
        verdict.add("handle", 0.8 + 0.2 * any_of(spoken, "mine"))
    if OUT_AT.search(plain):
        verdict.add("link", 1.2)
    for link in find_links(plain):
        verdict.add("link", _leads_out(link, plain))
    for found in WORDED.finditer(plain):
        # Nobody spells out an address that could as well be clicked.
        verdict.add("link", 0.4 + _leads_out(found[0], plain))


def _leads_out(link: str, text: str) -> float:
    host, _, path = link.removeprefix("https://").removeprefix("http://").partition("/")
    if any(host == known or host.endswith(f".{known}") for known in settings.POLICY_HOSTS):
        return 0.0
    score = 0.4
    if "slash" in link:
        path = link.rpartition("slash")[2]
    around = text.replace(link, " ")
    # Photographers have contact sheets.
    parts = () if "sheet" in text else re.split(r"[/?&=]", path)
    if any(part.startswith(turns("way_out_paths")) for part in parts):
        score += 0.4
    if any(word in host for word in ("booking", "reserv", "hire")):
        score += 0.3
    if LINK_VERBS.search(around):
        score += 0.6
    near = sentences(around)
    if any_of(near, "contact"):
        score += 0.3
    if any_of(near, "work") and score < 1.2:
        score -= 0.3
    return score
