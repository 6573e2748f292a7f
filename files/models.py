"""What people send besides words: a row for each file, and for each message that has it."""

from django.db import models

from accounts.models import User
from core.ids import new_id

CLEAR, SUGGESTIVE, EXPLICIT = 0, 1, 2
BANDS = [(CLEAR, "clear"), (SUGGESTIVE, "suggestive"), (EXPLICIT, "explicit")]
# The whole picture, what a conversation shows of it, and what safe mode shows of it.
FULL, THUMB, BLUR = "full", "thumb", "blur"


def new_file_id() -> str:
    return new_id("file")


class File(models.Model):
    """Nobody gets it before it is `ready`: until it was scanned it is in quarantine."""

    class State(models.TextChoices):
        QUARANTINED = "quarantined"
        READY = "ready"

    class Kind(models.TextChoices):
        IMAGE = "image"
        PDF = "pdf"
        TEXT = "text"

    id = models.CharField(primary_key=True, max_length=31, default=new_file_id, editable=False)
    owner = models.ForeignKey(User, models.PROTECT, related_name="files")
    # Where it was brought: it can be sent there, and nowhere else.
    thread_id = models.CharField(max_length=31)
    state = models.CharField(max_length=11, choices=State, default=State.QUARANTINED)
    kind = models.CharField(max_length=5, choices=Kind)
    name = models.CharField(max_length=120)
    content_type = models.CharField(max_length=40)
    # Of what we keep, not of what came.
    size = models.PositiveIntegerField(default=0)
    width = models.PositiveIntegerField(default=0)
    height = models.PositiveIntegerField(default=0)
    band = models.PositiveSmallIntegerField(choices=BANDS, default=CLEAR)
    # Of what came: the same upload twice is the same message sent twice.
    digest = models.CharField(max_length=64)
    created_at = models.DateTimeField(auto_now_add=True)
    # When its last message went.
    released_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [models.Index(fields=["state", "created_at"], name="files_by_age")]

    def __str__(self) -> str:
        return self.name

    @property
    def variants(self) -> tuple[str, ...]:
        return (FULL, THUMB, BLUR) if self.kind == self.Kind.IMAGE else (FULL,)

    def path(self, variant: str) -> str:
        """In the storage. The tail of an id is random, so that folders fill evenly."""
        return f"{self.id[-2:].lower()}/{self.id}/{variant}"


class FileUse(models.Model):
    """A message that has the file. Written before it is sent, when it has no id of its own yet."""

    file = models.ForeignKey(File, models.CASCADE, related_name="uses")
    client_id = models.CharField(max_length=36)
    message_id = models.CharField(max_length=30, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["file", "client_id"], name="one_use_a_message")
        ]
        indexes = [
            models.Index(
                fields=["created_at"], name="uses_unsettled", condition=models.Q(message_id="")
            ),
            models.Index(fields=["message_id"], name="uses_of_message"),
        ]

    def __str__(self) -> str:
        return f"{self.file_id} in {self.message_id or 'a message to come'}"


class TabUse(models.Model):
    """A tab of a project panel that has the file. Of a moodboard it is written before the pin, and
    made unsettled before the pin goes; where proofs are, this is all there is to know."""

    file = models.OneToOneField(File, models.CASCADE, related_name="tab_use")
    tab = models.CharField(max_length=10)
    # The pin that shows it; proofs have none.
    part = models.CharField(max_length=40, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    # Until then the table has to be asked whether the pin is there.
    settled_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            models.Index(
                fields=["created_at"],
                name="tab_uses_unsettled",
                condition=models.Q(settled_at=None),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.file_id} in {self.tab}"


class OutsidePicture(models.Model):
    """A picture elsewhere that somebody pinned, to be fetched in the background. The row is the
    place in the queue; it goes when the picture is there, or will not come."""

    owner = models.ForeignKey(User, models.CASCADE, related_name="+")
    thread_id = models.CharField(max_length=31)
    # The pin that shows it.
    part = models.CharField(max_length=40)
    link = models.CharField(max_length=1000)
    # What it will be, so that an attempt which was cut off is found again.
    file_id = models.CharField(max_length=31, default=new_file_id)
    attempts = models.PositiveSmallIntegerField(default=0)
    # Whoever fetches it moves this on first: nobody else does meanwhile, and somebody after that.
    due_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["thread_id", "part"], name="one_picture_a_pin")
        ]
        indexes = [models.Index(fields=["due_at"], name="outside_by_due")]

    def __str__(self) -> str:
        return f"{self.part} of {self.thread_id}"


def new_export_id() -> str:
    return new_id("exp")


class Export(models.Model):
    """What somebody takes with them: asked for, made in the background, kept for some days. The row
    is the place in the queue, so that a restart forgets nobody."""

    class State(models.TextChoices):
        WAITING = "waiting"
        MAKING = "making"
        READY = "ready"
        FAILED = "failed"

    id = models.CharField(primary_key=True, max_length=31, default=new_export_id, editable=False)
    owner = models.ForeignKey(User, models.CASCADE, related_name="exports")
    # One conversation; empty: everything.
    thread_id = models.CharField(max_length=31, blank=True)
    about = models.CharField(max_length=200)
    state = models.CharField(max_length=7, choices=State, default=State.WAITING)
    # Who is making it, and when they were last heard of; another one takes over after a while.
    claim = models.CharField(max_length=36, blank=True)
    claimed_at = models.DateTimeField(null=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    size = models.PositiveBigIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["owner", "thread_id"],
                condition=models.Q(state__in=["waiting", "making"]),
                name="one_export_at_a_time",
            )
        ]

    def __str__(self) -> str:
        return self.about

    @property
    def path(self) -> str:
        """Of this attempt alone: who was taken over from writes nobody's file."""
        return f"exports/{self.id}/{self.claim}"

    @property
    def is_coming(self) -> bool:
        return self.state in (self.State.WAITING, self.State.MAKING)
