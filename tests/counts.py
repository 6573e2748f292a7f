"""How much the two large tables cover, said at the end of a run that went through them."""

from collections.abc import Iterator


def lines(ran: set[str]) -> Iterator[str]:
    """`ran`: the files of which tests were run."""
    if {"tests/test_access.py", "tests/moderation/test_admin_access.py"} <= ran:
        yield _access()
    if "tests/browser/test_hostile.py" in ran:
        yield _hostile()


def _access() -> str:
    from tests import test_access as people
    from tests.moderation import test_admin_access as staff

    asked, kinds = len(people.VIEWS) - 1, len(people.KINDS)
    pages, of_staff = len(staff.ROWS), len(staff.KINDS)
    answers = (asked + len(people.FRAMES)) * kinds + pages * of_staff
    return (
        f"Access: {asked} addresses and {len(people.FRAMES)} commands for {kinds} kinds of people, "
        f"{pages} pages of the admin for {of_staff} kinds of staff: {answers:,} answers."
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
