"""Static files with hashed names, so that a browser may keep them for ever."""

import re
from typing import Any

from django.conf import settings
from django.core.files.base import ContentFile
from whitenoise.storage import CompressedManifestStaticFilesStorage

# A comment that has its lines to itself; one beside code stays, and so does an address in it.
_COMMENT = re.compile(rb"^[ \t]*(?://[^\n]*|/\*(?:(?!\*/).)*\*/[ \t]*)$", re.S | re.M)
_INDENT = re.compile(rb"\n\s+")


class StaticFiles(CompressedManifestStaticFilesStorage):
    # The modules import each other by relative path; the hashed copies must import hashed names.
    support_js_module_import_aggregation = True

    def _save(self, name: str, content: Any) -> str:
        if _is_ours(name) and name.endswith((".js", ".css")):
            content = ContentFile(lean(b"".join(content.chunks())))
        return super()._save(name, content)


def _is_ours(name: str) -> bool:
    """What others wrote goes out as they wrote it."""
    return any((folder / name).parent.is_dir() for folder in settings.STATICFILES_DIRS)


def lean(source: bytes) -> bytes:
    """Without what is there for those who read it, a fifth of what browsers would fetch."""
    return _INDENT.sub(b"\n", _COMMENT.sub(b"", source)).strip() + b"\n"
