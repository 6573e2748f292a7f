"""What the detector says of a text."""

from dataclasses import dataclass, field

# What an author is told.
REASONS = {
    "phone": "a telephone number",
    "email": "an email address",
    "handle": "an account or a messenger elsewhere",
    "link": "a link to book or to write elsewhere",
    "payment": "a way to pay elsewhere",
    "phrase": "a proposal to go past the booking",
}
ENOUGH = 1.0
BELOW = 0.95


@dataclass
class Verdict:
    """How sure, for each reason; from one on it is said to the author."""

    scores: dict[str, float] = field(default_factory=dict)

    def add(self, reason: str, score: float) -> None:
        self.scores[reason] = max(self.scores.get(reason, 0.0), round(score, 2))

    def dismiss(self) -> None:
        self.scores = {reason: min(score, BELOW) for reason, score in self.scores.items()}

    @property
    def score(self) -> float:
        return sum(score for score in self.scores.values() if score >= ENOUGH)

    @property
    def reasons(self) -> list[str]:
        return [reason for reason in REASONS if self.scores.get(reason, 0.0) >= ENOUGH]

    @property
    def is_found(self) -> bool:
        return bool(self.reasons)
