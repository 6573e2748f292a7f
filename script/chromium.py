"""A real browser for the tests that drive one."""

import os
import shutil
import subprocess
from pathlib import Path

import apt
import bootstrap
from terminal import Problem, say

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MAC = (
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
PLAYWRIGHT = [str(bootstrap.PYTHON), "-m", "playwright", "install", "--with-deps", "chromium"]


def find_or_install() -> str:
    if named := os.environ.get("PARLEY_TEST_CHROMIUM"):
        if not _works(named):
            raise Problem(f"PARLEY_TEST_CHROMIUM names {named}, which is not a browser.")
        return named
    found = _find() or (_install() and _find())
    if not found:
        raise Problem(f"The tests need Chromium: run `{_how_to()}`, then start again.")
    return found


def _find() -> str | None:
    names = [shutil.which(name) or "" for name in NAMES]
    return next((path for path in [*names, *MAC, _of_playwright()] if _works(path)), None)


def _works(path: str) -> bool:
    # Ubuntu's chromium-browser is there without the browser behind it.
    if not os.access(path, os.X_OK):
        return False
    return subprocess.run([path, "--version"], capture_output=True).returncode == 0


def _of_playwright() -> str:
    folder = Path(
        os.environ.get("PLAYWRIGHT_BROWSERS_PATH") or Path.home() / ".cache/ms-playwright"
    )
    return str(max(folder.glob("chromium-*/chrome-*/chrome"), default=""))


def _install() -> bool:
    if not apt.may_install():
        return False
    if _is_ubuntu():
        say("Installing Chromium with playwright ...")
        return subprocess.run(PLAYWRIGHT, capture_output=True).returncode == 0
    return apt.install("chromium")


def _how_to() -> str:
    if _is_ubuntu():
        return " ".join(PLAYWRIGHT)
    return apt.command("chromium") if shutil.which("apt-get") else "an installer of Chromium"


def _is_ubuntu() -> bool:
    """There the package chromium only points to a snap, which does not run everywhere."""
    release = Path("/etc/os-release")
    return release.exists() and "ubuntu" in release.read_text().lower()
