"""The result of the detector."""

from dataclasses import dataclass, field

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


@dataclass
class Verdict:
    """A score for each reason; from the threshold on it is shown to the author."""

    scores: dict[str, float] = field(default_factory=dict)
    # The reason predicted by the model if there is no explicit evidence.
    guess: str = ""

    @property
    def score(self) -> float:
        return sum(score for score in self.scores.values() if score >= THRESHOLD)

    @property
    def reasons(self) -> list[str]:
        sure = [reason for reason in REASONS if self.scores.get(reason, 0.0) >= THRESHOLD]
        return sure or ([self.guess] if self.guess else [])

    @property
    def is_sure(self) -> bool:
        """Whether there is explicit evidence, which can be explained to the author."""
        return any(score >= THRESHOLD for score in self.scores.values())

    @property
    def is_found(self) -> bool:
        return self.is_sure or bool(self.guess)
