"""The threads that a page has open, and whose typing and presence it shows."""

from dataclasses import dataclass, field


def presence_group(user_id: str) -> str:
    """The group of connections that show this user's presence."""
    return f"presence.{user_id}"


@dataclass
class PresenceSubscriptions:
    # The other participants whose presence may be shown, by thread id.
    threads: dict[str, set[str]] = field(default_factory=dict)
    # All of these participants.
    people: set[str] = field(default_factory=set)
    online: dict[str, bool] = field(default_factory=dict)

    def open(self, thread_id: str, people: set[str]) -> set[str]:
        """Returns the users who were not subscribed to before."""
        before = self.people
        self.threads[thread_id] = people
        self.people = set().union(*self.threads.values())
        return people - before

    def close(self, thread_id: str) -> set[str]:
        """Returns the users who are no longer subscribed to."""
        before = self.people
        self.threads.pop(thread_id, None)
        self.people = set().union(*self.threads.values())
        removed = before - self.people
        for user_id in removed:
            self.online.pop(user_id, None)
        return removed

    def threads_with(self, user_id: str) -> list[str]:
        return [thread_id for thread_id, people in self.threads.items() if user_id in people]

    def refresh(self, alive: set[str]) -> dict[str, bool]:
        """Returns whose presence has changed."""
        changed = {
            user_id: user_id in alive
            for user_id in self.people
            if self.online.get(user_id) != (user_id in alive)
        }
        self.online |= changed
        return changed
