"""The search index: a copy of the messages, which can be rebuilt from DynamoDB at any time.

It grants no access: every match is read from DynamoDB before it is shown.
"""

from django.db import models


class IndexedThread(models.Model):
    """How far a thread is indexed: its messages, its revisions and its participants."""

    id = models.CharField(primary_key=True, max_length=31)
    seq = models.IntegerField()
    rev = models.IntegerField()
    roster_version = models.IntegerField()
    kind = models.CharField(max_length=20)
    last_at = models.DateTimeField(null=True)
    # Subject, names and handles of the participants, normalised: what `in:` searches.
    about = models.TextField()

    def __str__(self) -> str:
        return self.id


class IndexedPerson(models.Model):
    """A user who can search a thread, and the first message they can see."""

    thread = models.ForeignKey(IndexedThread, models.CASCADE, related_name="people")
    user_id = models.CharField(max_length=30, db_index=True)
    from_seq = models.IntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["thread", "user_id"], name="once_in_a_thread")
        ]

    def __str__(self) -> str:
        return f"{self.user_id} in {self.thread_id}"


class IndexedMessage(models.Model):
    """Has an integer primary key, since full-text tables refer to rows by number."""

    message_id = models.CharField(unique=True, max_length=30)
    thread = models.ForeignKey(IndexedThread, models.CASCADE, related_name="messages")
    seq = models.IntegerField()
    at = models.DateTimeField(db_index=True)
    author_id = models.CharField(max_length=30, blank=True)
    # Name and handle, normalised, as they were when the message was indexed.
    author = models.TextField(blank=True)
    folded = models.TextField()
    has_image = models.BooleanField(default=False)
    has_file = models.BooleanField(default=False)
    card = models.CharField(max_length=20, blank=True)

    def __str__(self) -> str:
        return self.message_id


class Checked(models.Model):
    """The day up to which all threads are known to be indexed: one row, or none yet."""

    day = models.CharField(max_length=10)

    def __str__(self) -> str:
        return self.day
