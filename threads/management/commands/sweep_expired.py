from typing import Any

from django.core.management.base import BaseCommand

from threads.cleanup import delete_expired_items


class Command(BaseCommand):
    help = (
        "Removes items whose time has passed, by a Scan. Not needed on AWS, which does it itself."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(f"{delete_expired_items()} expired items removed.")
