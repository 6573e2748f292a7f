"""Staff users and reports."""

import pytest
from allauth.account.internal.flows import login
from django.contrib.auth.models import Group
from django.test import Client

from accounts.models import User
from moderation.actions.cases import take_case
from moderation.actions.reports import report_thread
from moderation.models import Case
from tests.threads.conftest import *  # noqa: F403
from tests.threads.conftest import make_person

BACKEND = "allauth.account.auth_backends.AuthenticationBackend"


def make_staff(name: str, role: str = "") -> User:
    staff = make_person(name)
    User.objects.filter(pk=staff.pk).update(is_staff=True)
    if role:
        staff.groups.add(Group.objects.get(name=role))
    return User.objects.get(pk=staff.pk)


def sign_in(staff: User, *, second_factor: bool = True) -> Client:
    client = Client()
    client.force_login(staff, backend=BACKEND)
    if second_factor:
        session = client.session
        session[login.AUTHENTICATION_METHODS_SESSION_KEY] = [{"method": "mfa", "at": 1.0}]
        session[login._AUTHENTICATION_METHODS_USER_SESSION_KEY] = staff.id
        session.save()
    return client


@pytest.fixture
def moderator(db: None) -> User:
    return make_staff("Mo", "Trust and safety")


@pytest.fixture
def support(db: None) -> User:
    return make_staff("Sy", "Support")


def report(reporter: User, thread: str, message_id: str = "", **fields: str) -> Case:
    given = {"reason": "harassment", "comment": "Not nice"} | fields
    return report_thread(reporter, thread_id=thread, message_id=message_id, **given)


def taken(staff: User, case: Case) -> Case:
    return take_case(staff, case_id=case.id)
