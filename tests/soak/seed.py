"""Prepares the stores, users and threads; a separate process with the service settings."""

import io
import json
import random
import sys

import django
from django.conf import settings

from tests.soak.programs import ROOT  # noqa: F401

# Importable only after `programs` has extended the path.
import static_files  # isort: skip

# The number of participants of the busiest thread.
MAX_GROUP_SIZE = 8


def main(pairs: int, groups: int, seed: int) -> None:
    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    call_command("create_table", stdout=sys.stderr)
    static_files.provide(
        settings.DATA_DIR, lambda: call_command("collectstatic", interactive=False, verbosity=0)
    )
    output = io.StringIO()
    count = ["--pairs", str(pairs), "--messages", "5"]
    call_command("seed_load", *count, "--json", "--force", stdout=output)
    made = json.loads(output.getvalue())["pairs"]
    threads = {pair["thread"]: [pair["buyer"]["id"], pair["seller"]["id"]] for pair in made}
    _make_groups(threads, groups, random.Random(seed))
    print(json.dumps({"threads": threads, "cookies": _sign_in(threads)}))


def _make_groups(threads: dict[str, list[str]], groups: int, rng: random.Random) -> None:
    from accounts.models import User
    from tests.threads.conftest import add_friend

    all_users = [user for people in threads.values() for user in people]
    for number, (thread, people) in enumerate(list(threads.items())[:groups]):
        others = [user for user in all_users if user not in people]
        size = MAX_GROUP_SIZE if number == 0 else rng.randint(3, 5)
        for user in rng.sample(others, min(len(others), size - 2)):
            actor = User.objects.get(pk=people[0])
            add_friend(actor, thread_id=thread, user=User.objects.get(pk=user))
            people.append(user)


def _sign_in(threads: dict[str, list[str]]) -> dict[str, list[str]]:
    """Creates two sessions for each user, since every device has its own."""
    from accounts.models import User
    from demo.management.commands.seed_load import sign_in

    all_users = {user for people in threads.values() for user in people}
    users = list(User.objects.filter(pk__in=all_users))
    first, second = sign_in(users), sign_in(users)
    return {user: [first[user], second[user]] for user in first}


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
