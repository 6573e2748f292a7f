"""Records which static files a data folder has, so that a start collects them only if needed."""

import hashlib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def are_current(data: Path) -> bool:
    stamp = _stamp(data)
    return stamp.exists() and stamp.read_text() == _fingerprint()


def mark_current(data: Path) -> None:
    _stamp(data).write_text(_fingerprint())


def _stamp(data: Path) -> Path:
    return data / "static.sha256"


def _fingerprint() -> str:
    """Covers our own files, and the pins that decide which files packages contain."""
    files = [ROOT / "requirements.txt", *ROOT.glob("static/**/*"), *ROOT.glob("*/static/**/*")]
    digest = hashlib.sha256()
    for path in sorted(file for file in files if file.is_file()):
        digest.update(f"{path.relative_to(ROOT)} {path.stat().st_size} ".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()
