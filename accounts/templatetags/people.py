"""Template filters for users: {% load people %}, then {{ person.display_name|initials }}."""

from django import template

from accounts.profiles import avatars
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
    """The current time in a zone: {{ person.time_zone|local_time|date:"H:i" }}."""
    return time_zones.time_in(time_zone)
