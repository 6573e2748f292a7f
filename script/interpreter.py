"""Restarts the command with a recent Python. The syntax must work in old versions."""

import os
import shutil
import subprocess
import sys

MIN_VERSION = (3, 11)
NAMES = ("python3.14", "python3.13", "python3.12", "python3.11")


def use_new_enough():
    if sys.version_info >= MIN_VERSION:
        return
    for name in NAMES:
        path = shutil.which(name)
        if path and _works(path):
            os.execv(path, [path, *sys.argv])
    sys.exit(
        "Parley needs Python 3.11 or newer, and this is {}.{}: "
        "install a newer one, for example with `sudo apt-get install python3.11 python3.11-venv`."
        "".format(*sys.version_info[:2])
    )


def _works(path):
    # A version manager may leave a name on the PATH that runs no Python.
    quiet = subprocess.DEVNULL
    return subprocess.call([path, "-c", "pass"], stdout=quiet, stderr=quiet) == 0
