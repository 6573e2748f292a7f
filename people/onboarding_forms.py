"""The forms of the onboarding steps."""

from typing import Any

from django import forms

from accounts.profiles.text import check_line, check_policy
from people.crafts import CRAFTS, MAX_CRAFTS, check_crafts
from people.upload_forms import IMAGE_TYPES


class NameAndPhotoForm(forms.Form):
    display_name = forms.CharField(
        label="Your name",
        max_length=60,
        validators=[check_line, check_policy],
        widget=forms.TextInput(attrs={"autocomplete": "name"}),
    )
    photo = forms.FileField(
        label="Photo",
        required=False,
        widget=forms.FileInput(attrs={"accept": IMAGE_TYPES}),
        help_text="People answer more often if they see who writes.",
    )


class WorkForm(forms.Form):
    offers_services = forms.BooleanField(
        label="I offer services",
        required=False,
        help_text="Lists your profile under People. Leave it off if you're looking for someone.",
    )
    crafts = forms.MultipleChoiceField(
        required=False,
        choices=list(CRAFTS.items()),
        widget=forms.CheckboxSelectMultiple,
        validators=[check_crafts],
        help_text=f"If you offer services, choose up to {MAX_CRAFTS}.",
    )
    headline = forms.CharField(
        label="What you do, in one line",
        required=False,
        max_length=120,
        validators=[check_line, check_policy],
        help_text="For example: Photographer of food and the people who make it.",
    )
    city = forms.CharField(
        required=False,
        max_length=80,
        validators=[check_line, check_policy],
        widget=forms.TextInput(attrs={"autocomplete": "address-level2"}),
    )

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        if data.get("offers_services") and not data.get("crafts") and "crafts" not in self.errors:
            self.add_error("crafts", "Choose at least one craft, so that people can find you.")
        return data
