from typing import Any

from django.core.management.base import BaseCommand

from contracts.cards.diagram import page


class Command(BaseCommand):
    help = "Prints docs/cards.md: state diagrams and transition tables of all card types."

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(page(), ending="")
