"""Cases, reports, notes and the audit."""

from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.db.models import Q

from accounts.models import User
from core.ids import new_id

MAX_TEXT_CHARS = 2000


def new_case_id() -> str:
    return new_id("case")


class Case(models.Model):
    """A matter for staff to review. At most one case is open per thread, or per person if no thread
    is concerned; later reports join it."""

    class Status(models.TextChoices):
        NEW = "new"
        ASSIGNED = "assigned"
        RESOLVED = "resolved"

    class About(models.TextChoices):
        THREAD = "thread", "A conversation"
        MESSAGE = "message", "A message"
        PERSON = "person", "A person"
        CIRCUMVENTION = "circumvention", "Moving off Parley"
        DISPUTE = "dispute", "A dispute"
        SAFETY = "safety", "Safety"

    class Priority(models.IntegerChoices):
        HIGH = 1
        NORMAL = 2
        LOW = 3

    id = models.CharField(primary_key=True, max_length=32, default=new_case_id, editable=False)
    about = models.CharField(max_length=20, choices=About)
    thread_id = models.CharField(max_length=32, blank=True)
    # The reported user, if it is a single one.
    person = models.ForeignKey(User, models.PROTECT, null=True, related_name="cases")
    priority = models.PositiveSmallIntegerField(choices=Priority, default=Priority.NORMAL)
    status = models.CharField(max_length=10, choices=Status, default=Status.NEW)
    assignee = models.ForeignKey(User, models.PROTECT, null=True, related_name="assigned_cases")
    opened_at = models.DateTimeField(auto_now_add=True)
    resolved_at = models.DateTimeField(null=True)
    outcome = models.TextField(blank=True, max_length=MAX_TEXT_CHARS)

    class Meta:
        ordering = ["priority", "opened_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["thread_id"],
                condition=~Q(status="resolved") & ~Q(thread_id=""),
                name="one_open_case_a_thread",
            ),
            models.UniqueConstraint(
                fields=["person"],
                condition=~Q(status="resolved") & Q(thread_id=""),
                name="one_open_case_a_person",
            ),
        ]
        permissions = [
            ("work_case", "Take cases, read what they are about, hide messages, resolve"),
            ("restrict", "Lock, hold and redact; mute and suspend people; export evidence"),
        ]

    def __str__(self) -> str:
        return f"{self.get_about_display()}, {self.id}"

    @property
    def is_open(self) -> bool:
        return self.status != self.Status.RESOLVED


class Report(models.Model):
    """A report by a user or by the service, with a copy of the evidence at that time."""

    class Reason(models.TextChoices):
        SPAM = "spam", "Spam or advertising"
        OFF_SITE = "off_site", "Trying to move off Parley"
        FRAUD = "fraud", "Fraud or a fake identity"
        HARASSMENT = "harassment", "Harassment or insults"
        SEXUAL = "sexual", "Unwanted sexual content"
        DANGER = "danger", "A threat, or someone is in danger"
        OTHER = "other", "Something else"

    class Answer(models.TextChoices):
        """The answer to the reporter, which reveals nothing about sanctions."""

        ACTED = "acted", "We found a breach of our rules and took action."
        NO_BREACH = "no_breach", "We found no breach of our rules."
        UNCLEAR = "unclear", "We couldn't tell from what we have. Report it again if it continues."
        REVIEWED = "reviewed", "We've reviewed it."

    case = models.ForeignKey(Case, models.PROTECT, related_name="reports")
    reporter = models.ForeignKey(User, models.PROTECT, null=True, related_name="reports")
    reason = models.CharField(max_length=20, choices=Reason)
    comment = models.TextField(blank=True, max_length=MAX_TEXT_CHARS)
    message_id = models.CharField(max_length=32, blank=True)
    evidence = models.JSONField(default=dict, encoder=DjangoJSONEncoder)
    evidence_hash = models.CharField(max_length=64)
    # Size of the evidence that this report stores; 0 if it stores none.
    evidence_bytes = models.PositiveIntegerField(default=0)
    # The report of the same case that stores the same evidence.
    same_evidence_as = models.ForeignKey("self", models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    # Idempotency key: a repeated report finds the existing row.
    key = models.CharField(max_length=80, unique=True)
    answer = models.CharField(max_length=10, choices=Answer, blank=True)
    answered_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.get_reason_display()}, {self.created_at:%d %b %Y}"

    @property
    def answer_label(self) -> str:
        return self.Answer(self.answer or self.Answer.REVIEWED).label


class CaseNote(models.Model):
    case = models.ForeignKey(Case, models.PROTECT, related_name="notes")
    author = models.ForeignKey(User, models.PROTECT, related_name="case_notes")
    text = models.TextField(max_length=MAX_TEXT_CHARS)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return self.text[:60]


class AuditEntry(models.Model):
    """What staff viewed and did. Triggers make entries append-only; each holds the hash of the
    previous one, so that a missing entry is detectable."""

    number = models.PositiveBigIntegerField(primary_key=True)
    at = models.DateTimeField()
    # Ids as text instead of foreign keys: changes to users and cases must not affect the audit.
    actor = models.CharField(max_length=32)
    act = models.CharField(max_length=40)
    case = models.CharField(max_length=32)
    target = models.CharField(max_length=80, blank=True)
    reason = models.TextField(blank=True)
    details = models.JSONField(default=dict)
    previous_hash = models.CharField(max_length=64, blank=True)
    hash = models.CharField(max_length=64)

    class Meta:
        ordering = ["number"]
        verbose_name_plural = "audit"

    def __str__(self) -> str:
        return f"{self.number}: {self.act}"


class AuditHead(models.Model):
    """Number and hash of the newest entry, so that entries missing at the end are detectable."""

    number = models.PositiveBigIntegerField(default=0)
    hash = models.CharField(max_length=64, blank=True)

    def __str__(self) -> str:
        return str(self.number)
