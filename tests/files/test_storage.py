"""File storage: a private folder, or a bucket with short-lived signed links."""

import os
import stat
import subprocess
import sys
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.files.conftest import bring
from tests.site import ROOT

PRINT_SIGNED_URL = """
import django; django.setup()
from django.conf import settings
from files import storage
from files.models import File
file = File(id="file_01JZZZZZZZZZZZZZZZZZZZZZZZ", kind="image")
print(storage.signed_url(file.path("full"), disposition="inline", content_type="image/jpeg"))
print(*settings.FILES_ORIGINS)
"""


def test_the_folder_is_readable_only_by_its_owner(buyer, thread, kept):
    file = bring(buyer, thread)
    for path in [kept, *kept.rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)
    assert {path.name for path in kept.rglob("*") if path.is_file()} == set(file.variants)


@pytest.mark.parametrize(
    ("endpoint", "origin"),
    [
        ("", "https://parley-files.s3.eu-central-1.amazonaws.com"),
        ("https://objects.example:9000", "https://objects.example:9000"),
    ],
)
def test_links_to_a_bucket_expire_after_a_minute(tmp_path: Path, endpoint, origin):
    """Links are signed locally, without a request to the bucket."""
    env = os.environ | {
        "DJANGO_SETTINGS_MODULE": "messaging_site.settings",
        "PARLEY_DATA": str(tmp_path),
        "PARLEY_FILES_BUCKET": "parley-files",
        "PARLEY_FILES_ENDPOINT": endpoint,
        "AWS_REGION": "eu-central-1",
        "AWS_ACCESS_KEY_ID": "nobody",
        "AWS_SECRET_ACCESS_KEY": "nothing",
    }
    command = [sys.executable, "-c", PRINT_SIGNED_URL]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    link, allowed = done.stdout.splitlines()
    parts, query = urlsplit(link), parse_qs(urlsplit(link).query)
    # The origin allowed by the content security policy has to match the link.
    assert f"{parts.scheme}://{parts.netloc}" == allowed == origin
    assert parts.path.endswith("/zz/file_01JZZZZZZZZZZZZZZZZZZZZZZZ/full")
    assert query["X-Amz-Expires"] == ["60"]
    assert query["response-content-disposition"] == ["inline"]
    assert query["response-content-type"] == ["image/jpeg"]
