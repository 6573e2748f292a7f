"""Users, their blocks and sign-ins."""

from django.apps import apps
from django.contrib.auth.models import AbstractBaseUser, BaseUserManager, PermissionsMixin
from django.core.validators import MaxLengthValidator
from django.db import models, transaction
from django.db.models.functions import Lower

from accounts.profiles.handles import HANDLE_TAKEN, MAX_HANDLE_CHARS, check_handle
from accounts.profiles.text import check_line
from core.ids import new_user_id
from core.outbox.models import OutboxEntry
from core.time_zones import UTC, check_time_zone


class UserManager(BaseUserManager["User"]):
    """Creates users from commands, demo data and tests, with a confirmed email address.

    Users who sign up are created by accounts/sign_in/adapter.py and must confirm theirs.
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


class OnboardingStep(models.TextChoices):
    """What a new user is asked for after confirming the address, in this order."""

    PROFILE = "profile", "Name and photo"
    WORK = "work", "What you do"
    PEOPLE = "people", "People to talk to"


class User(AbstractBaseUser, PermissionsMixin):
    """A user. Buyer and seller are roles in a thread, not types of users."""

    id = models.CharField(primary_key=True, max_length=30, default=new_user_id, editable=False)
    email = models.EmailField("email address", unique=True)
    handle = models.CharField(
        max_length=MAX_HANDLE_CHARS,
        unique=True,
        validators=[check_handle],
        error_messages={"unique": HANDLE_TAKEN},
    )
    display_name = models.CharField(max_length=60, validators=[check_line])
    avatar = models.CharField(
        max_length=200, blank=True, help_text="Where the picture is; empty: initials."
    )
    headline = models.CharField(
        max_length=120, blank=True, validators=[check_line], help_text="What you do, in one line."
    )
    # max_length of a TextField is enforced by forms only.
    about = models.TextField(max_length=2000, blank=True, validators=[MaxLengthValidator(2000)])
    city = models.CharField(max_length=80, blank=True, validators=[check_line])
    time_zone = models.CharField(max_length=64, default=UTC, validators=[check_time_zone])
    verified = models.BooleanField(default=False)
    # What new contacts must provide before they can message this user.
    requires_verified = models.BooleanField(default=False)
    requires_date = models.BooleanField(default=False)
    requires_budget = models.BooleanField(default=False)
    safe_mode = models.BooleanField(
        default=True, help_text="Blur suggestive pictures, and do not show explicit ones."
    )
    is_active = models.BooleanField(default=True)
    # The user can read but not send until then; set by staff under a case.
    muted_until = models.DateTimeField(null=True, blank=True, editable=False)
    # Set when one of their reports is answered, cleared when they view the answer.
    has_new_report_answer = models.BooleanField(default=False, editable=False)
    # The next step; empty once onboarding is finished, and for users who did not sign up.
    onboarding_step = models.CharField(
        max_length=10, choices=OnboardingStep, blank=True, editable=False
    )
    is_staff = models.BooleanField(default=False)
    # The row of a deleted account stays, anonymised, because records refer to it.
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
    """A previous display name, so that deleting the account can remove it from system messages."""

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
    """A user has blocked another. The pair items in DynamoDB are derived from this."""

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
    """A session of a user, as listed on the "Your devices" page."""

    user = models.ForeignKey(User, models.CASCADE, related_name="sign_ins")
    session_key = models.CharField(max_length=40, unique=True)
    device = models.CharField(max_length=60)
    address = models.GenericIPAddressField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.device}, since {self.created_at:%d %b %Y}"


def add_profile_entry(user: User) -> OutboxEntry:
    """Queues a refresh of the copy of the profile in DynamoDB."""
    return OutboxEntry.objects.create(kind="profile", payload={"user": user.id})
