"""What people fill in when they agree: offers, signatures, deliveries."""

from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.forms import BaseFormSet, formset_factory
from django.utils import timezone

from contracts.actions.manifests import MAX_LISTING_BYTES, MAX_TITLE_CHARS
from contracts.fields import MAX_MOMENT_CHARS
from contracts.labels import label_legs
from contracts.models import Leg
from contracts.models.bookings import CANCELLATION
from contracts.models.fields import CURRENCIES
from contracts.models.money import METHODS
from contracts.terms import MAX_LEGS, Terms
from core.time_zones import local_time
from projects.amount_field import AmountField, AmountForm
from threads.forms import (
    MAX_ATTACHMENTS,
    ClientIdField,
    CountField,
    IdField,
    IdListField,
    PlainTextField,
    ThreadCommand,
)
from threads.models.tab import EDITABLE_TABS


class EditTab(ThreadCommand):
    """An edit of a tab, from a form or a script."""

    tab = PlainTextField()
    op = PlainTextField()
    version = CountField()
    part = PlainTextField(required=False)
    name = PlainTextField(required=False)
    text = PlainTextField(required=False)
    place = CountField(required=False)
    picture = IdField("file", required=False)

    def clean_tab(self) -> str:
        tab: str = self.cleaned_data["tab"]
        if tab not in EDITABLE_TABS:
            raise forms.ValidationError("Not a tab that one writes in.")
        return tab

    def clean_part(self) -> str:
        part: str = self.cleaned_data["part"]
        # PostgreSQL, which is asked for the pictures of pins, keeps no null characters.
        if len(part) > 40 or not part.isprintable():
            raise forms.ValidationError("Not a part of a tab.")
        return part

    def arguments(self) -> dict[str, Any]:
        data = super().arguments()
        data["place"] = data["place"] or 0
        return data


class AddProofs(ThreadCommand):
    file_ids = IdListField("file", most=MAX_ATTACHMENTS)


class OfferForm(forms.Form):
    key = ClientIdField()
    title = forms.CharField(max_length=120, label="What the booking is called")
    currency = forms.ChoiceField(choices=[(code, code) for code in CURRENCIES])


class MomentField(forms.DateTimeField):
    """A date and a time; its length is bounded before it is parsed."""

    widget = forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M")

    def to_python(self, value: Any) -> datetime | None:
        if isinstance(value, str) and len(value) > MAX_MOMENT_CHARS:
            raise forms.ValidationError(self.error_messages["invalid"], code="invalid")
        return super().to_python(value)

    def prepare_value(self, value: Any) -> Any:
        """In the current zone, without naming it."""
        if isinstance(value, datetime) and timezone.is_aware(value):
            return local_time(value, timezone.get_current_timezone()).replace(tzinfo=None)
        return value


class LegForm(AmountForm):
    service = forms.CharField(max_length=120, label="Service")
    starts_at = MomentField(label="Start")
    ends_at = MomentField(label="End")
    place = forms.CharField(max_length=200, label="Place")
    price = AmountField(label="Price")
    deposit = AmountField(label="Deposit")
    cancellation = forms.ChoiceField(
        label="If it is cancelled",
        choices=[(name, f"{name.capitalize()}: {text}") for name, text in CANCELLATION.items()],
        initial="moderate",
    )

    def terms(self, time_zone: str) -> Terms:
        data = dict(self.cleaned_data)
        price, deposit = data.pop("price"), data.pop("deposit")
        return Terms(time_zone=time_zone, price_cents=price, deposit_cents=deposit, **data)

    def clean(self) -> dict[str, Any] | None:
        data = super().clean() or {}
        if data.get("ends_at") and data.get("starts_at") and data["ends_at"] <= data["starts_at"]:
            self.add_error("ends_at", "The end has to come after the start.")
        if data.get("deposit") and data.get("price") and data["deposit"] > data["price"]:
            self.add_error("deposit", "The deposit cannot be more than the price.")
        return data


class _Legs(BaseFormSet):
    def get_form_kwargs(self, index: int | None) -> dict[str, Any]:
        return super().get_form_kwargs(index) | {"empty_permitted": False}


LegForms = formset_factory(
    LegForm,
    formset=_Legs,
    extra=0,
    min_num=1,
    max_num=MAX_LEGS,
    validate_min=True,
    validate_max=True,
    absolute_max=MAX_LEGS,
)


def terms_of(legs: BaseFormSet, time_zone: str) -> list[Terms]:
    return [form.terms(time_zone) for form in legs.forms]


def first_leg(subject: str, city: str) -> dict[str, Any]:
    """Something to begin with: in two weeks, from ten to four."""
    start = timezone.localtime() + timedelta(days=14)
    start = start.replace(hour=10, minute=0, second=0, microsecond=0)
    end = start + timedelta(hours=6)
    return {"service": subject[:120], "place": city, "starts_at": start, "ends_at": end}


def as_agreed(leg: Leg) -> dict[str, Any]:
    return {
        "service": leg.service,
        "starts_at": leg.starts_at,
        "ends_at": leg.ends_at,
        "place": leg.place,
        "price": leg.price_cents,
        "deposit": leg.deposit_cents,
        "cancellation": leg.cancellation,
    }


class SignForm(forms.Form):
    number = forms.IntegerField(widget=forms.HiddenInput, min_value=1, max_value=10_000)
    has_read = forms.BooleanField(required=False, label="I have read this contract to its end")
    legal_name = forms.CharField(
        max_length=120, label="Your legal name", help_text="Typing it is your signature."
    )


class PaymentForm(AmountForm):
    key = forms.CharField(max_length=48, widget=forms.HiddenInput)
    amount = AmountField(label="Amount")
    paid_on = forms.DateField(
        label="Date of the payment",
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
    )
    method = forms.ChoiceField(choices=list(METHODS.items()))

    def arguments(self) -> dict[str, Any]:
        data = dict(self.cleaned_data)
        return {"cents": data.pop("amount"), **data}


class ConfirmForm(forms.Form):
    """Sent by a summary: the balance that it showed."""

    outstanding = forms.IntegerField(min_value=-(2**53), max_value=2**53)


class ReversalForm(forms.Form):
    key = forms.CharField(max_length=48, widget=forms.HiddenInput)


class LinkForm(forms.Form):
    title = forms.CharField(max_length=120, label="What the booking is called")
    leg_ids = forms.MultipleChoiceField(
        label="Which bookings belong together", widget=forms.CheckboxSelectMultiple
    )

    def __init__(self, *args: Any, legs: list[Leg], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        sellers = {leg.id: leg.seller.display_name for leg in legs}
        choices = [(leg_id, f"{sellers[leg_id]}: {label}") for leg_id, label in label_legs(legs)]
        self.fields["leg_ids"].choices = choices  # type: ignore[attr-defined]


class DeliverForm(forms.Form):
    key = ClientIdField()
    leg_id = forms.ChoiceField(label="Which booking")
    title = forms.CharField(max_length=MAX_TITLE_CHARS, label="What it is")
    listing = forms.CharField(
        max_length=MAX_LISTING_BYTES,
        widget=forms.Textarea(attrs={"rows": 8, "spellcheck": "false"}),
        label="The files, one on a line: checksum (SHA-256), size in bytes, link, name",
    )

    def __init__(self, *args: Any, legs: list[Leg], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["leg_id"].choices = label_legs(legs)  # type: ignore[attr-defined]
