"""Whether a file may be shown: each scanner looks at it in turn, and one no is enough.

Built in: its limits, and its being made anew. By settings: clamd, and NudeNet. What one of them
cannot judge is not shown either.
"""

from django.conf import settings

from files.scanners.builtin import BuiltInScanner
from files.scanners.clamd import ClamdScanner
from files.scanners.nudity import NudityScanner
from files.scanners.sample import Sample, Scanner

__all__ = ["Sample", "Scanner", "list_scanners"]


def list_scanners() -> list[Scanner]:
    # clamd first: it looks at what came, before anything is decoded.
    scanners: list[Scanner] = (
        [ClamdScanner(settings.FILES["clamd"])] if settings.FILES["clamd"] else []
    )
    scanners.append(BuiltInScanner())
    if settings.FILES["nudenet"]:
        scanners.append(NudityScanner())
    return scanners
