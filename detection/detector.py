"""Classifies whether a text moves the conversation or the payment off the marketplace.

Computed from one text and the author's few texts before it, without any store; the time is linear
in the length. The result is a hint: threads/policy.py decides what follows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from detection import model
from detection.lexicon import hidden_names
from detection.normalise import fold
from detection.numbers import DIGIT, find_spelled
from detection.reading import read
from detection.rules import SQUEEZED, match_rules
from detection.splitting import MAX_PIECES, joined_addresses, joined_numbers, last_pieces
from detection.verdict import REASONS, THRESHOLD, Verdict

# The margin of the model from which a text is an attempt: lowest with explicit evidence, higher
# without a word that names another way, for short texts, and for several messages read as one.
BAR_EXPLICIT, BAR, BAR_UNNAMED, BAR_JOINED, MORE_IF_SHORT = 0.0, 0.2, 0.55, 0.75, 0.1
SHORT_WORDS = 5
NAMED = (
    *("messenger", "messenger_weak", "social", "number", "mailbox", "mailprovider", "search"),
    *("payservice", "payservice_weak", "account", "bankdetails", "transfer", "cash", "fee"),
    *("platform", "direct", "cancel", "button", "exchange", "with_me", "proposal"),
)
# Several texts are read as one by the model only if they are short and one is not clearly harmless.
NOT_CLEARLY_HARMLESS, MAX_JOINED_CHARS = -0.6, 60
MIN_DIGITS, MAX_HIDDEN_CHARS, MAX_ADDRESS_CHARS, HIDDEN_LINK = 7, 40, 120, 0.3
PARTS_OF_ADDRESSES = ("say_at", "say_dot", "say_slash", "mailprovider", "reversed")


@dataclass(frozen=True)
class Opinion:
    """The results of the rules and the model for one text."""

    scores: dict[str, float]
    margin: float
    is_attempt: bool
    kind: str
    has_record: bool
    has_part_of_address: bool
    digits: int
    number_words: int

    @property
    def is_explicit(self) -> bool:
        return max(self.scores.values(), default=0.0) >= THRESHOLD


# Cached: each text is also an earlier text of the next ones.
@lru_cache(maxsize=2048)
def examine(text: str) -> Opinion:
    reading = read(text)
    scores = match_rules(reading)
    margin, highest = model.margin(reading, scores), max(scores.values(), default=0.0)
    bar = BAR if highest or reading.has(*NAMED) else BAR_UNNAMED
    bar = BAR_EXPLICIT if highest >= THRESHOLD else bar
    bar += MORE_IF_SHORT * (len(reading.tokens) < SHORT_WORDS and highest < THRESHOLD)
    has_sign = not reading.gates.isdisjoint(("sign", "dotted", "bracket"))
    return Opinion(
        scores,
        margin,
        margin >= bar,
        model.kind_of(reading, scores, REASONS) if margin >= BAR_EXPLICIT else "",
        reading.has("record"),
        has_sign or reading.has(*PARTS_OF_ADDRESSES),
        len(DIGIT.findall(reading.folded)),
        sum(word.is_number for word in reading.words),
    )


def judge(text: str, earlier: Sequence[str] = ()) -> Verdict:
    """`earlier` are the author's last few texts before this one, oldest first."""
    own = examine(text)
    if own.is_attempt:
        return Verdict(own.scores, "" if own.is_explicit else own.kind)
    verdict = Verdict()
    if earlier and not own.is_explicit:
        _judge_split(verdict, text, earlier)
    if earlier and not verdict.is_sure:
        verdict.guess = _guess_joined([*earlier, text])
    return verdict


def _guess_joined(texts: Sequence[str]) -> str:
    pieces = texts[-MAX_PIECES:]
    if max(map(len, pieces)) > MAX_JOINED_CHARS:
        return ""
    opinions = [*map(examine, pieces)]
    is_harmless = max(one.margin for one in opinions) < NOT_CLEARLY_HARMLESS
    if is_harmless or any(one.is_attempt for one in opinions):
        return ""
    whole = examine("\n".join(pieces))
    return whole.kind if whole.margin >= BAR_JOINED else ""


def _judge_split(verdict: Verdict, text: str, earlier: Sequence[str]) -> None:
    # Earlier texts with explicit evidence were judged when they were sent.
    texts = last_pieces([one for one in earlier if not examine(one).is_explicit], text)
    opinions = [*map(examine, texts)]
    if len(texts) < 2 or any(one.has_record for one in opinions):
        return
    pieces = [fold(one).strip() for one in texts]
    if opinions[-1].digits and sum(one.digits for one in opinions) >= MIN_DIGITS:
        for number in joined_numbers(pieces):
            verdict.add("phone", examine(number).scores.get("phone", 0.0))
    if opinions[-1].number_words and sum(one.number_words for one in opinions) > 2:
        spelled = find_spelled(read(" ".join(pieces)).words)
        verdict.add("phone", THRESHOLD * any(8 <= len(digits) <= 16 for digits in spelled))
    short = "".join(pieces[-3:])
    if len(short) <= MAX_HIDDEN_CHARS and hidden_names(short.translate(SQUEEZED)):
        verdict.add("handle", THRESHOLD)
    if any(one.has_part_of_address for one in opinions):
        for whole in joined_addresses(pieces):
            found = examine(whole).scores if len(whole) <= MAX_ADDRESS_CHARS else {}
            verdict.add("email", found.get("email", 0.0))
            # A link that is split is meant to be hidden.
            verdict.add("link", found.get("link", -HIDDEN_LINK) + HIDDEN_LINK)
