"""Onboarding: from sign-up to the profile of a suggested user, without JavaScript."""

import pytest
from django.core import mail
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import OnboardingStep, User
from people.models import ServiceProfile
from people.onboarding import complete_step, list_suggestions
from tests.accounts.conftest import link_in
from tests.accounts.test_sign_up import sign_up
from tests.people.conftest import offer, picture, visit_as
from threads.actions.blocks import block_person

pytestmark = pytest.mark.django_db


@pytest.fixture
def new(mara):
    """A user who has just confirmed their address."""
    User.objects.filter(pk=mara.pk).update(onboarding_step=OnboardingStep.PROFILE)
    return User.objects.get(pk=mara.pk)


@pytest.fixture
def suggested(make_seller):
    return make_seller("Tom Seller", headline="Photographer")


def step_of(user):
    return User.objects.get(pk=user.pk).onboarding_step


def test_it_leads_from_sign_up_to_a_first_message(client, new_email, suggested):
    sign_up(client, new_email)
    assert "Resend email" in client.get("/accounts/confirm-email/").content.decode()
    response = client.post(link_in(mail.outbox[0]), follow=True)
    assert response.redirect_chain[-1][0] == "/onboarding/profile/"
    photo = SimpleUploadedFile("me.jpg", picture())
    data = {"display_name": "Zoë M.", "photo": photo}
    response = client.post("/onboarding/profile/", data, follow=True)
    assert response.redirect_chain[-1][0] == "/onboarding/work/"
    data = {"headline": "Bookbinder", "city": "Bonn"}
    data |= {"offers_services": "on", "crafts": ["designer", "illustrator"]}
    response = client.post("/onboarding/work/", data, follow=True)
    assert response.redirect_chain[-1][0] == "/onboarding/people/"
    assert "Photographer" in response.content.decode()
    response = client.post("/onboarding/people/", {"handle": suggested.handle}, follow=True)
    assert response.redirect_chain[-1][0] == f"/people/{suggested.handle}/"
    assert f"/people/{suggested.handle}/start/" in response.content.decode()
    user = User.objects.get(email=new_email)
    assert (user.display_name, user.headline, user.city) == ("Zoë M.", "Bookbinder", "Bonn")
    assert user.avatar
    assert user.onboarding_step == ""
    assert ServiceProfile.objects.get(user=user).crafts == ["designer", "illustrator"]


def test_every_step_can_be_skipped_and_changes_nothing(make_client, new):
    client = visit_as(make_client, new)
    skipped = {"skip": "1", "display_name": "", "headline": "Not saved"}
    assert client.post("/onboarding/profile/", skipped).url == "/onboarding/work/"
    assert client.post("/onboarding/work/", skipped).url == "/onboarding/people/"
    assert client.post("/onboarding/people/").url == "/people/"
    stored = User.objects.get(pk=new.pk)
    assert (stored.display_name, stored.headline) == (new.display_name, new.headline)


def test_it_continues_where_the_user_stopped(make_client, new):
    client = visit_as(make_client, new)
    client.post("/onboarding/profile/", {"skip": "1"})
    assert client.get("/onboarding/").url == "/onboarding/work/"
    again = make_client()
    login = {"login": new.email, "password": "a quiet deal room"}
    assert again.post("/accounts/login/", login).url == "/onboarding/"
    assert 'href="/onboarding/"' in client.get(f"/people/{new.handle}/").content.decode()


def test_going_back_and_repeating_a_step_loses_no_progress(make_client, new):
    client = visit_as(make_client, new)
    for _ in range(2):
        client.post("/onboarding/profile/", {"display_name": "Mara"})
        assert step_of(new) == "work"
    client.post("/onboarding/work/", {"skip": "1"})
    page = client.get("/onboarding/work/").content.decode()
    assert 'href="/onboarding/profile/"' in page
    assert 'aria-current="step"' in page
    client.post("/onboarding/profile/", {"display_name": "Mara L."})
    assert step_of(new) == "people"
    assert User.objects.get(pk=new.pk).display_name == "Mara L."


@pytest.mark.parametrize("path", ["", "profile/", "work/", "people/"])
def test_existing_users_are_not_sent_through_it(make_client, mara, path):
    client = visit_as(make_client, mara)
    assert client.get(f"/onboarding/{path}").url == "/inbox/"
    assert client.get("/inbox/").status_code == 200
    if path:
        client.post(f"/onboarding/{path}", {"display_name": "Other", "headline": "Other"})
        assert User.objects.get(pk=mara.pk).display_name == mara.display_name


def test_refused_values_are_shown_again_with_the_reason(make_client, new):
    client = visit_as(make_client, new)
    bad = {"display_name": "Mara", "photo": SimpleUploadedFile("a.jpg", b"not a photo")}
    response = client.post("/onboarding/profile/", bad)
    assert response.status_code == 415
    assert "a photo" in response.content.decode()
    assert User.objects.get(pk=new.pk).display_name == new.display_name
    headline = {"headline": "Write to me@example.org"}
    User.objects.filter(pk=new.pk).update(onboarding_step="work")
    assert client.post("/onboarding/work/", headline).status_code == 400
    assert step_of(new) == "work"


def test_suggestions_are_sellers_other_than_oneself_without_blocks(new, suggested, make_seller):
    offer(new)
    User.objects.filter(pk=make_seller("Suspended").pk).update(is_active=False)
    block_person(new, blocked=make_seller("Blocked"))
    assert list_suggestions(new) == [suggested]


def test_suggestions_cost_one_query_with_any_number_of_sellers(new, make_seller):
    for number in range(8):
        make_seller(f"Seller {number}")
    with CaptureQueriesContext(connection) as queries:
        assert len(list_suggestions(new)) == 6
    assert len(queries) == 1


def test_a_user_who_looks_for_someone_is_not_listed(make_client, new):
    User.objects.filter(pk=new.pk).update(onboarding_step="work")
    client = visit_as(make_client, new)
    client.post("/onboarding/work/", {"headline": "A small label"})
    assert not ServiceProfile.objects.filter(user=new).exists()
    assert User.objects.get(pk=new.pk).headline == "A small label"


def test_offering_services_needs_a_craft_and_keeps_languages_and_rates(make_client, new):
    offer(new, languages=["de"], price_cents=50_000, currency="EUR", unit="day")
    User.objects.filter(pk=new.pk).update(onboarding_step="work")
    client = visit_as(make_client, new)
    response = client.post("/onboarding/work/", {"headline": "X", "offers_services": "on"})
    assert response.status_code == 400
    assert "at least one craft" in response.content.decode()
    assert User.objects.get(pk=new.pk).headline == new.headline
    client.post("/onboarding/work/", {"offers_services": "on", "crafts": ["model"]})
    stored = ServiceProfile.objects.get(user=new)
    assert (stored.crafts, stored.languages, stored.price_cents) == (["model"], ["de"], 50_000)


def test_an_unknown_suggestion_ends_nothing(make_client, new):
    User.objects.filter(pk=new.pk).update(onboarding_step="people")
    client = visit_as(make_client, new)
    assert client.post("/onboarding/people/", {"handle": "nobody-here"}).status_code == 404
    assert step_of(new) == "people"
    assert complete_step(new, "people") == complete_step(new, "people") == ""


def test_the_confirmation_is_resent_for_the_address_of_the_session_only(
    client,
    make_client,
    new_email,
    settings,
):
    settings.ACCOUNT_RATE_LIMITS = settings.ACCOUNT_RATE_LIMITS | {"confirm_email": "9/m/key"}
    sign_up(client, new_email)
    client.post("/sign-up/resend/")
    assert [message.to for message in mail.outbox] == [[new_email], [new_email]]
    client.post(link_in(mail.outbox[1]))
    assert client.get("/onboarding/").url == "/onboarding/profile/"
    other = make_client()
    other.post("/sign-up/resend/", {"email": new_email})
    assert len(mail.outbox) == 2


def test_the_confirmation_is_resent_at_most_once_in_three_minutes(client, new_email):
    sign_up(client, new_email)
    page = client.post("/sign-up/resend/", follow=True).content.decode()
    assert "Wait a few minutes" in page
    assert len(mail.outbox) == 1


def test_resending_does_not_reveal_whether_an_address_has_an_account(
    client,
    make_client,
    mara,
    new_email,
    settings,
):
    settings.ACCOUNT_RATE_LIMITS = settings.ACCOUNT_RATE_LIMITS | {"confirm_email": "9/m/key"}
    other = make_client()
    sign_up(client, new_email)
    sign_up(other, mara.email)
    new, known = client.post("/sign-up/resend/"), other.post("/sign-up/resend/")
    assert (new.status_code, new.url) == (known.status_code, known.url)
    pages = [
        one.get(new.url).content.decode().replace(email, "EMAIL")
        for one, email in ((client, new_email), (other, mara.email))
    ]
    assert len({len(page) for page in pages}) == 1
    assert mail.outbox[-1].to == [mara.email]
    assert "already has an account" in mail.outbox[-1].body
