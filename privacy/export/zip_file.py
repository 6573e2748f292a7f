"""The zip that somebody gets, written piece by piece: no conversation is too long for memory."""

import json
import shutil
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from django.contrib.staticfiles import finders

STYLE = "threads/export.css"


class ExportZip:
    def __init__(self, path: Path, heard: Callable[[], None] = lambda: None) -> None:
        self._zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False)
        # Said now and then, so that nobody takes us for dead.
        self.heartbeat = heard

    def __enter__(self) -> "ExportZip":
        return self

    def __exit__(self, *error: object) -> None:
        self._zip.close()

    @contextmanager
    def writing(self, name: str) -> Iterator[Callable[[str], object]]:
        with self._zip.open(_entry(name), "w", force_zip64=True) as entry:
            yield lambda text: entry.write(text.encode())

    def add_json(self, name: str, value: Any) -> None:
        self._zip.writestr(name, json.dumps(value, ensure_ascii=False, indent=1))

    def add_text(self, name: str, text: str) -> None:
        self._zip.writestr(name, text)

    def add_bytes(self, name: str, content: bytes) -> None:
        self._zip.writestr(name, content)

    def add_stream(self, name: str, content: IO[bytes], *, is_packed: bool) -> None:
        """What is packed by itself does not get smaller."""
        entry = _entry(name)
        entry.compress_type = zipfile.ZIP_STORED if is_packed else zipfile.ZIP_DEFLATED
        with self._zip.open(entry, "w", force_zip64=True) as into:
            shutil.copyfileobj(content, into)
        self.heartbeat()

    def add_style(self) -> None:
        self._zip.write(str(finders.find(STYLE)), "style.css")


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, time.gmtime()[:6])
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry
