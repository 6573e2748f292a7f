"""The form for billing details."""

from decimal import Decimal
from typing import Any

from django import forms

from contracts.fields import normalise_text
from contracts.models.billing import MAX_ADDRESS_CHARS, BillingDetails

MAX_RATE_CHARS = 6


class RateField(forms.DecimalField):
    """A percentage with a point or a comma; its cleaned value is in hundredths of a percent."""

    def to_python(self, value: Any) -> Any:
        if isinstance(value, str):
            if len(value.strip()) > MAX_RATE_CHARS:
                raise forms.ValidationError(self.error_messages["invalid"], code="invalid")
            value = value.replace(",", ".")
        return super().to_python(value)

    def clean(self, value: Any) -> Any:
        rate = super().clean(value)
        return None if rate is None else int(rate * 100)


class BillingForm(forms.Form):
    name = forms.CharField(max_length=120, label="Name or company")
    address = forms.CharField(
        max_length=MAX_ADDRESS_CHARS, widget=forms.Textarea(attrs={"rows": 3}), label="Address"
    )
    vat_id = forms.CharField(max_length=30, required=False, label="VAT ID")
    tax_rate = RateField(
        required=False,
        min_value=0,
        max_value=100,
        max_digits=5,
        decimal_places=2,
        label="Tax rate in percent",
        help_text="Included in your prices when you sell. Leave it empty if you don't charge tax.",
        widget=forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off"}),
    )

    def clean_name(self) -> str:
        return " ".join(self.cleaned_data["name"].split())

    def clean_address(self) -> str:
        address: str = normalise_text(self.cleaned_data["address"])
        return address

    def clean_vat_id(self) -> str:
        return "".join(self.cleaned_data["vat_id"].upper().replace(".", "").split())


def billing_initial(details: BillingDetails | None) -> dict[str, Any]:
    if details is None:
        return {}
    rate = "" if details.tax_rate is None else format_rate(details.tax_rate)
    return {
        "name": details.name,
        "address": details.address,
        "vat_id": details.vat_id,
        "tax_rate": rate,
    }


def format_rate(rate: int) -> str:
    """For example 19 or 7.7."""
    return f"{Decimal(rate).scaleb(-2).normalize():f}"
