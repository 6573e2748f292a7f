"""Signals that are sent in this process after a change, for apps that derive data from threads."""

from django.dispatch import Signal

# Sent with `thread_id`, and with `message_id` if an existing message was changed.
thread_changed = Signal()

# Sent with `user_id` when an account is deleted. Receivers delete what they keep of the user, and
# return the threads in which the user wrote, as far as they have that.
account_deleted = Signal()

# Sent with `user_id` by the outbox after a profile has changed, or a user was suspended or
# restored. If a receiver fails, the entry is processed again.
profile_changed = Signal()

# Sent with `thread_id`, `user_id` (of the recipient) and `asked_at` when a request was sent, and
# when its recipient accepted or declined it. Failing receivers are logged.
request_sent = Signal()
request_accepted = Signal()
request_declined = Signal()

# Sent with `thread_id` and `reason` ("lock" or "hold") when staff stop or resume a conversation.
# If a receiver fails, the action fails, and staff have to repeat it.
thread_stopped = Signal()
thread_resumed = Signal()
