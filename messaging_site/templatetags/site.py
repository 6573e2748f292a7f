"""Small parts of pages that are one line each."""

from collections.abc import Iterable
from functools import cache

from django import template
from django.templatetags.static import static
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from messaging_site.script_modules import list_imports

register = template.Library()


@register.simple_tag
@cache
def icon(name: str, size: str = "") -> SafeString:
    """A drawing beside words: it says nothing of its own to a screen reader."""
    return format_html(
        '<svg class="icon {}" aria-hidden="true"><use href="#i-{}"></use></svg>', size, name
    )


@register.simple_tag
def module(name: str) -> SafeString:
    """A script, and before it the names of all that it imports, so that they come at once."""
    others = _ahead(list_imports(name))
    return format_html('{}<script type="module" src="{}"></script>', others, static(name))


@register.simple_tag
def preload_module(name: str, after: str) -> SafeString:
    """What the script `after` will import by a call on this page: on its way before it asks."""
    known = {after, *list_imports(after)}
    return _ahead(other for other in (name, *list_imports(name)) if other not in known)


def _ahead(names: Iterable[str]) -> SafeString:
    links = ((static(name),) for name in names)
    return format_html_join("", '<link rel="modulepreload" href="{}">', links)


@register.filter
def zone_city(time_zone: str) -> str:
    """Where a clock hangs: Europe/Lisbon is "Lisbon", as people say it."""
    return time_zone.rsplit("/", 1)[-1].replace("_", " ")
