from typing import Any

from django.core.management.base import BaseCommand, CommandError

from accounts.models import OutboxEntry
from contracts.models import Dossier
from threads.panel.rebuilding import differences


class Command(BaseCommand):
    help = "Compares the records with the table, and says where they differ. Changes nothing."

    def handle(self, **options: Any) -> None:
        wrong, seen = 0, 0
        for thread_id in Dossier.objects.order_by("pk").values_list("pk", flat=True):
            seen += 1
            for problem in differences(thread_id):
                wrong += 1
                self.stdout.write(f"{thread_id}: {problem}")
        waiting = OutboxEntry.objects.filter(done_at__isnull=True).count()
        if waiting:
            self.stdout.write(f"{waiting} changes are still on their way to the table.")
        if wrong:
            raise CommandError(f"{wrong} differences in {seen} threads.")
        self.stdout.write(f"The stores agree on {seen} threads.")
