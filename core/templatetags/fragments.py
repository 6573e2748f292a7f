"""Parts of a page that are kept: {% load fragments %}, then {% fragment "x.html" name=value %}."""

from typing import Any

from django import template
from django.utils.safestring import SafeString

from core.pages import render_part

register = template.Library()


@register.simple_tag(takes_context=True)
def fragment(
    context: template.Context, name: str, values: dict[str, Any] | None = None, **more: Any
) -> SafeString:
    """Renders a template that sees only these values and the CSRF token."""
    return render_part(context, name, (values or {}) | more)
