"""Forms for offers, signatures, payments, deliveries and edits of tabs."""

from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.forms import BaseFormSet, formset_factory
from django.utils import timezone

from accounts.forms import TimeZoneField
from contracts.actions.manifests import MAX_LISTING_BYTES, MAX_TITLE_CHARS
from contracts.cards.types.sign import signature_label
from contracts.currencies import currency_choices
from contracts.fields import MAX_MOMENT_CHARS
from contracts.labels import label_legs
from contracts.models import Leg
from contracts.models.bookings import CANCELLATION
from contracts.models.money import METHODS
from contracts.refusals import DEPOSIT_TOO_LARGE, END_BEFORE_START
from contracts.terms import MAX_LEGS, Terms
from core.time_zones import local_time
from projects.amount_field import AmountField, AmountForm
from projects.plan_fields import PlanFields, plan_initial
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

BOOKING_TITLE = "Booking title"
CANCELLATION_POLICY = "Cancellation policy"


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
            raise forms.ValidationError("This tab can't be edited.")
        return tab

    def clean_part(self) -> str:
        part: str = self.cleaned_data["part"]
        # The part is used in SQL queries, and PostgreSQL rejects null characters.
        if len(part) > 40 or not part.isprintable():
            raise forms.ValidationError("This part doesn't exist.")
        return part

    def arguments(self) -> dict[str, Any]:
        data = super().arguments()
        data["place"] = data["place"] or 0
        return data


class AddProofs(ThreadCommand):
    file_ids = IdListField("file", max_items=MAX_ATTACHMENTS)


class MomentField(forms.DateTimeField):
    """A date and time; the length of its text is limited before it is parsed."""

    widget = forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M")

    def to_python(self, value: Any) -> datetime | None:
        if isinstance(value, str) and len(value) > MAX_MOMENT_CHARS:
            raise forms.ValidationError(self.error_messages["invalid"], code="invalid")
        return super().to_python(value)

    def prepare_value(self, value: Any) -> Any:
        """Shows the time in the current time zone, without an offset."""
        if isinstance(value, datetime) and timezone.is_aware(value):
            return local_time(value, timezone.get_current_timezone()).replace(tzinfo=None)
        return value


class OfferForm(forms.Form):
    key = ClientIdField()
    title = forms.CharField(max_length=120, label=BOOKING_TITLE)
    currency = forms.ChoiceField(choices=currency_choices)
    valid_until = MomentField(label="Valid until", required=False)
    # Missing for a change of a booking, whose zone stays.
    time_zone = TimeZoneField(label="Time zone", required=False)


class LegForm(PlanFields):
    service = forms.CharField(max_length=120, label="Service")
    starts_at = MomentField(label="Start")
    ends_at = MomentField(label="End")
    place = forms.CharField(max_length=200, label="Place")
    price = AmountField(label="Price")
    deposit = AmountField(label="Deposit")
    cancellation = forms.ChoiceField(
        label=CANCELLATION_POLICY,
        choices=[(name, f"{name.capitalize()}: {text}") for name, text in CANCELLATION.items()],
        initial="moderate",
    )

    def terms(self, time_zone: str) -> Terms:
        data = dict(self.cleaned_data)
        self.pop_plan_data(data)
        price, deposit = data.pop("price"), data.pop("deposit")
        return Terms(time_zone=time_zone, price_cents=price, deposit_cents=deposit, **data)

    def clean(self) -> dict[str, Any] | None:
        data = super().clean() or {}
        if data.get("ends_at") and data.get("starts_at") and data["ends_at"] <= data["starts_at"]:
            self.add_error("ends_at", END_BEFORE_START)
        if data.get("deposit") and data.get("price") and data["deposit"] > data["price"]:
            self.add_error("deposit", DEPOSIT_TOO_LARGE)
        elif data.get("price") is not None and data.get("deposit") is not None:
            data["plan"] = self.make_plan(data, data["price"], data["deposit"])
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


def default_leg_initial(subject: str, city: str) -> dict[str, Any]:
    """Initial values of a new offer: in two weeks, from ten to four."""
    start = timezone.localtime() + timedelta(days=14)
    start = start.replace(hour=10, minute=0, second=0, microsecond=0)
    end = start + timedelta(hours=6)
    return {"service": subject[:120], "place": city, "starts_at": start, "ends_at": end}


def leg_initial(leg: Terms) -> dict[str, Any]:
    return {
        "service": leg.service,
        "starts_at": leg.starts_at,
        "ends_at": leg.ends_at,
        "place": leg.place,
        "price": leg.price_cents,
        "deposit": leg.deposit_cents,
        "cancellation": leg.cancellation,
        **plan_initial(leg.plan),
    }


class SignForm(forms.Form):
    number = forms.IntegerField(widget=forms.HiddenInput, min_value=1, max_value=10_000)
    has_read = forms.BooleanField(required=False, label=signature_label("has_read"))
    legal_name = forms.CharField(
        max_length=120,
        label=signature_label("legal_name"),
        help_text="Typing your name is your signature.",
    )


class PaymentForm(AmountForm):
    key = forms.CharField(max_length=48, widget=forms.HiddenInput)
    amount = AmountField(label="Amount")
    paid_on = forms.DateField(
        label="Payment date",
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
    )
    method = forms.ChoiceField(choices=list(METHODS.items()))

    def arguments(self) -> dict[str, Any]:
        data = dict(self.cleaned_data)
        return {"cents": data.pop("amount"), **data}


class ConfirmForm(forms.Form):
    """Sent by the summary page, with the balance that it showed."""

    outstanding = forms.IntegerField(min_value=-(2**53), max_value=2**53)


class ReversalForm(forms.Form):
    key = forms.CharField(max_length=48, widget=forms.HiddenInput)


class LinkForm(forms.Form):
    title = forms.CharField(max_length=120, label=BOOKING_TITLE)
    leg_ids = forms.MultipleChoiceField(
        label="Bookings to group", widget=forms.CheckboxSelectMultiple
    )

    def __init__(self, *args: Any, legs: list[Leg], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        sellers = {leg.id: leg.seller.display_name for leg in legs}
        choices = [(leg_id, f"{sellers[leg_id]}: {label}") for leg_id, label in label_legs(legs)]
        self.fields["leg_ids"].choices = choices  # type: ignore[attr-defined]


class DeliverForm(forms.Form):
    key = ClientIdField()
    leg_id = forms.ChoiceField(label="Booking")
    title = forms.CharField(max_length=MAX_TITLE_CHARS, label="Title")
    listing = forms.CharField(
        max_length=MAX_LISTING_BYTES,
        widget=forms.Textarea(attrs={"rows": 8, "spellcheck": "false"}),
        label="Files, one per line: SHA-256 checksum, size in bytes, link, name",
    )

    def __init__(self, *args: Any, legs: list[Leg], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["leg_id"].choices = label_legs(legs)  # type: ignore[attr-defined]
