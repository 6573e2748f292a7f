"""Signals that are sent in this process after a change, for apps that derive data from threads."""

from django.dispatch import Signal

# Sent with `thread_id`, and with `message_id` if an existing message was changed.
thread_changed = Signal()

# Sent with `user_id` when an account is deleted. Receivers delete what they keep of the user, and
# return the threads in which the user wrote, as far as they have that.
account_deleted = Signal()

# Sent with `thread_id` and `reason` ("lock" or "hold") when staff stop or resume a conversation.
# If a receiver fails, the action fails, and staff have to repeat it.
thread_stopped = Signal()
thread_resumed = Signal()
