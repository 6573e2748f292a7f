"""Runs NudeNet. The worker starts it: `python -m files.images.nudity_detector`."""

import json
import sys
from typing import Any

# What the model calls what it sees, and how sure it has to be.
EXPLICIT = {
    "FEMALE_GENITALIA_EXPOSED",
    "MALE_GENITALIA_EXPOSED",
    "ANUS_EXPOSED",
    "FEMALE_BREAST_EXPOSED",
}
SUGGESTIVE = {
    "BUTTOCKS_EXPOSED",
    "BUTTOCKS_COVERED",
    "FEMALE_BREAST_COVERED",
    "FEMALE_GENITALIA_COVERED",
}
SURE_ENOUGH = 0.45


def band_of(found: list[dict[str, Any]]) -> int:
    seen = {one["class"] for one in found if one["score"] >= SURE_ENOUGH}
    if seen & EXPLICIT:
        return 2
    return 1 if seen & SUGGESTIVE else 0


def main() -> None:
    from nudenet import NudeDetector  # Optional, and slow to load: only this process has it.

    detector = NudeDetector()
    for line in sys.stdin:
        found = detector.detect(json.loads(line)["path"])
        print(json.dumps({"band": band_of(found)}), flush=True)


if __name__ == "__main__":
    main()
