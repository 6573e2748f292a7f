"""Does this text take the talk, or the money, out of the marketplace? Scored, with reasons.

Pure arithmetic over one text and the few before it of the same author: no store is asked, and the
time grows with the length. It is a hint: what follows from it is threads/policy.py.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

from django.conf import settings

from moderation.detection.addresses import find_links
from moderation.detection.features import features
from moderation.detection.folding import close_up, fold, without_dots
from moderation.detection.hints import judge_hints
from moderation.detection.links import HIDDEN, judge_addresses, squeezed
from moderation.detection.model import lean
from moderation.detection.payments import judge_payment
from moderation.detection.phones import DISGUISED, judge_numbers
from moderation.detection.places import judge_places
from moderation.detection.proposals import judge_phrases
from moderation.detection.spelling import find_spelled
from moderation.detection.splitting import addresses, numbers, pieces_of
from moderation.detection.verdict import ENOUGH, Verdict
from moderation.detection.words import DENSE, Sentence, any_of, sentences

LETTERS = re.compile(r"[^\W\d_]{2}")
SHORT_NUMBER = 8
LONGEST_ADDRESS = 160
CLEAR = 1.05
# However sure the model is: less than what is plainly there.
MOST_LEANT = 0.14
# Found by its shape, and from which score on.
BY_ITSELF = ("phone", "email", "link", "payment")
PLAIN = 1.15
# How much the rules weigh beside the model, and the score at which they lean to neither side.
RULED, HALF_RULED, MOST_RULED = 2.0, 0.5, 1.3
# By which meanings a reason is told.
SAID_BY = {
    "payment": ("payservice", "account", "bankdetails"),
    "handle": ("messenger", "social"),
    "phone": ("number",),
    "email": ("mail",),
    "phrase": ("fee", "platform", "pay", "out", "book", "cash", "direct", "other"),
}


def judge(text: str, earlier: Sequence[str] = ()) -> Verdict:
    """`earlier` are the author's last few texts before this one, oldest first."""
    verdict = _judge_one(text)
    if verdict.is_found or not earlier:
        return verdict
    # What was found before was dealt with then: one attempt counts once.
    new = [one for one in earlier if not _judge_one(one).is_found]
    pieces = pieces_of(new, text)
    if len(pieces) > 1 and not any(has_record(one) for one in earlier):
        _judge_pieces(verdict, pieces)
        _judge_said_in_pieces(verdict, " ".join(pieces))
    return verdict


def _judge_pieces(verdict: Verdict, pieces: list[str]) -> None:
    for whole in numbers(pieces):
        verdict.add("phone", _judge_one(whole).scores.get("phone", 0.0))
    for run in find_spelled(" ".join(pieces)):
        if SHORT_NUMBER <= len(run.digits) <= 16:
            verdict.add("phone", ENOUGH)
    short = "".join(pieces[-3:]).replace(" ", "")
    if len(short) <= 40 and HIDDEN.search(squeezed(short)):
        verdict.add("handle", ENOUGH)
    for whole in addresses(pieces):
        if len(whole) <= LONGEST_ADDRESS:
            verdict.add("email", _judge_one(whole).scores.get("email", 0.0))
        if " " not in whole.strip() or len(whole) <= LONGEST_ADDRESS // 2:
            verdict.add("link", _judge_one(whole).scores.get("link", 0.0))


def _judge_said_in_pieces(verdict: Verdict, whole: str) -> None:
    if len(whole) > LONGEST_ADDRESS:
        return
    for reason in ("handle", "payment", "phrase"):
        score = _judge_one(whole).scores.get(reason, 0.0)
        # Said in pieces it has to be clearer than said at once.
        verdict.add(reason, score if score >= CLEAR else 0.0)


def _is_plain(verdict: Verdict) -> bool:
    return any(verdict.scores.get(reason, 0.0) >= PLAIN for reason in BY_ITSELF)


# Each text is one of the few before the next ones, too.
@lru_cache(maxsize=2048)
def has_record(text: str) -> bool:
    return any_of(sentences(fold(text)), "record")


@lru_cache(maxsize=2048)
def _cached(text: str) -> tuple[tuple[str, float], ...]:
    return tuple(_judge(text).scores.items())


def _judge_one(text: str) -> Verdict:
    return Verdict(dict(_cached(text)))


def _judge(text: str) -> Verdict:
    verdict = Verdict()
    plain = fold(text)
    closed = close_up(plain)
    spoken = sentences(without_dots(plain))
    judge_numbers(verdict, plain, closed, spoken, bool(DISGUISED.search(text)))
    judge_addresses(verdict, plain, closed, spoken)
    for sentence in spoken:
        judge_places(verdict, sentence)
        judge_payment(verdict, sentence)
    judge_phrases(verdict, plain, spoken)
    judge_hints(verdict, plain, spoken)
    _weigh(verdict, plain, spoken)
    return verdict


def seen_by_the_model(text: str) -> set[int]:
    plain = without_dots(fold(text))
    return features(plain, sentences(plain))


def _weigh(verdict: Verdict, plain: str, spoken: list[Sentence]) -> None:
    """What was found by rule is set beside what the words say to the model. A number or an address
    that is plainly there needs no second opinion; whatever else has one."""
    if _is_plain(verdict):
        return
    if sum(map(bool, map(LETTERS.search, plain.split()))) < 2 and not DENSE.search(plain):
        # Nothing that is said: the name of a file, a link.
        return
    best = max(verdict.scores, key=verdict.scores.__getitem__, default="")
    ruled = min(verdict.scores.get(best, 0.0), MOST_RULED)
    total = lean(features(without_dots(plain), spoken)) + RULED * (ruled - HALF_RULED)
    if total > settings.POLICY_THRESHOLD:
        reason = best if ruled >= HALF_RULED else _named(plain, spoken)
        surplus = total - settings.POLICY_THRESHOLD
        verdict.add(reason, ENOUGH + min(MOST_LEANT, 0.05 * surplus))
    else:
        verdict.dismiss()


def _named(plain: str, spoken: list[Sentence]) -> str:
    """The reason that is said, if the rules knew of none."""
    for reason, meanings in SAID_BY.items():
        if any(any_of(spoken, one) or any_of(spoken, f"~{one}") for one in meanings):
            return reason
    if find_links(plain):
        return "link"
    return "phone" if any_of(spoken, "contact") else "phrase"
