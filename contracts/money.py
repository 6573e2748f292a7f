"""Formatting of amounts: whole cents with a currency."""


def format_amount(cents: int, currency: str) -> str:
    sign = "-" if cents < 0 else ""
    whole, rest = divmod(abs(cents), 100)
    return f"{sign}{currency} {whole:,}.{rest:02d}"
