"""Dates as people say them, in the reader's zone. static/site/labels.js says the same."""

from datetime import date, datetime


def day_label(day: date, today: date) -> str:
    distance = (today - day).days
    if distance == 0:
        return "Today"
    if distance == 1:
        return "Yesterday"
    year = "" if day.year == today.year else f" {day.year}"
    return f"{day:%a} {day.day} {day:%b}{year}"


def time_label(moment: datetime) -> str:
    return f"{moment:%H:%M}"


def row_label(moment: datetime, today: date) -> str:
    """When something last happened, as short as can be."""
    distance = (today - moment.date()).days
    if distance == 0:
        return time_label(moment)
    if distance == 1:
        return "Yesterday"
    year = "" if moment.year == today.year else f" {moment.year}"
    return f"{moment.day} {moment:%b}{year}"
