"""The form field for amounts."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from contracts.amounts import AmountError, parse_amount


class AmountField(forms.Field):
    """An amount as text; its cleaned value is in cents."""

    widget = forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off"})
    # Set by the form to the request's locale.
    locale = ""

    def to_python(self, value: Any) -> int | None:
        if value in self.empty_values:
            return None
        try:
            return parse_amount(value, locale=self.locale)
        except AmountError as error:
            raise ValidationError(str(error), code="invalid") from error

    def prepare_value(self, value: Any) -> Any:
        """Shows cents as a decimal number, and rejected text as it was entered."""
        return f"{value // 100}.{value % 100:02d}" if isinstance(value, int) else value


class AmountForm(forms.Form):
    """A form whose amounts are parsed in `locale`."""

    def __init__(self, *args: Any, locale: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            if isinstance(field, AmountField):
                field.locale = locale
