"""Settings, all from environment variables; docs/operations.md lists them.

Without any variable this is the embedded mode: SQLite and files in one directory, one process. With
DATABASE_URL it is a deployment, where security settings must be set explicitly.
"""

from pathlib import Path
from typing import Any

import environ
from django.core.exceptions import ImproperlyConfigured

from messaging_site import logging, secret_key

env = environ.Env()

BASE_DIR = Path(__file__).resolve().parent.parent
DATA_DIR = Path(env.str("PARLEY_DATA", default=str(BASE_DIR / ".parley")))
EMBEDDED = not env.str("DATABASE_URL", default="")

DEBUG = env.bool("DEBUG", default=False)
SECRET_KEY = env.str("SECRET_KEY", default="") or (
    secret_key.get_or_create(DATA_DIR) if EMBEDDED else ""
)
if not EMBEDDED and secret_key.is_weak(SECRET_KEY):
    raise ImproperlyConfigured(
        "Set SECRET_KEY to at least 50 random characters: with DATABASE_URL this is a deployment."
    )

ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["127.0.0.1", "localhost", "[::1]"])
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", default=[])

# --- Apps -------------------------------------------------------------------------------------

INSTALLED_APPS = [
    "core",
    "accounts",
    "contracts",
    "files",
    "threads",
    "projects",
    "people",
    "availability",
    "privacy",
    "inbox",
    "moderation",
    "realtime",
    "demo",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "axes",
    "channels",
    "csp",
    "messaging_site",
    "messaging_site.admin_site.StaffConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.humanize",
    "django.contrib.messages",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
]

MIDDLEWARE = [
    "messaging_site.middleware.correlation",
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",
    "django_permissions_policy.PermissionsPolicyMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "accounts.middleware.clear_cache",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "accounts.middleware.SessionUserMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "accounts.middleware.time_zone",
    "messaging_site.middleware.refusals",
    "messaging_site.middleware.limit_writes",
    "axes.middleware.AxesMiddleware",
]

ROOT_URLCONF = "messaging_site.urls"
ASGI_APPLICATION = "messaging_site.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "csp.context_processors.nonce",
                "messaging_site.context_processors.site",
            ],
        },
    }
]

# --- Stores -----------------------------------------------------------------------------------

DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
DATABASES: dict[str, dict[str, Any]]
if EMBEDDED:
    DATABASES = {
        "default": {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": DATA_DIR / "parley.sqlite3",
            # A new connection reads the whole schema.
            "CONN_MAX_AGE": 600,
            "OPTIONS": {
                # Acknowledged writes must survive a power failure: a full sync for each commit.
                "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;",
                "timeout": 10,
                "transaction_mode": "IMMEDIATE",
            },
        }
    }
else:
    DATABASES = {"default": env.db("DATABASE_URL")}
    if DATABASES["default"]["ENGINE"] == "django.db.backends.postgresql":
        from messaging_site.postgresql.connection import BoundedConnection

        # The same backend with timeouts.
        DATABASES["default"]["ENGINE"] = "messaging_site.postgresql"
        # Under ASGI, one connection per thread would exhaust the server; a pool does not.
        # Connections closed by a restart of the database are detected before they are reused.
        DATABASES["default"]["CONN_HEALTH_CHECKS"] = True
        DATABASES["default"].setdefault("OPTIONS", {})["pool"] = {
            "min_size": 1,
            "max_size": env.int("PARLEY_DATABASE_POOL", default=10),
            # After this a caller checks whether the server answers, and if so keeps waiting.
            "timeout": 0.5,
            # Short, because the next caller reconnects: the back-off would outlast the outage.
            "reconnect_timeout": 5.0,
            "connection_class": BoundedConnection,
        }
        DATABASES["default"]["OPTIONS"]["connect_timeout"] = env.int(
            "PARLEY_DATABASE_CONNECT_TIMEOUT", default=2
        )
# How long a caller waits for a connection while all of them are in use.
DATABASE_POOL_TIMEOUT = env.float("PARLEY_DATABASE_POOL_TIMEOUT", default=10.0)
# Timeout of one statement in a server. Commands have none.
DATABASE_STATEMENT_SECONDS = env.float("PARLEY_DATABASE_STATEMENT_SECONDS", default=5.0)

DYNAMODB = {
    "table": env.str("PARLEY_TABLE", default="parley"),
    # Empty means AWS, configured with its usual variables.
    "endpoint": env.str("PARLEY_DYNAMODB_ENDPOINT", default="") or None,
    "region": env.str("AWS_REGION", default=env.str("AWS_DEFAULT_REGION", default="eu-central-1")),
    "connect_timeout": env.float("PARLEY_DYNAMODB_CONNECT_TIMEOUT", default=1.0),
    "read_timeout": env.float("PARLEY_DYNAMODB_READ_TIMEOUT", default=3.0),
    # Deadline for all retries of one page or socket command.
    "retry_seconds": env.float("PARLEY_DYNAMODB_RETRY_SECONDS", default=2.0),
}
# How long a secondary index may lag behind the table; 0 if it never does.
INDEX_LAG_SECONDS = env.float("PARLEY_INDEX_LAG_SECONDS", default=10.0)

REDIS_URL = env.str("REDIS_URL", default="")
REDIS_PREFIX = env.str("PARLEY_REDIS_PREFIX", default="parley")
# A full channel drops events silently; clients notice the gap in `seq` and sync.
CHANNEL_CAPACITY = 1500
CHANNEL_LAYERS: dict[str, Any] = {
    "default": {
        "BACKEND": "realtime.broadcast.channel_layer.ChannelLayer",
        "CONFIG": {"capacity": CHANNEL_CAPACITY},
    }
}
CACHES: dict[str, Any]
if REDIS_URL:
    CHANNEL_LAYERS["default"]["CONFIG"] |= {"url": REDIS_URL, "prefix": REDIS_PREFIX}
    CACHES = {
        "default": {
            "BACKEND": "messaging_site.redis_cache.FallbackRedisCache",
            "LOCATION": REDIS_URL,
            "KEY_PREFIX": REDIS_PREFIX,
            "OPTIONS": {"socket_timeout": 0.5, "socket_connect_timeout": 0.5},
        }
    }
else:
    CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}

# Attachments.
FILES = {
    "most_bytes": 20 * 1024 * 1024,
    "most_pixels": 12_000,
    # For formats that, unlike JPEG, cannot be decoded at a reduced size.
    "most_megapixels": env.int("PARLEY_FILE_MEGAPIXELS", default=64),
    # Images up to this size are small; larger ones have a separate worker.
    "small_megapixels": env.int("PARLEY_FILE_SMALL_MEGAPIXELS", default=16),
    # How long an upload waits for a free worker.
    "queue_seconds": env.float("PARLEY_FILE_QUEUE_SECONDS", default=30.0),
    # Timeout of the worker for one file.
    "seconds": env.float("PARLEY_FILE_SECONDS", default=20.0),
    # How long removed files stay available to staff.
    "kept_days": env.int("PARLEY_FILE_KEPT_DAYS", default=30),
    "clamd": env.str("PARLEY_CLAMD", default=""),
    "nudenet": env.bool("PARLEY_NUDENET", default=False),
}
FILES_BUCKET = env.str("PARLEY_FILES_BUCKET", default="")
FILES_ENDPOINT = env.str("PARLEY_FILES_ENDPOINT", default="")


def _storage(bucket: str, folder: str) -> dict[str, Any]:
    if not bucket:
        return {
            "BACKEND": "django.core.files.storage.FileSystemStorage",
            "OPTIONS": {
                "location": DATA_DIR / folder,
                "file_permissions_mode": 0o600,
                "directory_permissions_mode": 0o700,
            },
        }
    return {
        "BACKEND": "storages.backends.s3.S3Storage",
        "OPTIONS": {
            "bucket_name": bucket,
            "endpoint_url": FILES_ENDPOINT or None,
            "region_name": DYNAMODB["region"],
            "signature_version": "s3v4",
            # Virtual-hosted URLs in the bucket's region, so that links are not redirected.
            "addressing_style": "path" if FILES_ENDPOINT else "virtual",
            "default_acl": None,
            "querystring_auth": True,
            "file_overwrite": True,
        },
    }


FILES_STORAGE = _storage(FILES_BUCKET, "files")
# Messages older than this are moved from the table to a directory or bucket.
ARCHIVE_DAYS = env.int("PARLEY_ARCHIVE_DAYS", default=90)
ARCHIVE_STORAGE = _storage(env.str("PARLEY_ARCHIVE_BUCKET", default=""), "archive")
# How long a page waits for the archive before it shows placeholders.
ARCHIVE_TIMEOUT = env.float("PARLEY_ARCHIVE_TIMEOUT", default=2.0)
# Origins of attachments, which the Content-Security-Policy must allow.
FILES_ORIGINS = (
    [FILES_ENDPOINT or f"https://{FILES_BUCKET}.s3.{DYNAMODB['region']}.amazonaws.com"]
    if FILES_BUCKET
    else []
)

# Whether images pinned by URL are fetched once by the server for all viewers.
FETCH_PINS = env.bool("PARLEY_FETCH_PINS", default=True)
# Fetch the calendars that users import by URL.
FETCH_CALENDARS = env.bool("PARLEY_FETCH_CALENDARS", default=True)

# How long an export can be downloaded.
EXPORT_DAYS = env.int("PARLEY_EXPORT_DAYS", default=7)
# How long processed outbox entries are kept.
OUTBOX_DAYS = env.int("PARLEY_OUTBOX_DAYS", default=7)

# Rate limit of frames per socket: per second, and the burst.
SOCKET_RATE = env.float("PARLEY_SOCKET_RATE", default=50.0)
SOCKET_BURST = env.int("PARLEY_SOCKET_BURST", default=300)
# Open sockets per user and process; opening another closes the oldest.
SOCKETS_PER_USER = env.int("PARLEY_SOCKETS_PER_USER", default=20)
# How often the sessions of open sockets are checked, and how long a socket may stay open without a
# successful check during a database outage.
SESSION_CHECK_SECONDS = env.float("PARLEY_SESSION_CHECK_SECONDS", default=30.0)
SESSION_GRACE_SECONDS = env.float("PARLEY_SESSION_GRACE_SECONDS", default=600.0)
# Maximum number of messages that a sync compares for changes.
SYNC_WINDOW = env.int("PARLEY_SYNC_WINDOW", default=500)
# Rate limits per user and process: burst, and tokens per minute.
PACES = {
    "message": tuple(env.list("PARLEY_MESSAGE_LIMIT", int, default=[60, 60])),
    "start": tuple(env.list("PARLEY_START_RATE_LIMIT", int, default=[10, 10])),
    "edit": tuple(env.list("PARLEY_EDIT_LIMIT", int, default=[30, 30])),
    "proposal": tuple(env.list("PARLEY_PROPOSAL_LIMIT", int, default=[20, 20])),
    "search": tuple(env.list("PARLEY_SEARCH_LIMIT", int, default=[30, 60])),
    "people": tuple(env.list("PARLEY_PEOPLE_LIMIT", int, default=[50, 10])),
    # All unsafe requests and all socket commands; the ones below limit the most expensive actions.
    "write": tuple(env.list("PARLEY_WRITE_LIMIT", int, default=[200, 240])),
    "command": tuple(env.list("PARLEY_COMMAND_LIMIT", int, default=[600, 1200])),
    "panel": tuple(env.list("PARLEY_PANEL_LIMIT", int, default=[60, 120])),
    "reaction": tuple(env.list("PARLEY_REACTION_LIMIT", int, default=[60, 120])),
    "report": tuple(env.list("PARLEY_REPORT_LIMIT", int, default=[10, 2])),
    "delivery": tuple(env.list("PARLEY_DELIVERY_LIMIT", int, default=[10, 4])),
    "calendar": tuple(env.list("PARLEY_CALENDAR_LIMIT", int, default=[30, 30])),
    "calendar_link": tuple(env.list("PARLEY_CALENDAR_LINK_LIMIT", int, default=[60, 60])),
    "find": tuple(env.list("PARLEY_FIND_LIMIT", int, default=[120, 240])),
}
# Days for which earlier edits of a panel tab are kept; the newest is kept permanently.
TAB_EDIT_DAYS = env.int("PARLEY_TAB_EDIT_DAYS", default=365)
# Uploads per user and hour.
UPLOAD_LIMIT = env.int("PARLEY_UPLOAD_LIMIT", default=300)
# First contacts per hour and per day, for new accounts and for older ones.
START_LIMITS = tuple(env.list("PARLEY_START_LIMITS", int, default=[3, 20]))
START_LIMITS_KNOWN = tuple(env.list("PARLEY_START_LIMITS_KNOWN", int, default=[10, 100]))
NEW_ACCOUNT_DAYS = env.int("PARLEY_NEW_ACCOUNT_DAYS", default=30)

# Days a buyer has to review completed work before it is accepted automatically.
REVIEW_DAYS = env.int("PARLEY_REVIEW_DAYS", default=7)

# --- Circumvention policy ----------------------------------------------------------------------

# Additional words that indicate circumvention, and hosts to which links are allowed.
POLICY_WORDS = env.list("PARLEY_POLICY_WORDS", default=[])
POLICY_HOSTS = env.list("PARLEY_POLICY_HOSTS", default=["parley.example"])
# The number of attempts in a thread from which messages are blocked, the score that is blocked
# immediately, and the cool-down in seconds after the attempts in between.
POLICY_BLOCK_AT = env.int("PARLEY_POLICY_BLOCK_AT", default=3)
POLICY_GROSS = env.float("PARLEY_POLICY_GROSS", default=3.0)
POLICY_COOL_DOWN = env.int("PARLEY_POLICY_COOL_DOWN", default=45)

# --- People -----------------------------------------------------------------------------------

AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "allauth.account.auth_backends.AuthenticationBackend",
]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {
        "NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator",
        "OPTIONS": {"user_attributes": ("email", "handle", "display_name")},
    },
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 10},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "/inbox/"
SESSION_ENGINE = "accounts.sign_in.session_store"
SESSION_COOKIE_AGE = 60 * 60 * 24 * 30
PASSWORD_RESET_TIMEOUT = 60 * 60 * 24

ACCOUNT_ADAPTER = "accounts.sign_in.adapter.AccountAdapter"
ACCOUNT_FORMS = {
    "signup": "accounts.forms.SignUpForm",
    "change_password": "accounts.forms.ChangePasswordForm",
    "reset_password_from_key": "accounts.forms.ResetPasswordForm",
    "user_token": "accounts.forms.ResetTokenForm",
}
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*"]
# Mandatory, because otherwise a sign-up would reveal whether the address has an account.
ACCOUNT_EMAIL_VERIFICATION = "mandatory"
ACCOUNT_LOGIN_ON_EMAIL_CONFIRMATION = True
ACCOUNT_LOGIN_ON_PASSWORD_RESET = True
ACCOUNT_CHANGE_EMAIL = True
ACCOUNT_REAUTHENTICATION_REQUIRED = True
ACCOUNT_EMAIL_NOTIFICATIONS = True
ACCOUNT_EMAIL_SUBJECT_PREFIX = ""
ACCOUNT_SESSION_REMEMBER = True
ACCOUNT_LOGOUT_REDIRECT_URL = LOGIN_URL
# allauth would lock an account for all clients, so anyone could lock out any user; axes locks it
# for one client address only. allauth still limits wrong codes: see sign_in/adapter.py.
ACCOUNT_RATE_LIMITS = {
    "login_failed": "5/5m/key",
    "login": "60/m/ip",
    # Emails that anyone can trigger for any address. The limits do not depend on whether it has an
    # account, so that neither the response nor its duration reveals that.
    "reset_password": env.str("PARLEY_RESET_LIMIT", default="10/h/ip,3/h/key,5/d/key"),
    "confirm_email": env.str("PARLEY_CONFIRMATION_LIMIT", default="1/3m/key,3/h/key,5/d/key"),
    "signup": env.str("PARLEY_SIGN_UP_LIMIT", default="20/m/ip,60/h/ip"),
    "manage_email": env.str("PARLEY_EMAIL_CHANGE_LIMIT", default="10/h/user,20/d/user"),
}
MFA_SUPPORTED_TYPES = ["totp", "recovery_codes"]
MFA_TOTP_ISSUER = "Parley"
MFA_TOTP_TOLERANCE = 1
ALLAUTH_TRUSTED_PROXY_COUNT = int(env.bool("PARLEY_BEHIND_PROXY", default=False))

AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_USERNAME_CALLABLE = "accounts.sign_in.lockout.account_name"
AXES_CLIENT_IP_CALLABLE = "accounts.sign_in.lockout.client_address"
AXES_LOCKOUT_CALLABLE = "accounts.sign_in.lockout.lockout_response"
AXES_FAILURE_LIMIT = 5
AXES_COOLOFF_TIME = 0.25  # In hours.
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_RESET_ON_SUCCESS = True
AXES_DISABLE_ACCESS_LOG = True
AXES_ENABLE_ADMIN = False
AXES_SENSITIVE_PARAMETERS = ["username", "ip_address", "login", "csrfmiddlewaretoken"]

# --- Email ------------------------------------------------------------------------------------

DEFAULT_FROM_EMAIL = SERVER_EMAIL = env.str("PARLEY_MAIL_FROM", default="Parley <parley@localhost>")
EMAIL_TIMEOUT = 10
if env.str("EMAIL_URL", default=""):
    globals().update(env.email("EMAIL_URL"))
else:
    # Without a mail server, emails are written to files, and pages show the directory.
    EMAIL_BACKEND = "django.core.mail.backends.filebased.EmailBackend"
    EMAIL_FILE_PATH = DATA_DIR / "mail"

# --- Web --------------------------------------------------------------------------------------

LANGUAGE_CODE = "en-gb"
USE_I18N = False
USE_TZ = True
TIME_ZONE = "UTC"

STATIC_URL = "/static/"
STATIC_ROOT = DATA_DIR / "static"
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "messaging_site.storage.StaticFiles"},
    "files": FILES_STORAGE,
    "archive": ARCHIVE_STORAGE,
}

# How long the server keeps listening after SIGTERM, so that a load balancer notices.
DRAIN_SECONDS = env.float("PARLEY_DRAIN_SECONDS", default=1.0 if EMBEDDED else 5.0)

# Request timeouts: how long the headers may take, and how long the body may be slower than the
# minimum rate in bytes per second.
HEADER_SECONDS = env.float("PARLEY_HEADER_SECONDS", default=10.0)
BODY_SECONDS = env.float("PARLEY_BODY_SECONDS", default=20.0)
BODY_RATE = env.float("PARLEY_BODY_RATE", default=4096.0)

# How long a report of /readyz is cached, and which networks see its details.
READY_CACHE_SECONDS = env.float("PARLEY_READY_CACHE_SECONDS", default=2.0)
HEALTH_NETWORKS = env.list("PARLEY_HEALTH_NETWORKS", default=["127.0.0.0/8", "::1/128"])

# host:port of the Prometheus endpoint, separate from the site; disabled if empty.
METRICS = env.str("PARLEY_METRICS", default="")

HTTPS = env.bool("PARLEY_HTTPS", default=not EMBEDDED)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
SECURE_SSL_REDIRECT = HTTPS
SECURE_HSTS_SECONDS = 60 * 60 * 24 * 365 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = HTTPS
if env.bool("PARLEY_BEHIND_PROXY", default=False):
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "font-src": ["'self'"],
        # blob: previews of files that are not sent yet.
        "img-src": ["'self'", "data:", "blob:", *FILES_ORIGINS],
        "connect-src": ["'self'"],
        "form-action": ["'self'"],
        "base-uri": ["'none'"],
        "frame-ancestors": ["'none'"],
    }
}
# No browser features are used, so all are disabled.
PERMISSIONS_POLICY: dict[str, list[str]] = {
    name: []
    for name in ("camera", "display-capture", "geolocation", "microphone", "payment", "usb")
}

LOGGING_CONFIG = None
logging.configure(
    level=env.str("PARLEY_LOG_LEVEL", default="INFO"),
    as_json=env.bool("PARLEY_LOG_JSON", default=not DEBUG),
)
