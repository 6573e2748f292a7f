"""Collects static files for a data folder, once for all data folders of a checkout.

Collecting takes seconds, because files are minified and compressed.
"""

import hashlib
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from bootstrap import ROOT, VENV

CACHE = VENV / "collected-static"
MAX_AGE_SECONDS = 24 * 3600


def provide(data: Path, collect: Callable[[], object]) -> None:
    """Copies collected files into the folder, or calls `collect` to write them there."""
    current, stamp = _fingerprint(), data / "static.sha256"
    if stamp.exists() and stamp.read_text() == current:
        return
    cached = CACHE / current
    if cached.is_dir():
        shutil.rmtree(data / "static", ignore_errors=True)
        _copy(cached, data / "static")
    else:
        collect()
        _store(data / "static", cached)
    stamp.write_text(current)


def _store(collected: Path, cached: Path) -> None:
    """Another process may do the same at this moment, or still copy an earlier version."""
    _delete_old_versions()
    unfinished = cached.with_suffix(f".{os.getpid()}")
    _copy(collected, unfinished)
    try:
        unfinished.rename(cached)
    except OSError:
        shutil.rmtree(unfinished, ignore_errors=True)


def _delete_old_versions() -> None:
    for version in CACHE.glob("*"):
        if version.stat().st_mtime < time.time() - MAX_AGE_SECONDS:
            shutil.rmtree(version, ignore_errors=True)


def _copy(source: Path, target: Path) -> None:
    shutil.copytree(source, target, copy_function=_link_or_copy)


def _link_or_copy(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def _fingerprint() -> str:
    """Covers our own files, and the pins that decide which files packages contain."""
    # Without hidden folders, which contain collected files.
    folders = [ROOT / "static", *ROOT.glob("[!.]*/static")]
    files = [ROOT / "requirements.txt", *(path for each in folders for path in each.rglob("*"))]
    digest = hashlib.sha256()
    for path in sorted(file for file in files if file.is_file()):
        digest.update(f"{path.relative_to(ROOT)} {path.stat().st_size} ".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()
