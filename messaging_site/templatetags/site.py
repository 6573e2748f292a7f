"""Small parts of pages that are one line each."""

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

register = template.Library()


@register.simple_tag
def icon(name: str, size: str = "") -> SafeString:
    """A drawing beside words: it says nothing of its own to a screen reader."""
    return format_html(
        '<svg class="icon {}" aria-hidden="true"><use href="#i-{}"></use></svg>', size, name
    )


@register.filter
def zone_city(time_zone: str) -> str:
    """Where a clock hangs: Europe/Lisbon is "Lisbon", as people say it."""
    return time_zone.rsplit("/", 1)[-1].replace("_", " ")
