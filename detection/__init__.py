"""Detects attempts to move a conversation or payment off the marketplace. Standalone."""

from detection.detector import judge, load
from detection.verdict import REASONS, Verdict

__all__ = ["REASONS", "Verdict", "judge", "load"]
