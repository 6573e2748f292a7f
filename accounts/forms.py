"""Account forms. Passwords are entered once: the page can reveal what was typed."""

from typing import Any

from allauth.account import forms as allauth_forms
from django import forms
from django.contrib.auth.hashers import make_password
from django.db import IntegrityError, transaction
from django.http import HttpRequest

from accounts.actions import PROFILE_FIELDS, REQUIREMENT_FIELDS
from accounts.models import User, add_profile_entry
from accounts.profiles.handles import HANDLE_TAKEN, MAX_HANDLE_CHARS, check_handle
from accounts.profiles.text import check_line, check_policy
from accounts.queries import suggest_handle
from accounts.sign_in.confirmation import remember_unconfirmed
from core.ids import is_id
from core.refusals import Refusal
from core.time_zones import UTC, list_time_zones

PASSWORD_HELP = "At least 10 characters."


class HandleField(forms.CharField):
    default_validators = [check_handle]

    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=MAX_HANDLE_CHARS, **options)

    def to_python(self, value: Any) -> str:
        return (super().to_python(value) or "").lower().removeprefix("@")


def time_zone_choices() -> list[tuple[str, str]]:
    return [(name, name.replace("_", " ")) for name in list_time_zones()]


class TimeZoneField(forms.ChoiceField):
    def __init__(self, **options: Any) -> None:
        wrong = {"invalid_choice": "Choose a time zone from the list."}
        super().__init__(choices=time_zone_choices, error_messages=wrong, **options)


class SignUpForm(allauth_forms.SignupForm):
    field_order = ["email", "display_name", "handle", "city", "time_zone", "password1"]

    display_name = forms.CharField(
        label="Your name", max_length=60, validators=[check_line, check_policy]
    )
    handle = HandleField(
        required=False, help_text="Leave empty and we'll suggest one.", validators=[check_policy]
    )
    city = forms.CharField(required=False, max_length=80, validators=[check_line, check_policy])
    time_zone = TimeZoneField(required=False, initial=UTC)

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["display_name"].widget.attrs["autocomplete"] = "name"
        self.fields["city"].widget.attrs["autocomplete"] = "address-level2"
        self.fields["password1"].help_text = PASSWORD_HELP

    def clean_handle(self) -> str:
        handle = self.cleaned_data["handle"]
        if handle and User.objects.filter(handle=handle).exists():
            raise forms.ValidationError(HANDLE_TAKEN, code="unique")
        return handle or suggest_handle(self.cleaned_data.get("display_name", ""))

    def clean_time_zone(self) -> str:
        return self.cleaned_data["time_zone"] or UTC

    def try_save(self, request: HttpRequest) -> Any:
        # For new and for known addresses: the next page must not differ.
        remember_unconfirmed(request, self.cleaned_data["email"])
        if self.account_already_exists:
            # Takes as long as a real sign-up, so that timing does not reveal existing accounts.
            make_password(self.cleaned_data["password1"])
        try:
            return super().try_save(request)
        except IntegrityError as error:  # The handle or address was taken concurrently.
            raise Refusal("TRY_AGAIN") from error

    @transaction.atomic
    def save(self, request: HttpRequest) -> User:
        user: User = super().save(request)
        add_profile_entry(user)
        return user


class SinglePasswordMixin:
    fields: dict[str, forms.Field]

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["password1"].help_text = PASSWORD_HELP
        del self.fields["password2"]


class ChangePasswordForm(SinglePasswordMixin, allauth_forms.ChangePasswordForm):
    pass


class ResetPasswordForm(SinglePasswordMixin, allauth_forms.ResetPasswordKeyForm):
    pass


class ResetTokenForm(allauth_forms.UserTokenForm):
    """The reset URL of allauth cannot contain the underscore of usr_; see the adapter."""

    def _get_user(self, uidb36: str) -> User | None:
        user_id = f"usr_{uidb36}"
        return super()._get_user(user_id) if is_id("usr", user_id) else None


class RequirementsForm(forms.ModelForm):
    class Meta:
        model = User
        fields = REQUIREMENT_FIELDS
        labels = {
            "requires_verified": "Verified people only",
            "requires_date": "A date",
            "requires_budget": "A budget",
        }


class ProfileForm(forms.ModelForm):
    handle = HandleField(help_text="Used in the address of your profile.")
    time_zone = TimeZoneField()

    class Meta:
        model = User
        fields = PROFILE_FIELDS
        labels = {"display_name": "Your name"}
        widgets = {"about": forms.Textarea(attrs={"rows": 5})}
