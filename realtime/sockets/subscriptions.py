"""The threads that a page has open, and who is there: typing and presence are told of these."""

from dataclasses import dataclass, field

from realtime.broadcast.presence import list_online


def presence_group(user_id: str) -> str:
    """Those who look at a thread with this person in it."""
    return f"presence.{user_id}"


@dataclass
class PresenceSubscriptions:
    # Thread id -> the others in it whose presence may be shown.
    threads: dict[str, set[str]] = field(default_factory=dict)
    online: dict[str, bool] = field(default_factory=dict)

    @property
    def people(self) -> set[str]:
        return set().union(*self.threads.values())

    def open(self, thread_id: str, people: set[str]) -> set[str]:
        """Who was not watched before."""
        before = self.people
        self.threads[thread_id] = people
        return people - before

    def close(self, thread_id: str) -> set[str]:
        """Who is no longer watched."""
        before = self.people
        self.threads.pop(thread_id, None)
        gone = before - self.people
        for user_id in gone:
            self.online.pop(user_id, None)
        return gone

    def threads_with(self, user_id: str) -> list[str]:
        return [thread_id for thread_id, people in self.threads.items() if user_id in people]

    async def look(self) -> dict[str, bool]:
        """Whose presence is another than what was said last: a server that died said nothing."""
        people = self.people
        alive = await list_online(people) if people else set()
        now = {user_id: user_id in alive for user_id in people}
        changed = {user_id: on for user_id, on in now.items() if self.online.get(user_id) != on}
        self.online = now
        return changed
