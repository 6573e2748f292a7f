"""Contracts, their versions and signatures, and manifests of deliverables."""

from django.db import models
from django.db.models import Q

from accounts.models import User
from contracts.models.bookings import Leg
from contracts.models.fields import one_of, record_id

ISSUED, IN_FORCE, VOID = "issued", "in_force", "void"
VERSION_STATES = (ISSUED, IN_FORCE, VOID)


class ContractDocument(models.Model):
    """The contract of a leg, with all its versions."""

    id = record_id("ctr")
    leg = models.OneToOneField(Leg, models.PROTECT, related_name="contract")
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"Contract of {self.leg_id}"


class ContractVersion(models.Model):
    """One version of a contract. Its content is immutable; its status can change."""

    document = models.ForeignKey(ContractDocument, models.PROTECT, related_name="versions")
    number = models.PositiveIntegerField()
    template = models.PositiveIntegerField()
    clauses = models.JSONField()
    pdf = models.BinaryField()
    sha256 = models.CharField(max_length=64)
    status = models.CharField(max_length=10, default=ISSUED)
    issued_at = models.DateTimeField()
    # Includes the signature page; set once all parties have signed.
    signed_pdf = models.BinaryField(null=True, blank=True)
    signed_sha256 = models.CharField(max_length=64, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["document", "number"], name="versions_have_numbers"),
            models.UniqueConstraint(
                fields=["document"], condition=~Q(status=VOID), name="one_version_counts"
            ),
            models.CheckConstraint(
                condition=~Q(status=IN_FORCE) | Q(signed_pdf__isnull=False),
                name="in_force_is_signed",
            ),
            one_of("status", VERSION_STATES, "a_version_is_in_a_known_state"),
        ]

    def __str__(self) -> str:
        return f"{self.document_id}, version {self.number}"


class Signature(models.Model):
    """A user's signature on one version, with its time, address and browser."""

    version = models.ForeignKey(ContractVersion, models.PROTECT, related_name="signatures")
    user = models.ForeignKey(User, models.PROTECT, related_name="signatures")
    legal_name = models.CharField(max_length=120)
    sha256 = models.CharField(max_length=64)
    signed_at = models.DateTimeField()
    address = models.GenericIPAddressField(null=True)
    user_agent = models.CharField(max_length=300)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["version", "user"], name="one_signature_each"),
        ]

    def __str__(self) -> str:
        return f"{self.legal_name}, {self.signed_at:%d %b %Y}"


class DeliverableManifest(models.Model):
    """The delivered files: names, sizes, checksums and links. Append-only."""

    id = record_id("mft")
    leg = models.ForeignKey(Leg, models.PROTECT, related_name="manifests")
    key = models.CharField(max_length=64)
    title = models.CharField(max_length=120)
    entries = models.JSONField()
    made_by = models.ForeignKey(User, models.PROTECT, related_name="manifests")
    made_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["made_by", "key"], name="one_manifest_an_attempt"),
        ]

    def __str__(self) -> str:
        return self.title
