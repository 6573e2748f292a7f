"""The index that search looks into: a copy of what was said, made from the table at any time.

It decides nothing. What it finds is looked up in the table before anybody sees it.
"""

from django.db import models


class IndexedThread(models.Model):
    """How far a thread has been taken in: by messages, by changes, by who is in it."""

    id = models.CharField(primary_key=True, max_length=31)
    seq = models.IntegerField()
    rev = models.IntegerField()
    roster_version = models.IntegerField()
    kind = models.CharField(max_length=20)
    last_at = models.DateTimeField(null=True)
    # Folded, with names and handles of those who are in it: what `in:` looks at.
    about = models.TextField()

    def __str__(self) -> str:
        return self.id


class IndexedPerson(models.Model):
    """Who may find something in a thread, and from where on."""

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
    """A number of its own, since full-text tables know rows by number."""

    message_id = models.CharField(unique=True, max_length=30)
    thread = models.ForeignKey(IndexedThread, models.CASCADE, related_name="messages")
    seq = models.IntegerField()
    at = models.DateTimeField(db_index=True)
    author_id = models.CharField(max_length=30, blank=True)
    # Folded: name and handle, as they were when it was taken in.
    author = models.TextField(blank=True)
    folded = models.TextField()
    has_image = models.BooleanField(default=False)
    has_file = models.BooleanField(default=False)
    card = models.CharField(max_length=20, blank=True)

    def __str__(self) -> str:
        return self.message_id


class Checked(models.Model):
    """Up to which day everything is known to have been taken in; one row, or none yet."""

    day = models.CharField(max_length=10)

    def __str__(self) -> str:
        return self.day
