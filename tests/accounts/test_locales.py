"""The locale of a request."""

import pytest
from django.test import RequestFactory

from core.locales import locale_of


@pytest.mark.parametrize(
    ("header", "locale"),
    [
        ("de-CH,de;q=0.9,en;q=0.5", "de-ch"),
        ("en;q=0.4, fr;q=0.9", "fr"),
        ("*", "*"),
        ("", ""),
        ("nonsense;;;q=x", ""),
        ("a," * 100_000, "a"),
    ],
    ids=["first", "weights", "any", "none", "nonsense", "long"],
)
def test_the_preferred_language_is_the_locale(header, locale):
    assert locale_of(RequestFactory().get("/", headers={"Accept-Language": header})) == locale
