"""Formatting of times, amounts and sizes in the panel."""

from datetime import datetime

from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from contracts import money
from core.time_zones import local_time
from threads.rendering.labels import day_label, time_label

register = template.Library()


@register.simple_tag
def moment(at: datetime) -> SafeString:
    """In the viewer's time zone on a page. Pushed fragments are in UTC."""
    local = local_time(at, timezone.get_current_timezone())
    label = f"{day_label(local.date(), timezone.localdate())}, {time_label(local)}"
    return format_html('<time datetime="{}" data-moment>{}</time>', at.isoformat(), label)


@register.filter
def amount(cents: int, currency: str) -> str:
    return money.format_amount(cents, currency)


@register.filter
def filesize(size: int) -> str:
    """For example 1.4 GB."""
    value = float(size)
    for unit in ("bytes", "KB", "MB", "GB"):
        if value < 1000 or unit == "GB":
            return f"{size} bytes" if unit == "bytes" else f"{value:.1f} {unit}"
        value /= 1000
    return ""
