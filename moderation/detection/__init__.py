"""Whether a text leads out of the marketplace. Uses nothing of ours, so everybody may ask it."""

from moderation.detection.detector import judge
from moderation.detection.verdict import REASONS, Verdict

__all__ = ["REASONS", "Verdict", "judge"]
