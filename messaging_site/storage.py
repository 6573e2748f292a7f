"""Static files with hashed names, so that browsers may cache them without expiry."""

import functools
import sys
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core.files.base import ContentFile
from whitenoise.storage import CompressedManifestStaticFilesStorage


class StaticFiles(CompressedManifestStaticFilesStorage):
    # The modules import each other by relative path; the hashed copies must import hashed names.
    support_js_module_import_aggregation = True
    # The longest chain of imports needs more passes than the default of five.
    max_post_process_passes = 20

    @functools.cached_property
    def _urls(self) -> dict[tuple[str, bool], str]:
        return {}

    def url(self, name: str, force: bool = False) -> str:
        """A page has dozens of URLs, which do not change while the process runs."""
        if (name, force) not in self._urls:
            self._urls[name, force] = super().url(name, force)
        return self._urls[name, force]

    def _save(self, name: str, content: Any) -> str:
        if _is_ours(name) and name.endswith(".js"):
            content = ContentFile(minify_script(b"".join(content.chunks())))
        return super()._save(name, content)


def _is_ours(name: str) -> bool:
    """Files of other packages are served unchanged."""
    return any((folder / name).parent.is_dir() for folder in settings.STATICFILES_DIRS)


def minify_script(source: bytes) -> bytes:
    # The minifier has wheels for Linux only; elsewhere scripts are served as written.
    if sys.platform != "linux":
        return source
    return _minifier()("application/javascript", source.decode()).encode()


@functools.cache
def _minifier() -> Callable[[str, str], str]:
    # Loaded only by collectstatic: it starts a Go runtime, which servers do not need.
    import minify

    # Errors that browsers report keep readable names; short ones would save another 3 KB.
    minify.config({"js-keep-var-names": True})
    return minify.string
