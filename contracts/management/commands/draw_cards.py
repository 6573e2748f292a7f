from typing import Any

from django.core.management.base import BaseCommand

from contracts.cards.diagram import page


class Command(BaseCommand):
    help = "Prints docs/cards.md: the state diagrams of all cards, made from their tables."

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(page(), ending="")
