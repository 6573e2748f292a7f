from typing import Any

from django.core.management.base import BaseCommand

from threads.cleanup import delete_expired_items


class Command(BaseCommand):
    help = "Deletes expired items by a Scan. Not needed on AWS, which expires them itself."

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(f"{delete_expired_items()} expired items deleted.")
