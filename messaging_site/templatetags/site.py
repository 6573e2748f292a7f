"""Template tags for icons and scripts, and a filter for time zones."""

from collections.abc import Iterable
from functools import cache

from django import template
from django.template.loader import get_template
from django.templatetags.static import static
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from core.pages import PATH_SLOT, has_slots, render_part
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
@cache
def constant(name: str) -> SafeString:
    """A template that depends on nothing, rendered once."""
    return mark_safe(get_template(name).render())


@register.simple_tag(takes_context=True)
def nav(context: template.Context, at: str) -> SafeString:
    """The navigation of a signed-in user, given only what it shows of the request."""
    request = context["request"]
    names = ("id", "handle", "display_name", "avatar", "is_authenticated", "is_staff")
    user = {name: getattr(request.user, name) for name in names}
    path = PATH_SLOT if has_slots(context) else request.get_full_path()
    shown = {"user": user, "get_full_path": path}
    return render_part(
        context, "site/nav.html", {"at": at, "theme": context["theme"], "request": shown}
    )


@register.simple_tag
@cache
def module(name: str) -> SafeString:
    """A module script, preceded by preload links for all its imports."""
    links = _preload_links(list_imports(name))
    return format_html('{}<script type="module" src="{}"></script>', links, static(name))


@register.simple_tag
@cache
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
