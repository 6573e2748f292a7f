"""Demo blocks in the calendars of sellers."""

import json
from datetime import datetime, time, timedelta
from typing import Any

from accounts.models import User
from availability.actions import add_block
from availability.models import TimeBlock
from core.time_zones import zone_of
from demo import content


def add_blocks(people: dict[str, User], now: datetime) -> int:
    """Returns how many were added. None if the demo has blocks already."""
    stories = json.loads((content.FOLDER / "blocks.json").read_text(encoding="utf-8"))
    before = TimeBlock.objects.count()
    if TimeBlock.objects.filter(key__startswith="demo-").exists():
        return 0
    for number, story in enumerate(stories):
        add_block(people[story["user"]], key=f"demo-{number}", **_times(story, people, now))
    return TimeBlock.objects.count() - before


def _times(story: dict[str, Any], people: dict[str, User], now: datetime) -> dict[str, Any]:
    zone = zone_of(people[story["user"]].time_zone)
    day = (now + timedelta(days=story["in_days"])).astimezone(zone).date()
    start = datetime.combine(day, time(story.get("from", 0)), zone)
    length = timedelta(days=story["days"]) if "days" in story else timedelta(hours=story["hours"])
    return {
        "starts_at": start,
        "ends_at": start + length,
        "is_all_day": "days" in story,
        "note": story["note"],
    }
