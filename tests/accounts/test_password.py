import pytest
from django.core import mail

from accounts.models import User
from tests.accounts.conftest import PASSWORD, is_signed_in, link_in, sign_in

pytestmark = pytest.mark.django_db
NEW = "an even quieter room"


def request_reset(client, email):
    return client.post("/accounts/password/reset/", {"email": email})


def follow(client, link):
    return client.get(link, follow=True).request["PATH_INFO"]


def test_a_forgotten_password_is_reset_by_the_link_in_the_mail(client, make_client, mara):
    other_client = make_client()
    sign_in(other_client, mara)
    request_reset(client, mara.email)

    form = follow(client, link_in(mail.outbox[0]))
    assert form.endswith("-set-password/")  # The key is not in the URL of the page.
    client.post(form, {"password1": NEW})

    assert is_signed_in(client)
    assert not is_signed_in(other_client)
    assert sign_in(make_client(), mara, PASSWORD).status_code == 200
    assert sign_in(make_client(), mara, NEW).url == "/inbox/"
    assert mail.outbox[1].subject == "Your password was changed"


def test_a_link_works_once(client, make_client, mara):
    request_reset(client, mara.email)
    link = link_in(mail.outbox[0])
    client.post(follow(client, link), {"password1": NEW})
    assert make_client().get(link).context["token_fail"]


@pytest.mark.parametrize("uid", ["01", "usr", "zzz", "01ARZ3NDEKTSV4RRFFQ69G5FAV"])
def test_a_forged_link_is_refused(client, uid):
    response = client.get(f"/accounts/password/reset/key/{uid}-abc-def/")
    assert response.context["token_fail"]


def test_a_link_of_one_user_does_not_work_for_another(client, mara, tomas):
    request_reset(client, mara.email)
    link = link_in(mail.outbox[0]).replace(mara.id[4:], tomas.id[4:])
    assert client.get(link).context["token_fail"]


def test_a_reset_for_an_unknown_address_looks_the_same(client, make_client, mara):
    known, unknown = request_reset(client, mara.email), request_reset(client, "no@example.org")
    assert (known.status_code, known.url) == (unknown.status_code, unknown.url)
    assert [message.to for message in mail.outbox] == [[mara.email], ["no@example.org"]]
    assert "no account uses this address" in mail.outbox[1].body


def test_the_mail_about_an_unknown_address_does_not_reveal_the_requester(client, mara):
    sign_in(client, mara)
    request_reset(client, "no@example.org")
    assert mara.display_name not in mail.outbox[0].body


def test_a_reset_lifts_a_lockout(client, mara):
    for _ in range(5):
        sign_in(client, mara, "wrong")
    assert sign_in(client, mara).status_code == 429
    request_reset(client, mara.email)
    client.post(follow(client, link_in(mail.outbox[0])), {"password1": NEW})
    client.post("/accounts/logout/")
    assert sign_in(client, mara, NEW).url == "/inbox/"


def test_a_password_change_ends_all_other_sessions(client, make_client, mara):
    other_client = make_client()
    sign_in(client, mara)
    sign_in(other_client, mara)
    typed = {"oldpassword": PASSWORD, "password1": NEW}
    assert client.post("/accounts/password/change/", typed).url == "/settings/"
    assert is_signed_in(client)
    assert not is_signed_in(other_client)


@pytest.mark.parametrize(
    ("typed", "field"),
    [
        ({"oldpassword": "wrong", "password1": NEW}, "oldpassword"),
        ({"oldpassword": PASSWORD, "password1": "short"}, "password1"),
        ({"oldpassword": PASSWORD, "password1": "Mara Lind 1"}, "password1"),
    ],
)
def test_an_invalid_password_change_is_refused(client, mara, typed, field):
    sign_in(client, mara)
    response = client.post("/accounts/password/change/", typed)
    assert field in response.context["form"].errors
    assert User.objects.get(pk=mara.pk).check_password(PASSWORD)
