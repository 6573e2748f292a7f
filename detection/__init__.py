"""Detects attempts to move a conversation or payment off the marketplace. Standalone."""

from detection.detector import REASONS, Verdict, judge

__all__ = ["REASONS", "Verdict", "judge"]
