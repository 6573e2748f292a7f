import hashlib
from collections.abc import Iterator
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from contracts.documents.clauses import list_differing_clauses
from contracts.models import ContractVersion, Leg
from contracts.models.documents import IN_FORCE, ISSUED, VOID


class Command(BaseCommand):
    help = (
        "Finds contracts that were changed since they were issued or signed, and bookings whose "
        "terms are not those of their contract."
    )

    def handle(self, **options: Any) -> None:
        wrong, versions = [], ContractVersion.objects.count()
        for version in _versions().iterator(chunk_size=100):
            wrong += [f"{version}: {problem}" for problem in problems_of(version)]
        unagreed = Leg.objects.exclude(contract__versions__status__in=(ISSUED, IN_FORCE))
        wrong += [f"{leg.id}: no contract of this booking counts" for leg in unagreed]
        for line in wrong:
            self.stdout.write(line)
        if wrong:
            raise CommandError(
                f"{len(wrong)} problems: contracts are not as they were issued, or bookings are "
                "not as they were agreed."
            )
        self.stdout.write(f"{versions} versions are as they were issued.")


def _versions() -> Any:
    related = ("document__leg__buyer", "document__leg__seller")
    found = ContractVersion.objects.select_related(*related).prefetch_related("signatures")
    return found.order_by("id")


def problems_of(version: ContractVersion) -> Iterator[str]:
    """By the checksum stored with it, the one that each party signed, and the booking's terms."""
    made = hashlib.sha256(version.pdf).hexdigest()
    if made != version.sha256:
        yield "the document was changed"
    for signature in version.signatures.all():
        if signature.sha256 != made:
            yield f"{signature.legal_name} signed something else"
    signed = version.signed_pdf
    if signed is not None and hashlib.sha256(signed).hexdigest() != version.signed_sha256:
        yield "the signed copy was changed"
    if version.status == "in_force" and version.signatures.count() < 2:
        yield "it is in force without two signatures"
    if version.status != VOID:
        yield from _differences_from_booking(version)


def _differences_from_booking(version: ContractVersion) -> Iterator[str]:
    leg = version.document.leg
    for title in list_differing_clauses(leg, version.template, version.clauses):
        yield f"the clause “{title}” differs from the terms of the booking {leg.id}"
