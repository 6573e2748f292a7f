from typing import Any

from django.core.management.base import BaseCommand

from inbox.search.reconcile import rebuild_index


class Command(BaseCommand):
    help = "Makes the index of search anew from the table. It can be used meanwhile."

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(f"Took in {rebuild_index()} conversations.")
