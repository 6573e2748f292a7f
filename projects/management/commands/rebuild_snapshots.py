from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from contracts.models import Dossier
from projects.panel.rebuild import rebuild


class Command(BaseCommand):
    help = "Makes the tabs of threads, and what waits for whom in them, again from the truth."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--thread", help="only this one, thrd_…")

    def handle(self, *, thread: str | None = None, **options: Any) -> None:
        dossiers = Dossier.objects.order_by("pk")
        if thread:
            dossiers = dossiers.filter(pk=thread)
        made = sum(rebuild(thread_id) for thread_id in dossiers.values_list("pk", flat=True))
        self.stdout.write(f"Made the tabs of {made} threads.")
