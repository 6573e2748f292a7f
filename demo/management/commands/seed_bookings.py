from typing import Any

from django.core.management.base import CommandError

from accounts.models import User
from demo import content
from demo.bookings import add_bookings
from demo.calendars import add_blocks
from demo.management.commands.seed_demo import derived_id
from demo.seed_command import SeedCommand


class Command(SeedCommand):
    help = "Add bookings to the demo conversations. Run it after seed_demo. Safe to repeat."

    def seed(self, **options: Any) -> None:
        found = {user.email: user for user in User.objects.all()}
        people = {p.key: found[p.email] for p in content.people() if p.email in found}
        if len(people) < len(content.people()):
            raise CommandError("Not all demo users exist. Run seed_demo first.")
        joined = min(person.date_joined for person in people.values())
        threads = {
            story.key: (
                derived_id("thrd", joined, story.key),
                people[story.buyer],
                people[story.seller],
            )
            for story in content.conversations(joined)
        }
        added = add_bookings(threads, people, joined)
        blocks = add_blocks(people, joined)
        self.stdout.write(f"Added {added} bookings and {blocks} blocked times.")
