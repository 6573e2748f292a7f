"""The key that signs sessions: one of its own for every embedded installation."""

import os
import secrets
from pathlib import Path


def get_or_create(data_dir: Path) -> str:
    path = data_dir / "secret_key"
    try:
        return path.read_text()
    except FileNotFoundError:
        data_dir.mkdir(parents=True, exist_ok=True)
    try:
        # Exclusive: of two first starts at once, one makes the key and the other reads it.
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_urlsafe(64))
    except FileExistsError:
        pass
    return path.read_text()


def is_weak(key: str) -> bool:
    return len(key) < 50 or len(set(key)) < 5 or key.startswith("django-insecure")
