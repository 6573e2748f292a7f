"""The filters of the directory, and the form for what a user offers."""

from typing import Any

from django import forms
from django.utils.safestring import SafeString, mark_safe

from contracts.amounts import AmountError, parse_amount
from contracts.currencies import CURRENCIES, DEFAULT_CURRENCY, currency_choices
from contracts.money import format_amount_input
from core.fragments import FragmentCache
from people.crafts import CRAFT_MISSING, CRAFTS, MAX_CRAFTS, check_crafts
from people.languages import COMMON, MAX_LANGUAGES, check_languages, language_choices
from people.models import ServiceProfile
from people.models.profiles import UNITS
from people.search.filters import DirectoryFilters, city_key
from people.search.words import MAX_QUERY_CHARS, list_query_words


def _filter_languages() -> list[Any]:
    choices = language_choices()
    common, rest = choices[: len(COMMON)], choices[len(COMMON) :]
    return [("", "Any language"), ("Common", common), ("Other", rest)]


class FilterSelect(forms.Select):
    """Is rendered once for each value: its choices never change, and there are many of them."""

    rendered = FragmentCache(max_entries=500, max_bytes=10 * 1024 * 1024)

    def render(
        self, name: str, value: Any, attrs: dict[str, Any] | None = None, renderer: Any = None
    ) -> SafeString:
        key = repr((name, value, attrs))
        html = self.rendered.get(key)
        if html is None:
            html = super().render(name, value, attrs, renderer)
            self.rendered.put(key, html)
        return mark_safe(html)


class DirectoryForm(forms.Form):
    """Submitted with GET. A filter with an invalid value is left out."""

    q = forms.CharField(
        label="Search",
        required=False,
        max_length=MAX_QUERY_CHARS,
        widget=forms.TextInput(attrs={"type": "search", "placeholder": "Name, craft or style"}),
    )
    craft = forms.ChoiceField(
        required=False, choices=[("", "Any craft"), *CRAFTS.items()], widget=FilterSelect
    )
    city = forms.CharField(
        required=False,
        max_length=80,
        widget=forms.TextInput(attrs={"list": "cities", "placeholder": "Any city"}),
    )
    language = forms.ChoiceField(required=False, choices=_filter_languages, widget=FilterSelect)

    @property
    def filters(self) -> DirectoryFilters:
        given = self.cleaned_data
        return DirectoryFilters(
            given.get("craft", ""), city_key(given.get("city", "")), given.get("language", "")
        )

    @property
    def words(self) -> list[str]:
        return list_query_words(self.cleaned_data.get("q", ""))

    @property
    def given(self) -> dict[str, str]:
        """What the user entered, for the links to other pages."""
        return {name: value for name, value in self.cleaned_data.items() if value}


class ServicesForm(forms.Form):
    """Errors of the model are shown at the fields, which have the same names."""

    offers_services = forms.BooleanField(
        label="I offer services",
        required=False,
        help_text="Lists your profile under People, where everyone can find and message you.",
    )
    crafts = forms.MultipleChoiceField(
        required=False,
        choices=list(CRAFTS.items()),
        widget=forms.CheckboxSelectMultiple,
        validators=[check_crafts],
        help_text=f"Choose up to {MAX_CRAFTS}.",
    )
    languages = forms.MultipleChoiceField(
        required=False,
        choices=language_choices,
        widget=forms.CheckboxSelectMultiple,
        validators=[check_languages],
        help_text=f"The languages you can work in, up to {MAX_LANGUAGES}.",
    )
    price = forms.CharField(
        label="Starting price",
        required=False,
        widget=forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off"}),
    )
    currency = forms.ChoiceField(choices=currency_choices)
    unit = forms.ChoiceField(label="For", choices=list(UNITS.items()))

    def __init__(self, *args: Any, locale: str = "", **options: Any) -> None:
        super().__init__(*args, **options)
        self._locale = locale

    def clean_price(self) -> int | None:
        text = self.cleaned_data["price"]
        if not text:
            return None
        try:
            cents = parse_amount(text, currency=self._currency(), locale=self._locale)
        except AmountError as error:
            raise forms.ValidationError(str(error), code="invalid") from error
        if not cents:
            raise forms.ValidationError("Enter an amount above zero.", code="min")
        return cents

    def _currency(self) -> str:
        """An unknown currency is refused by its own field."""
        posted = self.data.get(self.add_prefix("currency"))
        return posted if posted in CURRENCIES else DEFAULT_CURRENCY

    def clean(self) -> None:
        """Shows a missing craft together with the errors of other fields."""
        given = self.cleaned_data
        if given.get("offers_services") and given.get("crafts") == []:
            self.add_error("crafts", CRAFT_MISSING)

    def arguments(self) -> dict[str, Any]:
        given = dict(self.cleaned_data)
        price_cents = given.pop("price")
        return given | {"price_cents": price_cents}


def initial_services(profile: ServiceProfile | None, locale: str = "") -> dict[str, Any]:
    if profile is None:
        return {}
    names = ("offers_services", "crafts", "languages", "currency", "unit")
    initial = {name: getattr(profile, name) for name in names if getattr(profile, name)}
    if profile.price_cents is None:
        return initial | {"price": ""}
    price = format_amount_input(profile.price_cents, profile.currency, locale=locale)
    return initial | {"price": price.removesuffix(".00").removesuffix(",00")}
