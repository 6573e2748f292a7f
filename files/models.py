"""Files, and their uses by messages and tabs; queued remote images; exports."""

from django.db import models

from accounts.models import User
from core.ids import new_id

CLEAR, SUGGESTIVE, EXPLICIT = 0, 1, 2
BANDS = [(CLEAR, "clear"), (SUGGESTIVE, "suggestive"), (EXPLICIT, "explicit")]
# Variants: the full image, the thumbnail in a thread, and the blurred image of safe mode.
FULL, THUMB, BLUR = "full", "thumb", "blur"
# Variants of a profile photo: squares, named by their side in pixels.
SQUARES = ("640", "320", "128")


def new_file_id() -> str:
    return new_id("file")


class File(models.Model):
    """An upload. It is quarantined, and visible to no one, until the scanners accept it."""

    class State(models.TextChoices):
        QUARANTINED = "quarantined"
        READY = "ready"

    class Kind(models.TextChoices):
        IMAGE = "image"
        # A profile photo, of which only squares are stored.
        PHOTO = "photo"
        PDF = "pdf"
        TEXT = "text"

    id = models.CharField(primary_key=True, max_length=31, default=new_file_id, editable=False)
    owner = models.ForeignKey(User, models.PROTECT, related_name="files")
    # It can be sent in this thread only. Empty for a file of a profile.
    thread_id = models.CharField(max_length=31, blank=True)
    state = models.CharField(max_length=11, choices=State, default=State.QUARANTINED)
    kind = models.CharField(max_length=5, choices=Kind)
    name = models.CharField(max_length=120)
    content_type = models.CharField(max_length=40)
    # Of the stored content, not of the upload.
    size = models.PositiveIntegerField(default=0)
    width = models.PositiveIntegerField(default=0)
    height = models.PositiveIntegerField(default=0)
    band = models.PositiveSmallIntegerField(choices=BANDS, default=CLEAR)
    # Of the upload: identical uploads make identical message hashes.
    digest = models.CharField(max_length=64)
    created_at = models.DateTimeField(auto_now_add=True)
    # When its last use was removed.
    released_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [models.Index(fields=["state", "created_at"], name="files_by_age")]

    def __str__(self) -> str:
        return self.name

    @property
    def variants(self) -> tuple[str, ...]:
        if self.kind == self.Kind.PHOTO:
            return SQUARES
        return (FULL, THUMB, BLUR) if self.kind == self.Kind.IMAGE else (FULL,)

    def path(self, variant: str) -> str:
        """The path in the storage. Ids end in random characters, so folders fill evenly."""
        return f"{self.id[-2:].lower()}/{self.id}/{variant}"


class FileUse(models.Model):
    """A message with the file. Written before the message is stored and has an id."""

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
        return f"{self.file_id} in {self.message_id or 'an unsent message'}"


class TabUse(models.Model):
    """A tab of a project panel with the file. For a moodboard it is written before the pin, and
    unsettled before the pin is removed; for proofs this row is the only record."""

    file = models.OneToOneField(File, models.CASCADE, related_name="tab_use")
    tab = models.CharField(max_length=10)
    # The id of the pin; empty for proofs.
    part = models.CharField(max_length=40, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    # While it is empty, DynamoDB has to be read to find out whether the pin exists.
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
    """A remote image of a pin, to be downloaded in the background. The row is the queue entry; it
    is deleted once the image is downloaded or has failed permanently."""

    owner = models.ForeignKey(User, models.CASCADE, related_name="+")
    thread_id = models.CharField(max_length=31)
    # The id of the pin.
    part = models.CharField(max_length=40)
    link = models.CharField(max_length=1000)
    # The id of the future file, by which an interrupted attempt is found.
    file_id = models.CharField(max_length=31, default=new_file_id)
    attempts = models.PositiveSmallIntegerField(default=0)
    # The next attempt. A worker postpones it first, which is its lease.
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


class ExportState(models.TextChoices):
    WAITING = "waiting"
    MAKING = "making"
    READY = "ready"
    FAILED = "failed"


class Export(models.Model):
    """A data export, written in the background and kept for some days. The row is the queue entry,
    so that it survives a restart."""

    id = models.CharField(primary_key=True, max_length=31, default=new_export_id, editable=False)
    owner = models.ForeignKey(User, models.CASCADE, related_name="exports")
    # Empty for an export of the whole account.
    thread_id = models.CharField(max_length=31, blank=True)
    about = models.CharField(max_length=200)
    state = models.CharField(max_length=7, choices=ExportState, default=ExportState.WAITING)
    # The worker that writes it, and its last sign of life; another one takes over after a timeout.
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
        """Different for each attempt, so that a worker that lost its claim overwrites nothing."""
        return f"exports/{self.id}/{self.claim}"

    @property
    def is_unfinished(self) -> bool:
        return self.state in (ExportState.WAITING, ExportState.MAKING)
