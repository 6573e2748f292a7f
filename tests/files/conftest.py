"""Images and other files for tests; corpus.py has the malicious ones."""

import io
from pathlib import Path

import pytest
from django.conf import settings
from django.core.files.storage import storages
from PIL import Image

from accounts.models import User
from files.actions import accept_file
from files.models import File
from tests.threads.conftest import buyer, person, seller, stranger, thread  # noqa: F401


def picture(format_: str = "JPEG", size: tuple[int, int] = (640, 480), **options: object) -> bytes:
    out = io.BytesIO()
    has_alpha = options.pop("alpha", False)
    image = Image.linear_gradient("L").resize(size).convert("RGB")
    if has_alpha:
        image.putalpha(128)
    image.save(out, format_, **options)
    return out.getvalue()


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A storage folder for this test only."""
    folder = tmp_path / "files"
    for name in ("base_location", "location"):
        monkeypatch.setitem(storages["files"].__dict__, name, str(folder))
    return folder


def bring(owner: User, thread_id: str, content: bytes | None = None, name: str = "a.jpg") -> File:
    content = picture() if content is None else content
    return accept_file(owner, thread_id=thread_id, name=name, content=io.BytesIO(content))


def change_file_settings(monkeypatch: pytest.MonkeyPatch, **changed: object) -> None:
    monkeypatch.setattr(settings, "FILES", settings.FILES | changed)
