"""Crafts, languages and rates: the form, the action, export and deletion."""

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from people.actions import change_services
from people.crafts import CRAFTS
from people.languages import COMMON, language_names
from people.models import DirectoryCity, DirectoryEntry, DirectoryWord, ServiceProfile
from privacy.actions import delete_account
from privacy.export.account import describe_person
from tests.people.conftest import offer

pytestmark = [pytest.mark.storage, pytest.mark.django_db]

URL = "/settings/services/"
GIVEN = {
    "offers_services": "on",
    "crafts": ["photographer", "retoucher"],
    "languages": ["de", "tw"],
    "price": "1,200.50",
    "currency": "EUR",
    "unit": "day",
}


def test_saves_what_the_form_says_and_shows_it_on_the_profile(signed_in, mara):
    response = signed_in.post(URL, GIVEN)
    assert response.url == f"/people/{mara.handle}/"
    saved = ServiceProfile.objects.get(pk=mara.pk)
    assert saved.offers_services
    assert (saved.crafts, saved.languages) == (["photographer", "retoucher"], ["de", "tw"])
    assert (saved.price_cents, saved.currency, saved.unit) == (120_050, "EUR", "day")
    page = signed_in.get(response.url).content.decode()
    for shown in ("Photographer", "Retoucher", "German, Twi", "1,200.50", "a day"):
        assert shown in page


def test_the_form_shows_what_is_saved(signed_in, mara):
    offer(
        mara, crafts=["studio"], languages=["tw"], price_cents=45_000, currency="CHF", unit="hour"
    )
    form = signed_in.get(URL).context["form"]
    assert form["price"].value() == "450"
    assert (form["currency"].value(), form["unit"].value()) == ("CHF", "hour")
    assert form["crafts"].value() == ["studio"]
    assert signed_in.get(URL).context["has_other_languages"]


@pytest.mark.parametrize(
    ("field", "changed"),
    [
        ("crafts", {"crafts": []}),
        ("crafts", {"crafts": list(CRAFTS)[:6]}),
        ("crafts", {"crafts": ["astronaut"]}),
        ("languages", {"languages": list(COMMON)[:9]}),
        ("languages", {"languages": ["tlh"]}),
        ("price", {"price": "a lot"}),
        ("price", {"price": "0"}),
        ("price", {"price": "999999999999"}),
        ("currency", {"currency": "XXX"}),
        ("unit", {"unit": "minute"}),
    ],
)
def test_an_error_is_shown_at_its_field_and_nothing_is_saved(signed_in, mara, field, changed):
    response = signed_in.post(URL, GIVEN | changed)
    assert response.status_code == 400
    assert list(response.context["form"].errors) == [field]
    assert f'id="id_{field}_error"' in response.content.decode()
    assert not ServiceProfile.objects.filter(pk=mara.pk).exists()
    assert not DirectoryEntry.objects.filter(user=mara).exists()


def test_all_errors_are_shown_at_once(signed_in):
    response = signed_in.post(URL, GIVEN | {"crafts": [], "price": "a lot", "unit": ""})
    assert set(response.context["form"].errors) == {"crafts", "price", "unit"}
    assert "Correct the marked fields" in response.content.decode()


def test_the_action_checks_what_no_form_has_checked(mara):
    for wrong in (
        {"crafts": ["astronaut"]},
        {"languages": ["tlh"]},
        {"price_cents": 100, "currency": "XXX", "unit": "day"},
        {"price_cents": 100, "currency": "EUR", "unit": ""},
        {"price_cents": 0, "currency": "EUR", "unit": "day"},
    ):
        with pytest.raises(ValidationError), transaction.atomic():
            offer(mara, **wrong)
    with pytest.raises(IntegrityError), transaction.atomic():
        ServiceProfile.objects.create(user=mara, price_cents=5)
    assert not ServiceProfile.objects.exists()


def test_without_a_price_there_is_no_currency(mara):
    saved = change_services(
        mara, offers_services=False, crafts=[], languages=[], currency="EUR", unit="day"
    )
    assert (saved.currency, saved.unit) == ("", "")


def test_everyone_can_have_languages_without_offering_anything(signed_in, mara):
    signed_in.post(URL, {"languages": ["sv"], "currency": "EUR", "unit": "day"})
    assert ServiceProfile.objects.get(pk=mara.pk).languages == ["sv"]
    assert not DirectoryEntry.objects.exists()


def test_every_language_has_a_code_of_iso_639_and_a_name():
    names = language_names()
    assert set(COMMON) <= names.keys()
    assert len(names) > 150
    assert (names["de"], names["kn"]) == ("German", "Kannada")


def test_turning_the_switch_off_removes_the_listing(mara):
    offer(mara)
    assert DirectoryCity.objects.get(pk="berlin").sellers == 1
    offer(mara, offers_services=False)
    for model in (DirectoryEntry, DirectoryWord, DirectoryCity):
        assert not model.objects.exists()


def test_an_export_contains_the_services(mara):
    assert describe_person(mara)["services"] is None
    offer(mara, price_cents=100, currency="EUR", unit="project")
    services = describe_person(mara)["services"]
    assert services["crafts"] == ["photographer"]
    assert services["price_cents"] == 100


def test_deleting_the_account_deletes_services_and_listing(mara):
    offer(mara)
    delete_account(mara)
    for model in (ServiceProfile, DirectoryEntry, DirectoryWord, DirectoryCity):
        assert not model.objects.exists()
