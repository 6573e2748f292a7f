"""Renders the messages of a page: {% load timeline %}, then {% render_timeline timeline %}."""

from typing import Any

from django import template
from django.utils.safestring import SafeString

from threads.rendering.timeline import Timeline

register = template.Library()


@register.simple_tag(takes_context=True)
def render_timeline(context: dict[str, Any], timeline: Timeline) -> SafeString:
    return timeline.render(csrf_token=str(context.get("csrf_token", "")))
