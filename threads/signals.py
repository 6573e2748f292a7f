"""Said in this process after a thread was changed, for whoever keeps something made of threads."""

from django.dispatch import Signal

# Sent with `thread_id`, and with `message_id` if it is about one that was there before.
thread_changed = Signal()

# Sent with `user_id`, when somebody is nobody any more. Whoever hears it forgets what they keep of
# this person, and answers with the threads in which they wrote, as far as that is known there.
account_deleted = Signal()

# Sent with `thread_id` and `reason` ("lock" or "hold") when staff stop a conversation or let it go
# on. A receiver that fails makes the action fail, which staff then repeat.
thread_stopped = Signal()
thread_resumed = Signal()
