"""Profile photos and portfolios. Their content is in files."""

from django.db import models

from accounts.models import User
from files.models import File

MAX_CAPTION_CHARS = 200


class Photo(models.Model):
    """The profile photo of a user. `User.avatar` holds its URL."""

    user = models.OneToOneField(User, models.CASCADE, primary_key=True, related_name="photo")
    file = models.OneToOneField(File, models.PROTECT, related_name="+")

    def __str__(self) -> str:
        return f"Photo of {self.user_id}"


class PortfolioImage(models.Model):
    """An image of a user's portfolio. Its id is that of its file."""

    file = models.OneToOneField(File, models.PROTECT, primary_key=True, related_name="+")
    user = models.ForeignKey(User, models.CASCADE, related_name="portfolio")
    caption = models.CharField(max_length=MAX_CAPTION_CHARS, blank=True)
    position = models.PositiveSmallIntegerField()
    # Idempotency key of the upload.
    key = models.CharField(max_length=40)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["position", "file_id"]
        constraints = [
            models.UniqueConstraint(fields=["user", "key"], name="one_portfolio_image_a_key")
        ]

    def __str__(self) -> str:
        return self.caption or self.file_id
