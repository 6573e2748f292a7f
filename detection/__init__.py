"""Whether a text leads out of the marketplace. Uses nothing of ours, so everybody may ask it."""

from detection.detector import REASONS, Verdict, judge

__all__ = ["REASONS", "Verdict", "judge"]
