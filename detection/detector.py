"""Classifies whether a text moves the conversation or the payment off the marketplace.

Computed from one text and the author's few texts before it, without any store; the time is linear
in the length. The result is a hint: threads/policy.py decides what follows.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from detection import model
from detection.reading import Reading, read
from detection.rules import match_rules
from detection.splitting import MAX_PIECES, find_split, last_pieces
from detection.verdict import REASONS, THRESHOLD, Verdict

# The margin of the model from which a text is an attempt: with explicit evidence, without it, and
# for several messages read as one.
BAR_EXPLICIT, BAR, BAR_JOINED = 0.1, 0.46, 1.0
# Of a longer text, each sentence or two are read as a text, so that other words hide nothing. It is
# not divided within a number, unless it consists of them.
MAX_WHOLE_CHARS = 300
PART = re.compile(
    r"(?s).{40,160}?[.!?\n](?=\s(?!\d))|.{1,160}(?!\S)(?!(?<=\d)\s\W{0,2}\d)|.{1,160}(?!\S)|.{160}"
)
# Each part has less than its share of false alarms, since a long text has many.
LESS_SUSPICION, LESS_MARGIN = 40, 0.35
# Several texts are read as one by the model only if they are short and one is not clearly harmless.
NOT_CLEARLY_HARMLESS, MAX_JOINED_CHARS = -0.6, 60


class Opinion(NamedTuple):
    """The results of the rules and the model for one text."""

    scores: dict[str, float]
    margin: float
    # Only of a text that resembles an attempt.
    reading: Reading | None = None

    @property
    def kind(self) -> str:
        """The kind of attempt that the text resembles."""
        return model.kind_of(self.reading, self.scores, REASONS) if self.reading else ""

    @property
    def is_explicit(self) -> bool:
        return max(self.scores.values(), default=0.0) >= THRESHOLD

    @property
    def is_attempt(self) -> bool:
        return self.margin >= (BAR_EXPLICIT if self.is_explicit else BAR)


HARMLESS = Opinion({}, -2.0)


# Cached: each text is also an earlier text of the next ones.
@lru_cache(maxsize=2048)
def examine(text: str) -> Opinion:
    if len(text) <= MAX_WHOLE_CHARS:
        return _examine(text) if model.is_suspicious(model.suspicion(text)) else HARMLESS
    worst = HARMLESS
    for part in PART.findall(text):
        if model.is_suspicious(model.suspicion(part) - LESS_SUSPICION):
            opinion = _examine(part)
            opinion = opinion._replace(margin=opinion.margin - LESS_MARGIN)
            worst = max(worst, opinion, key=lambda one: (one.is_attempt, one.margin))
    return worst


def _examine(text: str) -> Opinion:
    reading = read(text)
    scores = match_rules(reading)
    margin = model.margin(reading, scores)
    return Opinion(scores, margin, reading if margin >= BAR_EXPLICIT else None)


def load() -> None:
    """Loads all tables, so that the first message does not wait for them."""
    examine("10000000 mara@lumen.invalid")


def judge(text: str, earlier: Sequence[str] = ()) -> Verdict:
    """`earlier` are the author's last few texts before this one, oldest first."""
    own = examine(text)
    if own.is_attempt:
        return Verdict(own.scores, "" if own.is_explicit else own.kind)
    verdict = Verdict()
    if not earlier or not model.is_suspicious(model.suspicion(" ".join([*earlier, text]))):
        return verdict
    if not own.is_explicit:
        # Earlier texts with explicit evidence were judged when they were sent.
        texts = last_pieces([one for one in earlier if not examine(one).is_explicit], text)
        verdict = Verdict(find_split(texts))
    if not verdict.is_sure:
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
