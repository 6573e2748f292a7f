"""How much the words of a text lean towards leaving: a sum of learnt weights, above nought if they do.

`python -m tests.moderation.train` learns them; docs/detector.md says when and how.
"""

import json
from array import array
from base64 import b64decode
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

WEIGHTS = Path(__file__).parent / "data" / "weights.json"


@cache
def _learnt() -> tuple[Sequence[int], float, float]:
    """Each weight as a small whole number, how much one of those is worth, and where it starts."""
    stored = json.loads(WEIGHTS.read_text(encoding="utf-8"))
    return array("b", b64decode(stored["weights"])), stored["step"], stored["start"]


def lean(features: Iterable[int]) -> float:
    weights, step, start = _learnt()
    return start + step * sum(weights[one] for one in features)
