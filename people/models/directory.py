"""The index of the directory, derived from users and their service profiles.

It can be rebuilt at any time, and grants no access: every result is checked against the users.
"""

from django.db import models

from accounts.models import User

MAX_WORD_BYTES = 60


class DirectoryEntry(models.Model):
    """A listed seller under one combination of filters, in the order of the directory.

    There is an entry for every combination of a craft, a city and a language, each of which can
    be left out, so that a page of any combination is one range of the index.
    """

    user = models.ForeignKey(User, models.CASCADE, related_name="directory_entries")
    filters = models.CharField(max_length=200)
    # Sorts by quality of the profile, then by user id; unique for a user.
    position = models.CharField(max_length=40)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "filters"], name="one_entry_a_combination")
        ]
        indexes = [models.Index(fields=["filters", "-position"], name="directory_order")]

    def __str__(self) -> str:
        return f"{self.filters} {self.position}"


class DirectoryWord(models.Model):
    """A normalised word of a listed seller's profile."""

    user = models.ForeignKey(User, models.CASCADE, related_name="directory_words")
    # As UTF-8: databases compare bytes alike, but text by their own collations.
    word = models.BinaryField(max_length=MAX_WORD_BYTES)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "word"], name="one_row_a_word")]
        indexes = [models.Index(fields=["word", "user"], name="directory_words")]

    def __str__(self) -> str:
        return f"{bytes(self.word).decode(errors='replace')} of {self.user_id}"


class DirectoryCity(models.Model):
    """A city with the number of its listed sellers, for suggestions."""

    key = models.CharField(primary_key=True, max_length=120)
    name = models.CharField(max_length=80)
    sellers = models.PositiveIntegerField(default=0)

    class Meta:
        indexes = [models.Index(fields=["-sellers", "key"], name="largest_cities")]

    def __str__(self) -> str:
        return self.name
