"""Formatting of times, amounts and sizes in the panel."""

from datetime import datetime

from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from contracts import money
from core.time_zones import local_time, zone_of
from threads.rendering.labels import day_label, time_label

register = template.Library()


@register.simple_tag
def moment(at: datetime) -> SafeString:
    """In the viewer's time zone on a page. Pushed fragments are in UTC."""
    local = local_time(at, timezone.get_current_timezone())
    label = f"{day_label(local.date(), timezone.localdate())}, {time_label(local)}"
    return format_html('<time datetime="{}" data-moment>{}</time>', at.isoformat(), label)


@register.simple_tag
def own_times(when: dict[str, str]) -> SafeString:
    """Times in the viewer's time zone, hidden where they are the same in the zone of the place.
    Browsers set them in pushed fragments, which are in UTC."""
    start, end = (datetime.fromisoformat(when[name]) for name in ("starts_at", "ends_at"))
    viewer, place = timezone.get_current_timezone(), zone_of(when["time_zone"])
    first, last = local_time(start, viewer), local_time(end, viewer)
    is_same = first.replace(tzinfo=None) == local_time(start, place).replace(tzinfo=None)
    until = time_label(last)
    if first.date() != last.date():
        until = f"{day_label(last.date(), timezone.localdate())}, {until}"
    label = f"{day_label(first.date(), timezone.localdate())}, {time_label(first)} to {until}"
    return format_html(
        '<time class="soft" datetime="{}" data-end="{}" data-own-time="{}"{}>{} your time</time>',
        start.isoformat(),
        end.isoformat(),
        when["time_zone"],
        mark_safe(" hidden") if is_same else "",
        label,
    )


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


@register.simple_tag
def own_time(at: datetime, place_time: str) -> SafeString:
    """The viewer's time where it differs from that of the place (`2027-05-14 10:00`)."""
    local = local_time(at, timezone.get_current_timezone())
    hidden = " hidden" if f"{local:%Y-%m-%d %H:%M}" == place_time else ""
    return format_html(
        '<span class="own-time soft" data-place-time="{}"{}>Your time: {}</span>',
        place_time,
        hidden,
        moment(at),
    )
