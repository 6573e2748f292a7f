"""System packages: installed where we may, otherwise named."""

import os
import shutil
import subprocess

from terminal import say


def command(package: str) -> str:
    prefix = "" if os.geteuid() == 0 else "sudo "
    return f"{prefix}apt-get install -y {package}"


def may_install() -> bool:
    return os.geteuid() == 0 and shutil.which("apt-get") is not None


def install(package: str) -> bool:
    say(f"Installing the system package {package} ...")
    env = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    if _apt_get("install", "-y", "--no-install-recommends", package, env=env):
        return True
    # The lists may be old, or were never fetched.
    return _apt_get("update", env=env) and _apt_get(
        "install", "-y", "--no-install-recommends", package, env=env
    )


def _apt_get(*arguments: str, env: dict[str, str]) -> bool:
    return (
        subprocess.run(["apt-get", "-q", *arguments], env=env, capture_output=True).returncode == 0
    )
