"""The directory of sellers: who is in it, filters, text search and pages."""

from concurrent.futures import ThreadPoolExecutor
from io import StringIO

import pytest
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.actions import change_profile
from core.outbox.processing import process_due
from people.models import DirectoryCity, DirectoryEntry, DirectoryWord
from people.search import query
from people.search.filters import DirectoryFilters
from people.search.index import refresh_listing
from people.search.query import list_cities, list_sellers
from people.search.words import list_profile_words, list_query_words
from privacy.actions import delete_account
from tests.accounts.conftest import PASSWORD, sign_in
from tests.people.conftest import offer
from threads.actions.blocks import block_person, unblock_person
from threads.actions.suspensions import restore_person, suspend_person

pytestmark = [pytest.mark.storage, pytest.mark.django_db]


def found(viewer, text="", **filters):
    page = list_sellers(viewer, DirectoryFilters(**filters), list_query_words(text))
    return {user.display_name for user in page.sellers}


def names_on(client, query=""):
    response = client.get(f"/people/{query}")
    assert response.status_code == 200
    return [seller.person["name"] for seller in response.context["sellers"]]


# --- Who is listed


def test_lists_sellers_with_what_they_offer(signed_in, make_seller):
    make_seller(
        "Tomás Beltrán",
        headline="Photographer of things",
        city="Lisbon",
        verified=True,
        languages=("pt", "es"),
        price_cents=45_000,
        currency="EUR",
        unit="day",
    )
    page = signed_in.get("/people/").content.decode()
    for shown in ("Tomás Beltrán", "Photographer of things", "Lisbon", "Portuguese, Spanish"):
        assert shown in page
    for shown in ("EUR 450", "a day", "Photographer", "Verified"):
        assert shown in page


def test_users_who_offer_nothing_are_not_listed(signed_in, make_person, make_seller):
    make_person("Bea Buyer")
    offer(make_person("Otto Off"), offers_services=False)
    make_seller("Sam Seller")
    assert names_on(signed_in) == ["Sam Seller"]


def test_the_viewer_is_not_listed(signed_in, mara):
    offer(mara)
    assert names_on(signed_in) == []


def test_suspended_users_are_neither_listed_nor_found(mara, make_seller):
    seller = make_seller("Sue Seller", city="Lima")
    suspend_person(seller)
    assert found(mara) == found(mara, "sue") == found(mara, city="lima") == set()
    assert not DirectoryEntry.objects.exists()
    assert not DirectoryCity.objects.exists()
    restore_person(seller)
    assert found(mara) == found(mara, "sue") == {"Sue Seller"}


def test_a_suspension_applies_before_the_index_is_updated(mara, make_seller):
    seller = make_seller()
    seller.is_active = False
    seller.save()
    assert DirectoryEntry.objects.exists()
    assert found(mara) == found(mara, "sam") == set()


def test_deleted_users_are_neither_listed_nor_found(mara, make_seller):
    delete_account(make_seller("Dee Seller"))
    assert found(mara) == found(mara, "dee") == set()
    assert not DirectoryWord.objects.exists()


@pytest.mark.parametrize("by_viewer", [True, False])
def test_blocked_users_are_neither_listed_nor_found(mara, make_seller, by_viewer):
    seller, other = make_seller("Bo Blocked"), make_seller("Otto Other")
    pair = (mara, seller) if by_viewer else (seller, mara)
    block_person(pair[0], blocked=pair[1])
    assert found(mara) == {"Otto Other"}
    assert found(mara, "bo") == found(mara, "photographer bo") == set()
    assert found(other) == {"Bo Blocked"}
    unblock_person(pair[0], blocked=pair[1])
    assert found(mara) == {"Bo Blocked", "Otto Other"}


def test_anonymous_visitors_have_to_sign_in(client):
    assert client.get("/people/").url == "/accounts/login/?next=/people/"


# --- Filters


@pytest.fixture
def three(make_seller):
    make_seller("Ana", city="São Paulo", crafts=["photographer", "model"], languages=["pt", "en"])
    make_seller("Ben", city="sao paulo", crafts=["studio"], languages=["en"])
    make_seller("Cem", city="Berlin", crafts=["photographer"], languages=["tr", "de"])


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"craft": "photographer"}, {"Ana", "Cem"}),
        ({"city": "sao paulo"}, {"Ana", "Ben"}),
        ({"language": "en"}, {"Ana", "Ben"}),
        ({"craft": "photographer", "city": "sao paulo"}, {"Ana"}),
        ({"craft": "photographer", "language": "de"}, {"Cem"}),
        ({"city": "sao paulo", "language": "en"}, {"Ana", "Ben"}),
        ({"craft": "model", "city": "sao paulo", "language": "pt"}, {"Ana"}),
        ({"craft": "model", "city": "berlin"}, set()),
        ({"craft": "stylist"}, set()),
    ],
)
def test_every_combination_of_filters(mara, three, filters, expected):
    assert found(mara, **filters) == expected
    assert found(mara, "a", **filters) == expected
    assert found(mara, "photographer", **filters) <= expected


def test_the_page_filters_by_what_was_entered(signed_in, three):
    assert names_on(signed_in, "?city=S%C3%83O+PAULO&craft=studio") == ["Ben"]
    assert names_on(signed_in, "?q=ana&language=en") == ["Ana"]
    page = signed_in.get("/people/?craft=studio").content.decode()
    assert '<option value="studio" selected>' in page


def test_an_invalid_filter_is_reported_and_left_out(signed_in, three):
    response = signed_in.get("/people/?craft=astronaut&language=en")
    assert "craft" in response.context["form"].errors
    assert {seller.person["name"] for seller in response.context["sellers"]} == {"Ana", "Ben"}


@pytest.mark.parametrize(
    "hostile", ["?after=x", "?after=9%23usr_0", "?q=%00", "?city=%00|%7C", "?q=" + "x" * 5000]
)
def test_untrusted_parameters_are_harmless(signed_in, three, hostile):
    assert signed_in.get(f"/people/{hostile}").status_code == 200


def test_suggests_the_cities_with_most_sellers(three, make_seller):
    make_seller("Dan", city="")
    assert list_cities() == ["São Paulo", "Berlin"]


# --- Text search


@pytest.fixture
def described(make_seller):
    make_seller("Zoë Müller", headline="Weddings in the mountains", about="Analogue film")
    make_seller("佐々木 結衣", headline="イラストレーター", crafts=["illustrator"])
    make_seller("Priya Rao", headline="सिरेमिक and stoneware", crafts=["ceramicist"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("zoe", "Zoë Müller"),
        ("MULL", "Zoë Müller"),
        ("wedd moun", "Zoë Müller"),
        ("analogue", "Zoë Müller"),
        ("photographer zoe", "Zoë Müller"),
        ("結衣", "佐々木 結衣"),
        ("レーター", "佐々木 結衣"),
        ("सिरेमिक", "Priya Rao"),
        ("ceramicist priya", "Priya Rao"),
    ],
)
def test_finds_words_by_their_beginning_in_any_script(mara, described, text, expected):
    assert found(mara, text) == {expected}


@pytest.mark.parametrize("text", ["zoe priya", "eddings", "zoë@", "nobody"])
def test_all_words_have_to_match(mara, described, text):
    expected = {"Zoë Müller"} if text == "zoë@" else set()
    assert found(mara, text) == expected


def test_a_seller_is_found_by_what_they_changed(mara, make_seller):
    seller = make_seller("Old Name", city="Lima")
    fields = {"handle": seller.handle, "time_zone": "UTC", "headline": "", "about": ""}
    change_profile(seller, display_name="New Name", city="Cusco", **fields)
    while process_due():
        pass
    assert found(mara, "old") == found(mara, city="lima") == set()
    assert found(mara, "new") == found(mara, city="cusco") == {"New Name"}
    assert list_cities() == ["Cusco"]


def test_refreshing_twice_changes_nothing(make_seller):
    seller = make_seller(city="Lima")
    rows = [list(model.objects.values_list()) for model in (DirectoryEntry, DirectoryWord)]
    refresh_listing(seller.pk)
    assert rows == [list(model.objects.values_list()) for model in (DirectoryEntry, DirectoryWord)]
    assert DirectoryCity.objects.get().sellers == 1


def test_the_index_is_rebuilt_by_a_command(mara, make_seller):
    make_seller("Ana", city="Lima")
    DirectoryEntry.objects.all().delete()
    DirectoryWord.objects.all().delete()
    DirectoryCity.objects.all().delete()
    call_command("rebuild_directory", stdout=StringIO())
    assert found(mara) == found(mara, "ana") == found(mara, city="lima") == {"Ana"}
    assert list_cities() == ["Lima"]


@pytest.mark.django_db(transaction=True)
def test_concurrent_changes_keep_the_number_of_sellers_of_a_city(make_seller):
    """They move in opposite directions, which would deadlock without a fixed order."""
    sellers = [make_seller(city="Lima" if at % 2 else "Cusco") for at in range(6)]

    def move(seller, times=5):
        for at in range(times):
            seller.city = "Cusco" if seller.city == "Lima" else "Lima"
            seller.save(update_fields=["city"])
            refresh_listing(seller.pk)
            offer(seller, offers_services=at == times - 1)
        connection.close()

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(move, sellers))
    assert {city.name: city.sellers for city in DirectoryCity.objects.all()} == {
        "Lima": 3,
        "Cusco": 3,
    }


def test_words_of_a_profile_are_limited():
    words = list_profile_words([" ".join(f"word{number}" for number in range(1000))])
    assert len(words) == 100


# --- Pages


def all_pages(client, query=""):
    names, url = [], f"/people/?{query}"
    while url:
        response = client.get(url)
        names += [seller.person["name"] for seller in response.context["sellers"]]
        url = f"/people/?{response.context['next']}" if response.context["next"] else ""
        assert len(names) <= 100
    return names


@pytest.mark.parametrize("given", ["", "craft=photographer", "q=sam", "q=sam&craft=photographer"])
def test_pages_show_everyone_once(signed_in, make_seller, monkeypatch, given):
    monkeypatch.setattr(query, "PAGE_SIZE", 3)
    expected = [make_seller(f"Sam {letter}").display_name for letter in "ABCDEFG"]
    assert all_pages(signed_in, given) == expected[::-1]
    assert all_pages(signed_in, given + "&after=nonsense") == expected[::-1]


def test_a_search_for_common_words_continues_where_it_stopped(signed_in, make_seller, monkeypatch):
    """Every word has more sellers than a search looks at, and few sellers have both."""
    monkeypatch.setattr(query, "MAX_CANDIDATES", 4)
    both = [make_seller("Kim Both", headline="wedding film").display_name]
    for number in range(6):
        make_seller(f"Wed {number}", headline="wedding")
        make_seller(f"Film {number}", headline="film")
    response = signed_in.get("/people/?q=wedding+film")
    assert response.context["sellers"] == []
    assert "Keep looking" in response.content.decode()
    assert all_pages(signed_in, "q=wedding+film") == both


def test_verified_and_complete_profiles_come_first(signed_in, make_seller):
    make_seller("Plain")
    make_seller("Verified", verified=True)
    make_seller("Complete", headline="A", about="B")
    make_seller("Newest")
    assert names_on(signed_in) == ["Verified", "Complete", "Newest", "Plain"]


@pytest.mark.parametrize(
    ("query", "action"),
    [("", "Offer your services"), ("?craft=studio", "Clear filters"), ("?q=xyz", "Clear filters")],
)
def test_an_empty_directory_offers_one_action(signed_in, query, action):
    page = signed_in.get(f"/people/{query}").content.decode()
    assert action in page


# --- Cost


@pytest.mark.parametrize("given", ["", "?craft=photographer&city=lima&language=en", "?q=sam"])
def test_the_number_of_queries_does_not_depend_on_the_number_of_sellers(
    make_client, mara, make_seller, given
):
    client = make_client()
    sign_in(client, mara, PASSWORD)
    counts = []
    for number in (1, 12):
        for _ in range(number):
            make_seller(city="Lima")
        with CaptureQueriesContext(connection) as sql:
            assert names_on(client, given)
        counts.append(len(sql))
    assert counts[0] == counts[1] <= 4
