"""People, and the outbox that carries what changes about them to the table."""

from django.apps import apps
from django.contrib.auth.models import AbstractBaseUser, BaseUserManager, PermissionsMixin
from django.core.validators import MaxLengthValidator
from django.db import models, transaction
from django.db.models.functions import Lower

from accounts.handles import MAX_HANDLE_CHARS, check_handle
from accounts.text import check_line
from core.ids import new_user_id
from core.outbox.models import OutboxEntry
from core.time_zones import UTC, check_time_zone


class UserManager(BaseUserManager["User"]):
    """People made by us (the command line, demo data, tests): their address counts as confirmed.

    People who sign up come through accounts/sign_in/adapter.py, and confirm theirs.
    """

    @transaction.atomic
    def create_user(self, email: str, password: str | None = None, **fields: object) -> "User":
        user = self.model(email=self.normalize_email(email).lower(), **fields)
        user.set_password(password)
        user.save(using=self._db)
        addresses = apps.get_model("account", "EmailAddress").objects
        addresses.create(user=user, email=user.email, verified=True, primary=True)
        add_profile_entry(user)
        return user

    def create_superuser(self, email: str, password: str | None = None, **fields: object) -> "User":
        return self.create_user(email, password, is_staff=True, is_superuser=True, **fields)


class User(AbstractBaseUser, PermissionsMixin):
    """A person. Buyer and seller are roles in a thread, not kinds of people."""

    id = models.CharField(primary_key=True, max_length=30, default=new_user_id, editable=False)
    email = models.EmailField("email address", unique=True)
    handle = models.CharField(
        max_length=MAX_HANDLE_CHARS,
        unique=True,
        validators=[check_handle],
        error_messages={"unique": "This handle is taken."},
    )
    display_name = models.CharField(max_length=60, validators=[check_line])
    avatar = models.CharField(
        max_length=200, blank=True, help_text="Where the picture is; empty: initials."
    )
    headline = models.CharField(
        max_length=120, blank=True, validators=[check_line], help_text="What you do, in one line."
    )
    # max_length alone only tells the form.
    about = models.TextField(max_length=2000, blank=True, validators=[MaxLengthValidator(2000)])
    city = models.CharField(max_length=80, blank=True, validators=[check_line])
    time_zone = models.CharField(max_length=64, default=UTC, validators=[check_time_zone])
    verified = models.BooleanField(default=False)
    # What somebody new has to bring before they may write to this person.
    requires_verified = models.BooleanField(default=False)
    requires_date = models.BooleanField(default=False)
    requires_budget = models.BooleanField(default=False)
    safe_mode = models.BooleanField(
        default=True, help_text="Blur suggestive pictures, and do not show explicit ones."
    )
    is_active = models.BooleanField(default=True)
    # Until then they read and do not write; set by staff, under a case.
    muted_until = models.DateTimeField(null=True, blank=True, editable=False)
    # Set when a report of theirs is answered, cleared when they read the answer.
    has_new_report_answer = models.BooleanField(default=False, editable=False)
    is_staff = models.BooleanField(default=False)
    # Nobody any more: the row stays for the records that name it.
    deleted_at = models.DateTimeField(null=True, blank=True, editable=False)
    date_joined = models.DateTimeField(auto_now_add=True)

    objects = UserManager()

    USERNAME_FIELD = "email"
    REQUIRED_FIELDS = ["handle", "display_name"]

    class Meta:
        constraints = [
            models.UniqueConstraint(Lower("email"), name="one_account_an_email"),
        ]

    def __str__(self) -> str:
        return self.display_name

    def get_short_name(self) -> str:
        return self.display_name


class EarlierName(models.Model):
    """What somebody was called before. Only read when their account is deleted, so that no text of
    the service goes on naming them; deleted with it."""

    MAX_KEPT = 100

    user = models.ForeignKey(User, models.CASCADE, related_name="earlier_names")
    display_name = models.CharField(max_length=60)
    kept_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "display_name"], name="one_row_a_name")
        ]

    def __str__(self) -> str:
        return self.display_name


class Block(models.Model):
    """One person wants nothing to do with another. The table's pair items are made from this."""

    blocker = models.ForeignKey(User, models.CASCADE, related_name="blocks")
    blocked = models.ForeignKey(User, models.CASCADE, related_name="blocked_by")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["blocker", "blocked"], name="one_block_a_pair"),
            models.CheckConstraint(
                condition=~models.Q(blocker=models.F("blocked")), name="nobody_blocks_themself"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.blocker_id} blocks {self.blocked_id}"


class SignIn(models.Model):
    """A session and whose it is: what "Your devices" lists and can end."""

    user = models.ForeignKey(User, models.CASCADE, related_name="sign_ins")
    session_key = models.CharField(max_length=40, unique=True)
    device = models.CharField(max_length=60)
    address = models.GenericIPAddressField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.device}, since {self.created_at:%d %b %Y}"


def add_profile_entry(user: User) -> OutboxEntry:
    """The table has a copy of the profile, which the relay refreshes."""
    return OutboxEntry.objects.create(kind="profile", payload={"user": user.id})
