"""The service's own settings, on the stores that script/test started."""

import os
import tempfile

os.environ.setdefault("PARLEY_DATA", tempfile.mkdtemp(prefix="parley-test-"))

from messaging_site.settings import *  # noqa: E402, F403

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
