from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from contracts.models import Dossier
from projects.panel.rebuild import rebuild


class Command(BaseCommand):
    help = "Rebuilds the tabs, open cards and pending actions of threads from their SQL records."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--thread", help="only this thread, thrd_…")

    def handle(self, *, thread: str | None = None, **options: Any) -> None:
        dossiers = Dossier.objects.order_by("pk")
        if thread:
            dossiers = dossiers.filter(pk=thread)
        rebuilt = sum(rebuild(thread_id) for thread_id in dossiers.values_list("pk", flat=True))
        self.stdout.write(f"Rebuilt {rebuilt} threads.")
