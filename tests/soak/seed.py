"""Run by itself, with the settings of the service: the stores made ready, people and threads."""

import io
import json
import random
import sys

import django

# So many are in the busiest thread.
MOST_IN_GROUP = 8


def main(pairs: int, groups: int, seed: int) -> None:
    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    call_command("create_table", stdout=sys.stderr)
    call_command("collectstatic", interactive=False, verbosity=0)
    told = io.StringIO()
    count = ["--pairs", str(pairs), "--messages", "5"]
    call_command("seed_load", *count, "--json", "--force", stdout=told)
    made = json.loads(told.getvalue())["pairs"]
    threads = {pair["thread"]: [pair["buyer"]["id"], pair["seller"]["id"]] for pair in made}
    _make_groups(threads, groups, random.Random(seed))
    print(json.dumps({"threads": threads, "cookies": _sign_in(threads)}))


def _make_groups(threads: dict[str, list[str]], groups: int, rng: random.Random) -> None:
    from accounts.models import User
    from tests.threads.conftest import add_friend

    everybody = [user for people in threads.values() for user in people]
    for number, (thread, people) in enumerate(list(threads.items())[:groups]):
        others = [user for user in everybody if user not in people]
        wanted = MOST_IN_GROUP if number == 0 else rng.randint(3, 5)
        for user in rng.sample(others, min(len(others), wanted - 2)):
            actor = User.objects.get(pk=people[0])
            add_friend(actor, thread_id=thread, user=User.objects.get(pk=user))
            people.append(user)


def _sign_in(threads: dict[str, list[str]]) -> dict[str, list[str]]:
    """Two sessions for each person, since a second device signs in by itself."""
    from accounts.models import User
    from demo.management.commands.seed_load import sign_in

    everybody = {user for people in threads.values() for user in people}
    users = list(User.objects.filter(pk__in=everybody))
    first, second = sign_in(users), sign_in(users)
    return {user: [first[user], second[user]] for user in first}


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
