from typing import Any

from django.core.management.base import BaseCommand

from people.search.index import rebuild_directory


class Command(BaseCommand):
    help = "Rebuilds the index of the directory. The directory stays available meanwhile."

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(f"Refreshed {rebuild_directory()} listings.")
