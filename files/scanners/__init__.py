"""Scanners of uploads. Each can refuse a file, and a file that a scanner cannot check is refused.

Built in: limits and re-encoding of images. Enabled by settings: clamd and NudeNet.
"""

from django.conf import settings

from files.scanners.builtin import BuiltInScanner
from files.scanners.clamd import ClamdScanner
from files.scanners.nudity import NudityScanner
from files.scanners.sample import Sample, Scanner

__all__ = ["Sample", "Scanner", "list_scanners"]


def list_scanners() -> list[Scanner]:
    # clamd first: it checks the upload before anything is decoded.
    scanners: list[Scanner] = (
        [ClamdScanner(settings.FILES["clamd"])] if settings.FILES["clamd"] else []
    )
    scanners.append(BuiltInScanner())
    if settings.FILES["nudenet"]:
        scanners.append(NudityScanner())
    return scanners
