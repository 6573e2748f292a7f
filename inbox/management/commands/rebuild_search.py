from typing import Any

from django.core.management.base import BaseCommand

from inbox.search.reconcile import rebuild_index


class Command(BaseCommand):
    help = "Rebuilds the search index from the table. Search stays available meanwhile."

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(f"Indexed {rebuild_index()} conversations.")
