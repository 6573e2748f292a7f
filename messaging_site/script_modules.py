"""The ES modules that a script imports, directly and transitively.

A page lists them for preloading, because a browser would otherwise discover them one round trip
after the other.
"""

import functools
import posixpath
import re
from pathlib import Path

from django.contrib.staticfiles import finders

# `import "./a.js"`, `import { b } from "../c.js"`, `export … from "./d.js"`; not dynamic imports.
IMPORT = re.compile(r"""^(?:import|export)\s[^;]*?["'](\.{1,2}/[^"']+)["'];""", re.MULTILINE)


@functools.cache
def list_imports(name: str) -> tuple[str, ...]:
    """Names of static files, in the order in which a browser would discover them."""
    found: list[str] = []
    queue = [name]
    while queue:
        current = queue.pop(0)
        path = finders.find(current)
        text = Path(path).read_text() if path else ""
        for relative in IMPORT.findall(text):
            module = posixpath.normpath(posixpath.join(posixpath.dirname(current), relative))
            if module != name and module not in found:
                found.append(module)
                queue.append(module)
    return tuple(found)
