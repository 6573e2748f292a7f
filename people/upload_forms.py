"""Forms with uploads: photo, portfolio and verification."""

from django import forms

from people.models.photos import MAX_CAPTION_CHARS
from people.models.verification import MAX_NOTE_CHARS
from people.portfolio import check_caption

IMAGE_TYPES = "image/jpeg,image/png,image/webp,image/gif,image/heic,image/avif"
POSITION_CHOICES = [("centre", "Centre"), ("start", "Top or left"), ("end", "Bottom or right")]


class PhotoForm(forms.Form):
    photo = forms.FileField(
        label="Photo",
        widget=forms.FileInput(attrs={"accept": IMAGE_TYPES}),
        help_text="JPEG, PNG, WebP, GIF, HEIC or AVIF, up to 20 MB.",
    )
    position = forms.ChoiceField(
        label="Part to show",
        choices=POSITION_CHOICES,
        help_text="Photos are cropped to a circle.",
    )


class CaptionForm(forms.Form):
    caption = forms.CharField(
        required=False, max_length=MAX_CAPTION_CHARS, validators=[check_caption]
    )


class MoveForm(forms.Form):
    to = forms.IntegerField()


class VerificationForm(forms.Form):
    link = forms.URLField(
        label="Link to your work",
        max_length=500,
        assume_scheme="https",
        help_text="A website, publication or public profile that shows your work and your name.",
    )
    note = forms.CharField(
        label="What should we know?",
        required=False,
        max_length=MAX_NOTE_CHARS,
        widget=forms.Textarea(attrs={"rows": 3}),
    )
    document = forms.FileField(
        label="Document",
        required=False,
        widget=forms.FileInput(attrs={"accept": f"{IMAGE_TYPES},application/pdf"}),
        help_text=(
            "A business registration or a similar document, as a photo or PDF. Only our staff can "
            "see it, and it's deleted after we decide."
        ),
    )
