"""For templates: {% load people %}, then {{ person.display_name|initials }} and the others."""

from django import template

from accounts import avatars
from core import time_zones

register = template.Library()


@register.filter
def initials(name: str) -> str:
    return avatars.initials(name)


@register.filter
def tone(user_id: str) -> int:
    return avatars.avatar_tone(user_id)


@register.filter
def local_time(time_zone: str) -> time_zones.LocalTime:
    """{{ person.time_zone|local_time|date:"H:i" }}: their time, not the reader's."""
    return time_zones.time_in(time_zone)
