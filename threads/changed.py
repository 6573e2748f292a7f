"""Said in this process after a thread was changed, for whoever keeps something made of threads."""

from django.dispatch import Signal

# Sent with `thread_id`, and with `message_id` if it is about one that was there before.
thread_changed = Signal()
