import os
import secrets
import subprocess
import sys

import pytest
from allauth.account.models import EmailAddress
from django.core import mail

from accounts.models import User
from tests.accounts.conftest import PASSWORD, link_in, sign_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def new():
    return f"new-{secrets.token_hex(4)}@example.org"


def ask_for_change(client, email):
    return client.post("/accounts/email/", {"action_add": "", "email": email})


def change(client, email):
    """The way of the page: it asks for the password, then goes on with what was asked for."""
    asked = ask_for_change(client, email)
    return client.post(asked.url, {"password": PASSWORD}, follow=True)


def test_a_new_address_counts_once_it_is_confirmed_and_the_old_one_hears_of_it(client, mara, new):
    old = mara.email
    sign_in(client, mara)
    change(client, new)
    assert User.objects.get(pk=mara.pk).email == old

    client.post(link_in(mail.outbox[0]))

    assert User.objects.get(pk=mara.pk).email == new
    assert [a.email for a in EmailAddress.objects.filter(user=mara)] == [new]
    assert mail.outbox[1].to == [old]
    assert mail.outbox[1].subject == "Your email address was changed"


def test_an_address_of_somebody_else_is_neither_taken_over_nor_betrayed(client, mara, tomas):
    sign_in(client, mara)
    answer = change(client, tomas.email)
    assert answer.redirect_chain[-1] == ("/accounts/email/", 302)
    client.post(link_in(mail.outbox[0]))
    assert User.objects.get(pk=mara.pk).email == mara.email
    assert EmailAddress.objects.get(email=tomas.email, verified=True).user == tomas


def test_a_session_left_open_does_not_give_the_account_away(client, mara, new):
    sign_in(client, mara)
    asked = ask_for_change(client, new)
    client.post(asked.url, {"password": "a guess"})
    assert not EmailAddress.objects.filter(email=new).exists()


def test_the_page_says_where_the_mail_is_while_there_is_no_server_to_send_it(
    client, new, settings, tmp_path
):
    settings.EMAIL_BACKEND = "django.core.mail.backends.filebased.EmailBackend"
    settings.EMAIL_FILE_PATH = tmp_path
    answer = client.post("/accounts/password/reset/", {"email": new}, follow=True)
    assert str(tmp_path) in answer.content.decode()
    assert "To: " + new in next(tmp_path.iterdir()).read_text()


def test_and_says_nothing_of_it_once_there_is_one(client, new):
    answer = client.post("/accounts/password/reset/", {"email": new}, follow=True)
    assert "Emails are saved to" not in answer.content.decode()


@pytest.mark.parametrize(
    ("url", "backend", "host"),
    [
        ("", "filebased", "localhost"),
        ("smtp+tls://me:secret@smtp.example.org:587", "smtp", "smtp.example.org"),
        ("consolemail://", "console", ""),
    ],
)
def test_mail_goes_where_the_environment_says(url, backend, host, tmp_path):
    code = (
        "from django.conf import settings as s; "
        "print(s.EMAIL_BACKEND.split('.')[-2], s.EMAIL_HOST or '', s.EMAIL_FILE_PATH or '')"
    )
    surroundings = os.environ | {
        "DJANGO_SETTINGS_MODULE": "messaging_site.settings",
        "PARLEY_DATA": str(tmp_path),
        "EMAIL_URL": url,
        "DATABASE_URL": "",
    }
    said = subprocess.check_output([sys.executable, "-c", code], env=surroundings, text=True)
    assert said.split()[0] == backend
    assert host in said
    assert (str(tmp_path / "mail") in said) == (backend == "filebased")
