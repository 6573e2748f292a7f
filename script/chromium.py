"""Finds or installs the Chromium that the browser tests drive."""

import os
import shutil
import subprocess
from pathlib import Path

import apt
import bootstrap
from terminal import Problem, say

# The same engine without a desktop around it, which takes a quarter less CPU time.
SHELL = "chromium-headless-shell"
NAMES = (SHELL, "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MAC = (
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
PLAYWRIGHT = [str(bootstrap.PYTHON), "-m", "playwright", "install", "--with-deps", "chromium"]
PLAYWRIGHT_PROGRAMS = (
    "chromium_headless_shell-*/chrome-*/*headless*shell",
    "chromium-*/chrome-*/chrome",
)


def find_or_install() -> str:
    if named := os.environ.get("PARLEY_TEST_CHROMIUM"):
        if not _works(named):
            raise Problem(f"PARLEY_TEST_CHROMIUM names {named}, which is not a browser.")
        return named
    if _can_install_shell():
        apt.install(SHELL)
    found = _find() or (_install() and _find())
    if not found:
        raise Problem(f"The tests need Chromium: run `{_install_command()}`, then start again.")
    return found


def _can_install_shell() -> bool:
    return shutil.which(SHELL) is None and apt.may_install() and apt.has_package(SHELL)


def _find() -> str | None:
    names = [shutil.which(name) or "" for name in NAMES]
    return next((path for path in [*names, *MAC, *_of_playwright()] if _works(path)), None)


def _works(path: str) -> bool:
    # Ubuntu's chromium-browser exists without the browser behind it.
    if not os.access(path, os.X_OK):
        return False
    return subprocess.run([path, "--version"], capture_output=True).returncode == 0


def _of_playwright() -> list[str]:
    folder = Path(
        os.environ.get("PLAYWRIGHT_BROWSERS_PATH") or Path.home() / ".cache/ms-playwright"
    )
    return [str(max(folder.glob(pattern), default="")) for pattern in PLAYWRIGHT_PROGRAMS]


def _install() -> bool:
    if not apt.may_install():
        return False
    if _is_ubuntu():
        say("Installing Chromium with playwright ...")
        return subprocess.run(PLAYWRIGHT, capture_output=True).returncode == 0
    return apt.install("chromium")


def _install_command() -> str:
    if _is_ubuntu():
        return " ".join(PLAYWRIGHT)
    return apt.command("chromium") if shutil.which("apt-get") else "an installer of Chromium"


def _is_ubuntu() -> bool:
    """Ubuntu's package only points to a snap, which does not run everywhere."""
    release = Path("/etc/os-release")
    return release.exists() and "ubuntu" in release.read_text().lower()
