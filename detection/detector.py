"""Scores whether a text moves the conversation or the payment off the marketplace, with reasons.

Computed from one text and the author's few texts before it, without any store; the time is linear
in the length. The result is a hint: threads/policy.py decides what follows.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from django.conf import settings

from detection import lexicon, model
from detection.addresses import (
    CASHTAG,
    HANDLE,
    IBAN,
    UNDERSCORED,
    UUID,
    WALLET,
    find_links,
    find_mail,
    find_reversed,
    find_worded,
    has_point,
    has_signs,
    with_signs,
)
from detection.clues import Clued, Phrases
from detection.features import Families, features_of
from detection.normalise import close_up, count_odd_digits, fold, redigit, unleet, without_dots
from detection.numbers import DIGIT, Run, find_almost, find_raw, find_spelled, may_be_spelled
from detection.splitting import MAX_PIECE_CHARS, PIECES, addresses, numbers, pieces_of
from detection.words import Sentence, meanings_of, sentences

LEETED = re.compile(r"(?<![a-z\d])(?:[a-z]+\d|\d+[a-z])[a-z\d]*")
RINGS = re.compile("[☎📞📱🤙📲]")
# Only this many are examined.
MAX_RUNS = 12
MAX_LINKS = 8
# Shown to the author.
REASONS = {
    "phone": "a telephone number",
    "email": "an email address",
    "handle": "an account or a messenger elsewhere",
    "link": "a link to book or to write elsewhere",
    "payment": "a way to pay elsewhere",
    "phrase": "a proposal to go past the booking",
}
THRESHOLD = 1.0
COMBINED_THRESHOLD = 1.6
SHORT_NUMBER = 8
ODD_DIGITS = 6


@dataclass
class Verdict:
    """A score for each reason; above one it is shown to the author."""

    scores: dict[str, float] = field(default_factory=dict)
    # The reason predicted by the model if no rule matches; treated as a guess.
    guess: str = ""

    def add(self, reason: str, score: float) -> None:
        self.scores[reason] = max(self.scores.get(reason, 0.0), round(score, 2))

    @property
    def score(self) -> float:
        return sum(score for score in self.scores.values() if score >= THRESHOLD)

    @property
    def reasons(self) -> list[str]:
        sure = [reason for reason in REASONS if self.scores.get(reason, 0.0) >= THRESHOLD]
        return sure or ([self.guess] if self.guess else [])

    @property
    def is_sure(self) -> bool:
        """Whether a rule matched, which can be explained to the author."""
        return any(score >= THRESHOLD for score in self.scores.values())

    @property
    def is_found(self) -> bool:
        return self.is_sure or bool(self.guess)


def judge(text: str, earlier: Sequence[str] = ()) -> Verdict:
    """`earlier` are the author's last few texts before this one, oldest first."""
    verdict = _by_rules(text, earlier)
    if not verdict.is_sure:
        verdict.guess = _guess(text, earlier)
    elif _is_sure(text) and _opinion(text).is_harmless:
        # A rule matched, but the text resembles those labelled as harmless.
        return Verdict()
    return verdict


@dataclass(frozen=True)
class Opinion:
    """The result of the model for a text."""

    margin: float
    is_attempt: bool
    is_harmless: bool
    kind: str


def _guess(text: str, earlier: Sequence[str]) -> str:
    opinion = _opinion(text)
    if opinion.is_attempt:
        return opinion.kind
    pieces = [*earlier[1 - PIECES :], text]
    if len(pieces) < 2 or max(map(len, pieces)) > MAX_PIECE_CHARS:
        return ""
    if any(_is_sure(one) or _opinion(one).is_attempt for one in earlier):
        return ""
    whole = _opinion("\n".join(pieces))
    return whole.kind if whole.margin >= model.BAR_JOINED else ""


@lru_cache(maxsize=2048)
def _opinion(text: str) -> Opinion:
    found = seen_in(text)
    margin = model.margin(found)
    is_attempt, is_harmless = margin >= model.bar(found), margin < model.harmless(found)
    kind = model.kind_of(found, REASONS) if margin >= model.BAR else ""
    return Opinion(margin, is_attempt, is_harmless, kind)


def _by_rules(text: str, earlier: Sequence[str]) -> Verdict:
    verdict = _judge_one(text)
    if verdict.is_sure or not earlier:
        return verdict
    # Earlier texts were judged when they were sent.
    new = [one for one in earlier if not _is_sure(one)]
    pieces = pieces_of(new, text)
    if len(pieces) < 2 or any(map(has_record, earlier)):
        return verdict
    for whole in numbers(pieces):
        verdict.add("phone", _judge_one(whole).scores.get("phone", 0.0))
    if may_be_spelled(pieces):
        for run in find_spelled(" ".join(pieces)):
            if SHORT_NUMBER <= len(run.digits) <= 16:
                verdict.add("phone", 1.0)
    _judge_joined(verdict, pieces)
    return verdict


def _judge_joined(verdict: Verdict, pieces: list[str]) -> None:
    """Judges addresses that are split over several messages."""
    wholes = list(addresses(pieces))
    mails = [whole for whole in wholes if len(whole) <= 160]
    links = [whole for whole in wholes if " " not in whole.strip() or len(whole) <= 80]
    leads = bool(mails or links) and _may_lead(" ".join(map(str.strip, pieces)))
    for whole in mails:
        verdict.add("email", _judge_one(whole).scores.get("email", 0.0) if leads else 0.0)
    short = "".join(pieces[-3:]).replace(" ", "")
    if len(short) <= 40 and HIDDEN.search(_squeezed(short)):
        verdict.add("handle", 1.0)
    for whole in links:
        verdict.add("link", _judge_one(whole).scores.get("link", 0.0) if leads else 0.0)


def _may_lead(text: str) -> bool:
    """Whether the text, or its end, could contain an address or a link."""
    folded, plain, _, meanings = _read(text)
    if folded != plain or has_point(folded) or has_signs(folded) or ODD_LETTERS.search(folded):
        return True
    if PARTED.search(folded) or OUT_AT.search(folded) or ASKED.search(folded):
        return True
    return "mailprovider" in meanings or any(pair <= meanings for pair in LEADING)


# Cached: each text is also an earlier text of the next ones.
@lru_cache(maxsize=2048)
def has_record(text: str) -> bool:
    folded, plain, spoken, _ = _read(text)
    return any_of(spoken if plain == folded else sentences(folded), "record")


@lru_cache(maxsize=2048)
def _cached(text: str) -> tuple[tuple[str, float], ...]:
    return tuple(_judge(text).scores.items())


def _judge_one(text: str) -> Verdict:
    return Verdict(dict(_cached(text)))


def _is_sure(text: str) -> bool:
    return any(score >= THRESHOLD for _, score in _cached(text))


def seen_in(text: str) -> Families:
    """The features of a text for the model."""
    scores = _judge_one(text).scores
    _, plain, spoken, _ = _read(text)
    return features_of(plain, spoken, scores)


class Reading(NamedTuple):
    folded: str
    # With spaced-out words joined.
    plain: str
    spoken: list[Sentence]
    meanings: set[str]

    @property
    def refuses(self) -> bool:
        return any(sentence.refuses for sentence in self.spoken)


# Cached: rules and model read the same text.
@lru_cache(maxsize=16)
def _read(text: str) -> Reading:
    folded = fold(text)
    plain = without_dots(folded)
    spoken = sentences(plain)
    return Reading(folded, plain, spoken, meanings_of(spoken))


def _judge(text: str) -> Verdict:
    verdict = Verdict()
    reading = _read(text)
    # Without single letters there is nothing to join.
    closed = reading.folded if reading.plain == reading.folded else close_up(reading.folded)
    _judge_numbers(verdict, reading, closed)
    if count_odd_digits(text) >= ODD_DIGITS:
        verdict.add("phone", 1.0)
    _judge_addresses(verdict, reading, closed)
    for sentence in reading.spoken:
        _judge_places(verdict, sentence)
        _judge_payment(verdict, sentence)
    _judge_phrases(verdict, reading)
    _judge_hints(verdict, reading)
    if not verdict.is_sure and sum(verdict.scores.values()) >= COMBINED_THRESHOLD:
        # No single rule matches, but several nearly do.
        verdict.add(max(verdict.scores, key=verdict.scores.__getitem__), THRESHOLD)
    return verdict


def any_of(spoken: list[Sentence], meaning: str) -> bool:
    return any(sentence.has(meaning) for sentence in spoken)


# --- Numbers

# Formats used almost only for telephone numbers.
SHAPED = re.compile(
    r"\(?[2-9]\d\d\)?[ .-]\d{3}[ .-]\d{4}$|[679]\d\d[ .-]\d{3}[ .-]\d{3}$|0\d(?:[ .-]\d\d){4}$"
)
SHORTEST_WALLET = 23
ALMOST_DIGITS = re.compile(r"(?<!\w)(?=[oil]*+[0-9])[0-9oil]++(?!\w)")


def _judge_numbers(verdict: Verdict, reading: Reading, closed: str) -> None:
    plain, meanings = reading.folded, reading.meanings
    if find_almost(plain):
        verdict.add("phone", 1.0)
    if DIGIT.search(plain):
        plain = ALMOST_DIGITS.sub(lambda found: redigit(found[0]), plain)
    runs = find_raw(plain)[:MAX_RUNS]
    marked = "reversed" in meanings, bool(runs and RINGS.search(plain))
    for run in runs:
        verdict.add("phone", _dialled(run, plain, *marked))
    for run in find_spelled(plain):
        if 7 <= len(run.digits) <= 16:
            verdict.add("phone", 0.4 if _is_record(plain, run) else 1.2)
    if _has_iban(closed) or _has_wallet(plain):
        verdict.add("payment", 1.2)
    if "sort code" in plain or "account number" in plain or "kontonummer" in plain:
        verdict.add("payment", 0.5 + 0.6 * any(char.isdecimal() for char in plain))
    pays = "pay" in meanings or "payservice" in meanings or "card" in plain
    for run in runs:
        if 15 <= len(run.digits) <= 24 and pays and not _is_record(plain, run):
            verdict.add("payment", 1.1)


def _has_iban(closed: str) -> bool:
    if not _has_long_number(closed):
        return False
    iban = IBAN.search(closed)
    if iban and _has_long_number(iban[0]):
        return True
    return "iban" in closed.replace(" ", "").replace(".", "").replace("-", "")


def _has_wallet(plain: str) -> bool:
    if max(map(len, plain.split()), default=0) < SHORTEST_WALLET:
        return False
    return bool(WALLET.search(plain) or ("pix" in plain and UUID.search(plain)))


def _has_long_number(text: str) -> bool:
    return len(DIGIT.findall(text)) >= 12


def _dialled(run: Run, text: str, backwards: bool, rings: bool) -> float:
    count = len(run.digits)
    if count < 7 or count > 15:
        return 0.0
    score = {7: 0.4, 8: 0.6, 9: 0.85, 14: 0.6, 15: 0.5}.get(count, 1.0)
    raw = run.raw
    if SHAPED.match(raw):
        score += 0.2
    if raw.startswith(("+", "(")) or run.digits.startswith("00"):
        score += 0.35
    elif raw.startswith("0"):
        score += 0.25
    if run.apart:
        score += 0.4
    if rings:
        score += 0.7
    around = text[max(0, run.start - 60) : run.end + 60]
    near = sentences(around)
    if any_of(near, "contact") or any_of(near, "number"):
        score += 0.5 + 0.15 * any_of(near, "number")
    if any_of(near, "messenger") or any_of(near, "payservice") or backwards:
        score += 0.4
    before = text[max(0, run.start - 6) : run.start]
    if before[-1:] == "_" or before[-1:].isalnum() or before.endswith("#"):
        # Part of a file name, such as a camera's counter, unless the text says to call it.
        score -= 0.2 if _says_to_contact(text) else 0.8
    if _is_record(text, run):
        score -= 0.9
    return score


# Cached: needed for each number of a text.
@lru_cache(maxsize=16)
def _says_to_contact(text: str) -> bool:
    return any_of(sentences(text.replace("_", " ")), "contact")


BEFORE_RECORDS = {
    *("order", "ref", "ticket", "id", "version", "take", "scene", "model", "lot", "case", "job"),
    *(
        "auftrag",
        "bestellung",
        "pedido",
        "commande",
        "ordine",
        "encomenda",
        "zamowienie",
        "siparis",
    ),
}


def _is_record(text: str, run: Run) -> bool:
    """Whether the number belongs to something else: a shipment, a receipt, a prop in a scene."""
    before = text[max(0, run.start - 20) : run.start].split()
    if before and before[-1].strip(".:#(°") in BEFORE_RECORDS or run.raw[:3] in ("202", "201"):
        return True
    near = sentences(text[max(0, run.start - 60) : run.start] + " " + text[run.end : run.end + 25])
    return any_of(near, "record") or any_of(near, "scene")


# --- Addresses

_OUT = "|".join(map(re.escape, lexicon.WAYS_OUT_AT))
OUT_AT = Clued(rf"(?<![\w.-])(?:www\.)?(?:{_OUT})", *lexicon.WAYS_OUT_AT)
# Characters that may stand for other letters.
ODD_LETTERS = re.compile(r"[@_]|[a-z]\d|\d[a-z]|://|moc\.")
# Meanings that make a link suspicious.
LEADING = ({"mine", "platform"}, {"search", "searched"}, {"reversed"})


# Obfuscated names of other services.
HIDDEN = re.compile(
    r"wh.?tsap|w.?hatsapp|tel[e3]?gram+(?!m)|inst.?gram|snapch.?t|faceb.?ok|wech.?t|disc[^a]?rd|paypal|venmo|cashapp|"
    r"revolut(?!i)|tiktok|hotmail|protonm.?il|gmail(?:dot|punkt|punto|point|ponto)?com"
)
PARTED = Clued(
    r"(?<![a-z])(?:g[ .-]mail|gee ?mail|hot[ .-]mail|jimail|google ?mail)(?![a-z])", "mail"
)
DM = Clued(
    r"(?<!\w)(?:dms?|pms?|mp) (?:me|open|is open|are open)|slide (?:in|into)|(?:my|your) dms?(?!\w)|schreib(?:t)? (?:mir )?(?:ne |eine )?(?:dm|pn)",
    *("dm ", "dms ", "pm ", "pms ", "mp ", "slide ", " dm", " pn"),
)


def _squeezed(text: str) -> str:
    """Removes everything between letters and replaces symbols with the letters they stand for."""
    return "".join(LETTERS.findall(text.translate(SIGNS)))


LETTERS = re.compile("[a-z]+")
SIGNS = str.maketrans("@$€!|013457", "aseiioieast")


def _judge_addresses(verdict: Verdict, reading: Reading, closed: str) -> None:
    plain, meanings = reading.folded, reading.meanings
    unleeted = closed
    if DIGIT.search(closed):
        unleeted = LEETED.sub(lambda found: unleet(found[0]), closed)
    backwards = plain[::-1] if "moc." in plain or "reversed" in meanings else ""
    underscored = plain.replace("_", " ") if "_" in plain else ""
    signed = with_signs(unleeted)
    for text in {plain, closed, unleeted, backwards, underscored, signed}:
        mail = find_mail(text) if text else ""
        if mail:
            verdict.add("email", 1.2)
            break
    else:
        turned = find_reversed(plain)
        if turned:
            verdict.add("email" if "@" in turned else "link", 1.1)
    if "mailprovider" in meanings:
        asks = "contact" in meanings or "mine" in meanings
        verdict.add("email", 0.8 + 0.3 * asks - 0.7 * ("work" in meanings))
    if PARTED.search(plain):
        verdict.add("email", 1.0)
    refuses = reading.refuses
    named = not meanings.isdisjoint(("messenger", "social", "payservice", "mailprovider"))
    squeezed = _squeezed(plain)
    if HIDDEN.search(squeezed[::-1]):
        verdict.add("handle", 1.1)
    if not named and not refuses and HIDDEN.search(squeezed):
        verdict.add("handle", 1.1)
    if DM.search(plain) and not refuses:
        verdict.add("handle", 0.8 + 0.2 * ("mine" in meanings))
    if OUT_AT.search(plain):
        verdict.add("link", 1.2)
    shown = find_links(plain)
    if signed != plain and len(find_links(signed)) > len(shown):
        # An obfuscated address is meant to be visited.
        verdict.add("link", 1.0)
    # Each is scored with the whole text, so their number is limited.
    for link in list(dict.fromkeys([*shown, *find_worded(plain)]))[:MAX_LINKS]:
        verdict.add("link", _leads_out(link, plain))


def _leads_out(link: str, text: str) -> float:
    host, _, path = link.removeprefix("https://").removeprefix("http://").partition("/")
    if any(host == known or host.endswith(f".{known}") for known in settings.POLICY_HOSTS):
        return 0.0
    score = 0.4
    if "slash" in link:
        path = link.rpartition("slash")[2]
    around = text.replace(link, " ")
    # "Contact sheet" is a term of photography.
    parts = () if "sheet" in text else re.split(r"[/?&=]", path)
    if any(part.startswith(lexicon.WAY_OUT_PATHS) for part in parts):
        score += 0.4
    if any(word in host for word in ("booking", "reserv", "hire")):
        score += 0.3
    if lexicon.LINK_VERBS.search(around):
        score += 0.6
    near = sentences(around)
    if any_of(near, "contact"):
        score += 0.3
    if any_of(near, "work") and score < 1.2:
        score -= 0.3
    return score


# --- Other messengers

FORMAT = re.compile(r"(?<!\d)\d{1,2}:\d{1,2}(?!\d)|\d{3,4} ?[x×] ?\d{3,4}|(?<!\d)\d++ ?px\b")
# "ig: moth.and.moon"
GIVEN = re.compile(
    r"(?<!\w)(?:ig|insta|instagram|snap|snapchat|signal|line|telegram|tg|whatsapp|wa|skype|discord|"
    r"tiktok|fb|facebook|wechat|viber|kik|line id|インスタ)\s?(?:id|handle|name)?\s?[:=]\s?@?[a-z][\w.]{3,}"
)


def _judge_places(verdict: Verdict, sentence: Sentence) -> None:
    handle = HANDLE.search(sentence.text)
    messenger, weak = sentence.has("messenger"), sentence.has("messenger_weak")
    social = sentence.has("social")
    if sentence.refuses or not (handle or messenger or weak or social):
        return
    asks = any(sentence.has(one) for one in ("contact", "yours", "number", "move", "better"))
    mine = sentence.has("mine")
    place = "messenger" if messenger else "social" if social else "messenger_weak"
    close = sentence.near("contact", place, 6) or sentence.near("mine", place, 3)
    close = close or sentence.near("better", place, 4) or sentence.near("move", place, 3)
    asked = sentence.near("yours", place, 1)
    # A brand that is a client or a style is next to a word for it.
    work = sentence.near("work", place, 1) or (sentence.has("work") and not close and not asked)
    if place == "social":
        # A social network is more often a format than a messenger.
        made = sentence.has("work") or bool(FORMAT.search(sentence.text))
        work = made and not asked and not sentence.near("contact", place, 4)
    score = 0.0
    if messenger:
        score = 1.0 + 0.2 * (asks or mine) - 0.8 * work
    elif social:
        score = 0.45 + 0.35 * (asks or sentence.is_short) + 0.2 * mine - 0.7 * work
        if close or asked:
            score += 0.35 + 0.2 * sentence.near("mine", "social", 1)
    elif weak:
        near = sentence.near("contact", "messenger_weak", 5) or sentence.near(
            "move", "messenger_weak", 2
        )
        near = near or sentence.near("better", "messenger_weak", 3)
        score = 0.3 + 0.8 * (near or asked) - 0.8 * work
    if handle:
        named = messenger or social or weak
        score += 0.6 if named else 0.6 + 0.4 * (mine or asks or sentence.is_short) - 0.5 * work
    if GIVEN.search(sentence.text):
        score += 0.8
    elif (messenger or social or weak) and UNDERSCORED.search(sentence.text) and not work:
        score += 0.4
    verdict.add("handle", score)


# --- Other payment services

MY_ACCOUNT = Clued(
    r"(?<!\w)(?:my|our|mein|meine|meines|mi|mon|notre|minha|nossa|mio|nostro|mijn|onze|moje|moim) (?:own )?(?:bank )?"
    r"(?:account|bank|konto|bankkonto|cuenta|compte|conta|conto|rekening|bankrekening)(?!\w)|hesabima|حسابي",
    *(" account", " bank", " konto", " cuenta", " compte", " conta", " conto", " rekening"),
    *("hesabima", "حسابي"),
)
BANK_DETAILS = Clued(
    r"(?:bank|account|payment) (?:details|info)|datos (?:bancarios|de la cuenta)|numero de cuenta|dados bancarios|"
    r"coordonnees bancaires|coordinate bancarie|numer konta|hesap numara|banka bilgi|口座",
    *(" details", " info", " cuenta", " bancari", " bancaires", " konta", "hesap "),
    *("banka ", "口座"),
)
TWO_WORDS = Phrases(
    (
        "mercado pago",
        "stc pay",
        "mb way",
        "cash app",
        "western union",
        "friends & family",
        "apple pay",
        "google pay",
    ),
)


def _judge_payment(verdict: Verdict, sentence: Sentence) -> None:
    if sentence.refuses:
        return
    service = sentence.has("payservice") or bool(TWO_WORDS.found_in(sentence.text))
    service = service or sentence.near("pay", "payservice_weak", 4)
    if service:
        work = sentence.has("work") and not sentence.near("mine", "payservice", 3)
        intends = sentence.has("pay") or sentence.has("mine") or sentence.has("fee")
        intends = (
            intends or sentence.is_short or sentence.has("number") or bool(find_raw(sentence.text))
        )
        verdict.add("payment", 0.8 + 0.3 * intends - 0.8 * work)
    if sentence.has("bankdetails") or BANK_DETAILS.search(sentence.text):
        verdict.add("payment", 1.0)
    if (sentence.has("transfer") or sentence.has("pay")) and MY_ACCOUNT.search(sentence.text):
        verdict.add("payment", 1.0 - 0.8 * (sentence.has("work") or sentence.has("not")))
    if CASHTAG.search(sentence.text):
        verdict.add("payment", 0.6 + 0.6 * (service or sentence.has("pay")))
    if "qr" in sentence.words and (sentence.has("pay") or sentence.has("contact")):
        verdict.add("payment", 1.0 - 0.8 * (sentence.has("work") and not sentence.has("pay")))


# --- Proposals

SAID, HALF_SAID = Phrases(lexicon.SAID), Phrases(lexicon.HALF_SAID)


def _judge_phrases(verdict: Verdict, reading: Reading) -> None:
    spoken = reading.spoken
    scores = [_proposed(sentence) - 1.0 * sentence.refuses for sentence in spoken]
    whole = max(scores, default=0.0)
    # The reason may be in a separate sentence.
    for sentence, score in zip(spoken, scores, strict=True):
        if _saves(sentence) and score != whole and 0.4 <= whole < THRESHOLD:
            whole += 0.5
    if whole < THRESHOLD and not reading.refuses:
        whole = max(whole, _combined_score(reading))
    verdict.add("phrase", whole)


# Score of each, anywhere in the message.
WEIGHTS = {
    "fee": 0.4,
    "save": 0.25,
    "direct": 0.35,
    "cash": 0.45,
    "cancel": 0.3,
    "platform": 0.2,
    "pay": 0.2,
    "me": 0.1,
    "out": 0.15,
    "better": 0.1,
}


def _combined_score(reading: Reading) -> float:
    there = reading.meanings
    if not there & {"direct", "cash", "cancel", "out"} or not there & {
        "fee",
        "save",
        "pay",
        "book",
    }:
        return 0.0
    if len(there & WEIGHTS.keys()) < 4:
        return 0.0
    if any(EXPENSE.search(sentence.text) for sentence in reading.spoken):
        return 0.0
    return sum(weight for meaning, weight in WEIGHTS.items() if meaning in there)


# Money for third parties, which is claimed as an expense.
EXPENSE = re.compile(
    r"expense|slip|claim|beleg|auslage|spesen|gasto|ticket|note de frais|despesa|spesa|bonnetje"
)


# Proposals to deal with the author directly.
WITH_ME = Clued(
    r"\b(?:hire|book|pay|deal|work|contact|reach)\w* (?:to |with )?(?:me|us)? ?(?:direct|directly|privately)\b|"
    r"\bdirect(?:ly)? (?:with|to|through|from|via) (?:me|us)\b|direkt (?:bei|mit|an|uber) (?:mir|mich|uns)\b|"
    r"directamente (?:conmigo|a mi|con nosotros)|directement (?:avec|a|chez) (?:moi|nous)|"
    r"diretamente comigo|direttamente (?:con|a|da) (?:me|noi)|rechtstreeks (?:bij|met|aan) (?:mij|ons|me)|"
    r"bezposrednio (?:ze|do) mn",
    *("direct", "privately", "direkt", "diretamente", "direttamente", "rechtstreeks"),
    "bezposrednio",
)
INVOICE = re.compile(
    r"invoice|rechnung|factura|facture|fatura|fattura|faktur|privat|directly|direkt"
)


def _saves(sentence: Sentence) -> bool:
    return sentence.has("fee") and (
        sentence.near("save", "fee", 7)
        or sentence.near("out", "fee", 4)
        or sentence.near("not", "fee", 3)
    )


# Without any of these, only fixed phrases propose something.
PROPOSING = frozenset({"out", "fee", "direct", "cash", "cancel"})


def _proposed(sentence: Sentence) -> float:
    score = 0.0
    gains = sentence.has("fee") or sentence.has("save")
    if SAID.found_in(sentence.text):
        score += 1.0
    # A meaning that is listed twice counts twice.
    half = sum(map(lexicon.HALF_SAID.count, HALF_SAID.found_in(sentence.text)))
    if half:
        means = ("fee", "save", "pay", "book", "platform", "contact", "out", "cash")
        score += 0.5 * min(half, 2) + 0.3 * any(sentence.has(one) for one in means)
        score += 0.3 * sentence.has("fee") + 0.2 * (sentence.has("save") or sentence.has("out"))
    if PROPOSING.isdisjoint(sentence.places):
        return score + _with_me(sentence)
    if sentence.follows("out", "platform", 3) and "site visit" not in sentence.text:
        score += 1.0 if gains or sentence.has("pay") or sentence.has("book") else 0.8
        score += 0.2 * any(sentence.has(one) for one in ("mine", "me", "move", "better"))
    elif sentence.follows("out", "here", 3) and (
        gains or sentence.has("pay") or sentence.has("book")
    ):
        score += 1.0
    score += _with_me(sentence)
    if _saves(sentence):
        score += 0.5 + 0.5 * sentence.near("pay", "me", 3)
        if sentence.near("out", "fee", 2):
            score += 0.2 + 0.3 * (sentence.has("move") or sentence.has("me"))
    if sentence.near("pay", "direct", 4):
        score += 0.7 + 0.3 * (sentence.near("pay", "me", 3) or sentence.near("direct", "me", 2))
    if sentence.near("direct", "fee", 8):
        score += 0.4
    if sentence.near("direct", "save", 8):
        score += 0.4
    if sentence.has("cash") and (
        sentence.has("book") or sentence.has("platform") or sentence.has("here")
    ):
        score += 0.6 + 0.5 * sentence.has("not") + 0.4 * sentence.has("out")
    if sentence.near("cancel", "book", 8) and (
        sentence.has("direct") or sentence.has("cash") or half or INVOICE.search(sentence.text)
    ):
        score += 0.8 + 0.2 * sentence.has("mine")
    return score


def _with_me(sentence: Sentence) -> float:
    if not WITH_ME.search(sentence.text):
        return 0.0
    gains = sentence.has("fee") or sentence.has("save")
    return 0.9 + 0.3 * gains - 0.4 * sentence.has("here")


# --- Hints

MY_NUMBER = Clued(
    r"\b(?:my|the|our) (?:phone |mobile |cell )?(?:number|e-?mail)|meine (?:handy)?nummer|mi (?:numero|telefono)|"
    r"mon numero|(?:o )?meu numero|il mio numero|mijn nummer|moj numer|numaram|رقمي",
    *("number", "mail", "nummer", "numer", "telefono", "numaram", "رقمي"),
)
# Requests for contact details, not "the number of guests".
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
ASKED = Clued(
    rf"(?<!\w){_YOUR} (?:\w+ )?{_WAY}(?!\w)(?! (?:of|de (?!tele)|di(?! tele)|von|van|template|style|design|campaign|signature|banner))|"
    r"podaj (?:mi )?(?:numer|maila)|numaran[ıi] |رقمك|رقم جوالك|رقم هاتفك|(?:電話番号|メールアドレス|連絡先|lineのid)を?教えて|"
    r"(?:インスタ|line|ライン)の?(?:dm)?で(?:話|連絡|やり取り)",
    *(" mobile", " cell", " handynummer", " mobilnummer", " num", " telefon"),
    *(" movil", " celular", " whatsapp", " telephone", " portable", " telemovel", " e-mail"),
    *(" email", " mail", " correo", " courriel", " contact", " kontaktdaten", " coordonnees"),
    *("numaran", "رقمك", "جوالك", "هاتفك", "教えて", "で話", "で連絡", "でやり取り"),
)
# The same as a question or offer: "do you have a number", "lascia un recapito".
_ASK = (
    r"(?:(?:do|would|did) (?:you|u|ya) (?:have|got)|(?:you|u) (?:got|have)|have you got|got|can i (?:have|get)|could i (?:have|get)|"
    r"give (?:me|us)|(?:leave|send|drop|text|tell) (?:me|us|her|him)|could you (?:leave|share|send)|exchange|please provide|"
    r"hast du|habt ihr|haben sie|hatten sie|hattest du|gib(?:st du)? (?:mir )?(?:mal )?|geben sie mir|lass mir|dalassen|"
    r"tienes|tenes|tiene|me (?:das|dejas|pasas|deja|das|da|daria|pasa|pasaria)|dejame|pasame|dame|"
    r"(?:vous|t)'? ?(?:avez|auriez|as)|tu as|avez-vous|auriez-vous|(?:laissez|donnez|donne|laisse|filez|file|passez)-moi|je peux avoir|"
    r"tens|tem|voce tem|me (?:passa|da|deixa|manda)|passa-me|da-me|deixa-me|"
    r"mi (?:dai|lasci|da|dia|lascia|passi|mandi)|hai|avrebbe|avresti|ce l'ha|posso avere|"
    r"heb je|heeft u|hebt u|geef me|stuur me|masz|czy ma|podaj|prosze podac|podac)"
)
_THING = (
    r"(?:phone number|mobile number|contact number|phone no|number|phone|mobile|cell|landline|digits|"
    r"(?:handy|mobil|telefon|festnetz|ruf)?nummer|durchwahl|numero(?: de (?:telephone|telefono|telefone))?|numerito|telefono|"
    r"telefone|celular|celu|cel|movil|tel|num|portable|recapito|cellulare|telefoonnummer|telefon|numer|"
    r"e-?mail(?:adresse| address|adres)?|mail(?:adresse|box| address)?|gmail|correo|courriel|adresse mail|indirizzo (?:di posta|mail|email)|"
    r"maila|adres mailowy|postfach|inbox)"
)
ASKS_FOR = Clued(
    rf"(?<!\w){_ASK} (?:(?:a|an|your|ur|some|eine?n?|ne|deine?|ihre?|un|una|um|uma|une|tu|su|teu|seu|ton|votre|il|tuo|suo|jouw|je|"
    rf"uw|jakis|swoj|twoj|ein|algun|alguma?|personal|good|other|direct|eigene|mobiel|die|den|la|le|o|el|another) ){{0,3}}{_THING}"
    r"(?!\w)(?! (?:of|for the (?!call)|on the|in the|de (?!tele)|di |von|van|one|as a|template|style|design|signature|\d))",
    *(" phone", " mobile", " num", " cel", " landline", " digits", "nummer"),
    *(" durchwahl", " tel", " movil", " portable", " recapito", " e-mail", " email", " mail"),
    *(" gmail", " correo", " courriel", " indirizzo", " postfach", " inbox"),
)
HINTED, NAMED_SAME = Phrases(lexicon.HINTED), Phrases(lexicon.NAMED_SAME)
WHERE = re.compile(
    r"profil|\bbio\b|website|homepage|web ?site|\bweb\b|logo|watermark|first picture|cover"
)


def _judge_hints(verdict: Verdict, reading: Reading) -> None:
    if reading.refuses:
        return
    plain, meanings = reading.folded, reading.meanings
    if HINTED.found_in(plain):
        asks = not meanings.isdisjoint(("contact", "mine", "search"))
        verdict.add("handle", 0.7 + 0.4 * (asks or bool(NAMED_SAME.found_in(plain))))
    asked = ASKED.search(plain)
    if asked:
        verdict.add("email" if "mail" in asked[0] else "phone", 1.0)
    elif ASKS_FOR.search(plain):
        verdict.add("phone", 0.8 + 0.2 * ("?" in plain))
    for sentence in reading.spoken:
        if (
            sentence.near("mine", "platform", 1)
            and (sentence.has("book") or _saves(sentence))
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
                0.6 + 0.45 * ("form" in plain or "contact" in meanings or "first" in plain),
            )
        if MY_NUMBER.search(sentence.text) and WHERE.search(sentence.text):
            verdict.add("phone", 1.0)
