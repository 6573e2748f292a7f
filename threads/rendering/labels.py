"""Short labels of dates and durations. static/site/labels.js must produce the same dates."""

from datetime import date, datetime


def day_label(day: date, today: date) -> str:
    distance = (today - day).days
    if distance == 0:
        return "Today"
    if distance == 1:
        return "Yesterday"
    year = "" if day.year == today.year else f" {day.year}"
    return f"{day:%a} {day.day} {day:%b}{year}"


def time_label(time: datetime) -> str:
    return f"{time.hour:02}:{time.minute:02}"


def row_label(time: datetime, today: date) -> str:
    """The time today, the day otherwise."""
    distance = (today - time.date()).days
    if distance == 0:
        return time_label(time)
    if distance == 1:
        return "Yesterday"
    year = "" if time.year == today.year else f" {time.year}"
    return f"{time.day} {time:%b}{year}"


def wait_notice(seconds: int) -> str:
    return f"You can send messages again in {duration_label(seconds)}."


def duration_label(seconds: int) -> str:
    """Rounded up, in the largest unit of which there are at least two."""
    for unit, length in (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1)):
        if seconds >= 2 * length or length == 1:
            count = -(-seconds // length)
            return f"{count} {unit}{'s' if count > 1 else ''}"
    return ""
