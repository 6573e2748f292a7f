"""Small parts of pages that are one line each."""

from django import template
from django.templatetags.static import static
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from messaging_site.modules import imported_by

register = template.Library()


@register.simple_tag
def icon(name: str, size: str = "") -> SafeString:
    """A drawing beside words: it says nothing of its own to a screen reader."""
    return format_html(
        '<svg class="icon {}" aria-hidden="true"><use href="#i-{}"></use></svg>', size, name
    )


@register.simple_tag
def module(name: str) -> SafeString:
    """A script, and before it the names of all that it imports, so that they come at once."""
    names = ((static(other),) for other in imported_by(name))
    others = format_html_join("", '<link rel="modulepreload" href="{}">', names)
    return format_html('{}<script type="module" src="{}"></script>', others, static(name))


@register.filter
def zone_city(time_zone: str) -> str:
    """Where a clock hangs: Europe/Lisbon is "Lisbon", as people say it."""
    return time_zone.rsplit("/", 1)[-1].replace("_", " ")
