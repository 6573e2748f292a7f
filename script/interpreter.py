"""Find a Python that is new enough. Written so that an old one can read it."""

import os
import shutil
import subprocess
import sys

WANTED = (3, 11)
NAMES = ("python3.14", "python3.13", "python3.12", "python3.11")


def use_new_enough():
    if sys.version_info >= WANTED:
        return
    for name in NAMES:
        path = shutil.which(name)
        if path and _answers(path):
            os.execv(path, [path, *sys.argv])
    sys.exit(
        "Parley needs Python 3.11 or newer, and this is {}.{}: "
        "install a newer one, for example with `sudo apt-get install python3.11 python3.11-venv`."
        "".format(*sys.version_info[:2])
    )


def _answers(path):
    # A version manager may leave a name on the PATH that has nothing behind it.
    quiet = subprocess.DEVNULL
    return subprocess.call([path, "-c", "pass"], stdout=quiet, stderr=quiet) == 0
