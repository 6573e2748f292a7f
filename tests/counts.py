"""Summaries of the access and hostile-input tests, printed at the end of a run."""

from collections.abc import Iterator


def lines(ran: set[str]) -> Iterator[str]:
    """The summaries of the test files that were run."""
    if {"tests/test_access.py", "tests/moderation/test_admin_access.py"} <= ran:
        yield _access()
    if "tests/browser/test_hostile.py" in ran:
        yield _hostile()


def _access() -> str:
    from tests import test_access as people
    from tests.moderation import test_admin_access as staff

    urls, kinds = len(people.VIEWS) - 1, len(people.KINDS)
    pages, staff_kinds = len(staff.ROWS), len(staff.KINDS)
    answers = (urls + len(people.FRAMES)) * kinds + pages * staff_kinds
    return (
        f"Access: {urls} addresses and {len(people.FRAMES)} commands for {kinds} kinds of people, "
        f"{pages} pages of the admin for {staff_kinds} kinds of staff: {answers:,} answers."
    )


def _hostile() -> str:
    from tests import hostile
    from tests.browser import test_hostile as shown
    from tests.files.corpus import CORPUS as FILES
    from tests.realtime.test_hostile_frames import HOSTILE_VALUES, TYPES

    return (
        f"Hostile input: {len(hostile.SCRIPTS)} scripts and {len(hostile.SHAPES)} shapes on "
        f"{len(shown.SURFACES)} surfaces, at a desk and on a phone; {len(FILES)} files; "
        f"{len(HOSTILE_VALUES)} kinds of JSON in {len(TYPES)} types of frames."
    )
