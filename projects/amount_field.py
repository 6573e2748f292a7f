"""The form field for amounts."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from contracts.amounts import AmountError, parse_amount
from contracts.currencies import DEFAULT_CURRENCY
from contracts.money import format_amount_input


class AmountField(forms.Field):
    """An amount as text; its cleaned value is in minor units."""

    widget = forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off"})
    # Set by the form.
    currency, locale = DEFAULT_CURRENCY, ""

    def to_python(self, value: Any) -> int | None:
        if value in self.empty_values:
            return None
        try:
            return parse_amount(value, currency=self.currency, locale=self.locale)
        except AmountError as error:
            raise ValidationError(str(error), code="invalid") from error

    def prepare_value(self, value: Any) -> Any:
        """Shows minor units as a decimal number, and rejected text as it was entered."""
        if not isinstance(value, int):
            return value
        return format_amount_input(value, self.currency, locale=self.locale)


class AmountForm(forms.Form):
    """A form whose amounts are in `currency` and parsed in `locale`."""

    def __init__(
        self, *args: Any, currency: str = DEFAULT_CURRENCY, locale: str = "", **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            if isinstance(field, AmountField):
                field.currency, field.locale = currency, locale
