"""The ES modules that a page's script imports, directly or not.

A browser finds out about them one import after the other, each after a round trip; a page that
names them all at once saves it the way.
"""

import functools
import posixpath
import re
from pathlib import Path

from django.contrib.staticfiles import finders

# `import "./a.js"`, `import { b } from "../c.js"`, `export … from "./d.js"`. What is imported later
# by a call is not named.
IMPORT = re.compile(r"""^(?:import|export)\s[^;]*?["'](\.{1,2}/[^"']+)["'];""", re.MULTILINE)


@functools.cache
def list_imports(name: str) -> tuple[str, ...]:
    """Names of static files, in the order in which a browser would come upon them."""
    found: list[str] = []
    waiting = [name]
    while waiting:
        here = waiting.pop(0)
        path = finders.find(here)
        text = Path(path).read_text() if path else ""
        for relative in IMPORT.findall(text):
            module = posixpath.normpath(posixpath.join(posixpath.dirname(here), relative))
            if module != name and module not in found:
                found.append(module)
                waiting.append(module)
    return tuple(found)
