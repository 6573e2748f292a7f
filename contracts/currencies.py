"""The currencies of offers, with their decimal places from ISO 4217.

Amounts are stored as integers in minor units, the smallest unit of the currency: cents for EUR,
yen for JPY, fils for KWD. Field names end in `_cents` for all currencies.
"""

from functools import cache

from babel.numbers import get_currency_name, get_currency_precision

DEFAULT_CURRENCY = "EUR"
# A currency stays in this list once it was offered, since records refer to it.
CURRENCIES = (
    *("EUR", "USD", "GBP", "CHF", "AED", "AUD", "BHD", "BRL", "CAD", "CLP", "CNY", "COP", "CZK"),
    *("DKK", "EGP", "HKD", "HUF", "IDR", "ILS", "INR", "ISK", "JOD", "JPY", "KES", "KRW", "KWD"),
    *("MAD", "MXN", "MYR", "NGN", "NOK", "NZD", "OMR", "PEN", "PHP", "PLN", "QAR", "RON", "SAR"),
    *("SEK", "SGD", "THB", "TND", "TRY", "TWD", "UAH", "UYU", "VND", "ZAR"),
)


@cache
def decimal_places(currency: str) -> int:
    """0 for JPY, 2 for EUR, 3 for KWD."""
    return get_currency_precision(currency)


def currency_choices() -> list[tuple[str, str]]:
    """For a form: "JPY · Japanese Yen"."""
    return [(code, f"{code} · {get_currency_name(code, locale='en')}") for code in CURRENCIES]
