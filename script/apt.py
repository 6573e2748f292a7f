"""System packages: installed as root, otherwise named in the command to run."""

import os
import shutil
import subprocess

from terminal import say


def command(package: str) -> str:
    prefix = "" if os.geteuid() == 0 else "sudo "
    return f"{prefix}apt-get install -y {package}"


def may_install() -> bool:
    return os.geteuid() == 0 and shutil.which("apt-get") is not None


def has_package(package: str) -> bool:
    """Whether the package lists of this machine, which may be old or missing, contain it."""
    command = ["apt-cache", "show", package]
    return subprocess.run(command, capture_output=True).returncode == 0


def is_installed(package: str) -> bool:
    if shutil.which("dpkg-query") is None:
        return False
    command = ["dpkg-query", "--show", "--showformat", "${db:Status-Status}", package]
    return subprocess.run(command, capture_output=True, text=True).stdout == "installed"


def install(package: str) -> bool:
    say(f"Installing the system package {package} ...")
    env = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    if _apt_get("install", "-y", "--no-install-recommends", package, env=env):
        return True
    # The package lists may be old or missing.
    return _apt_get("update", env=env) and _apt_get(
        "install", "-y", "--no-install-recommends", package, env=env
    )


def _apt_get(*arguments: str, env: dict[str, str]) -> bool:
    return (
        subprocess.run(["apt-get", "-q", *arguments], env=env, capture_output=True).returncode == 0
    )
