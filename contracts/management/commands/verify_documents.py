import hashlib
from collections.abc import Iterator
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from contracts.models import ContractVersion


class Command(BaseCommand):
    help = "Finds every contract of which a byte was changed since it was issued or signed."

    def handle(self, **options: Any) -> None:
        wrong, seen = [], 0
        versions = ContractVersion.objects.prefetch_related("signatures").order_by("id")
        for version in versions.iterator(chunk_size=100):
            seen += 1
            wrong += [f"{version}: {problem}" for problem in problems_of(version)]
        for line in wrong:
            self.stdout.write(line)
        if wrong:
            raise CommandError(f"{len(wrong)} of {seen} versions are not as they were issued.")
        self.stdout.write(f"{seen} versions are as they were issued.")


def problems_of(version: ContractVersion) -> Iterator[str]:
    """By the checksum that is kept beside it, and by the one that everybody signed."""
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
