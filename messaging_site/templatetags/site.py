"""Template tags for icons and scripts, and a filter for time zones."""

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
    """An icon next to text, hidden from screen readers."""
    return format_html(
        '<svg class="icon {}" aria-hidden="true"><use href="#i-{}"></use></svg>', size, name
    )


@register.simple_tag
def module(name: str) -> SafeString:
    """A module script, preceded by preload links for all its imports."""
    links = _preload_links(list_imports(name))
    return format_html('{}<script type="module" src="{}"></script>', links, static(name))


@register.simple_tag
def preload_module(name: str, after: str) -> SafeString:
    """Preload links for a module that the script `after` imports dynamically."""
    loaded = {after, *list_imports(after)}
    return _preload_links(other for other in (name, *list_imports(name)) if other not in loaded)


def _preload_links(names: Iterable[str]) -> SafeString:
    links = ((static(name),) for name in names)
    return format_html_join("", '<link rel="modulepreload" href="{}">', links)


@register.filter
def zone_city(time_zone: str) -> str:
    """The city of a time zone: "Lisbon" for Europe/Lisbon."""
    return time_zone.rsplit("/", 1)[-1].replace("_", " ")
