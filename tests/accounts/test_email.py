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
def new_address():
    return f"new-{secrets.token_hex(4)}@example.org"


def request_change(client, email):
    return client.post("/accounts/email/", {"action_add": "", "email": email})


def change(client, email):
    """Changes the address as the page does: the request asks for the password and then
    continues."""
    response = request_change(client, email)
    return client.post(response.url, {"password": PASSWORD}, follow=True)


def test_a_new_address_is_used_once_confirmed_and_the_old_one_is_notified(
    client, mara, new_address
):
    old = mara.email
    sign_in(client, mara)
    change(client, new_address)
    assert User.objects.get(pk=mara.pk).email == old

    client.post(link_in(mail.outbox[0]))

    assert User.objects.get(pk=mara.pk).email == new_address
    assert [a.email for a in EmailAddress.objects.filter(user=mara)] == [new_address]
    assert mail.outbox[1].to == [old]
    assert mail.outbox[1].subject == "Your email address was changed"


def test_an_address_of_another_user_is_neither_taken_over_nor_revealed(client, mara, tomas):
    sign_in(client, mara)
    response = change(client, tomas.email)
    assert response.redirect_chain[-1] == ("/accounts/email/", 302)
    client.post(link_in(mail.outbox[0]))
    assert User.objects.get(pk=mara.pk).email == mara.email
    assert EmailAddress.objects.get(email=tomas.email, verified=True).user == tomas


def test_changing_the_address_needs_the_password(client, mara, new_address):
    sign_in(client, mara)
    response = request_change(client, new_address)
    client.post(response.url, {"password": "a guess"})
    assert not EmailAddress.objects.filter(email=new_address).exists()


def test_without_a_mail_server_the_page_shows_where_mail_is_saved(
    client, new_address, settings, tmp_path
):
    settings.EMAIL_BACKEND = "django.core.mail.backends.filebased.EmailBackend"
    settings.EMAIL_FILE_PATH = tmp_path
    response = client.post("/accounts/password/reset/", {"email": new_address}, follow=True)
    assert str(tmp_path) in response.content.decode()
    assert "To: " + new_address in next(tmp_path.iterdir()).read_text()


def test_with_a_mail_server_the_page_shows_no_folder(client, new_address):
    response = client.post("/accounts/password/reset/", {"email": new_address}, follow=True)
    assert "Emails are saved to" not in response.content.decode()


@pytest.mark.parametrize(
    ("url", "backend", "host"),
    [
        ("", "filebased", "localhost"),
        ("smtp+tls://me:secret@smtp.example.org:587", "smtp", "smtp.example.org"),
        ("consolemail://", "console", ""),
    ],
)
def test_the_mail_backend_is_configured_by_the_environment(url, backend, host, tmp_path):
    code = (
        "from django.conf import settings as s; "
        "print(s.EMAIL_BACKEND.split('.')[-2], s.EMAIL_HOST or '', s.EMAIL_FILE_PATH or '')"
    )
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "messaging_site.settings",
        "PARLEY_DATA": str(tmp_path),
        "EMAIL_URL": url,
        "DATABASE_URL": "",
    }
    output = subprocess.check_output([sys.executable, "-c", code], env=environment, text=True)
    assert output.split()[0] == backend
    assert host in output
    assert (str(tmp_path / "mail") in output) == (backend == "filebased")
