from django.urls import path

from availability.views import bookings_link, calendar
from core import converters  # noqa: F401  (its ids are used in the paths)

app_name = "availability"
urlpatterns = [
    path("calendar/", calendar.calendar, name="calendar"),
    path("calendar/blocks/", calendar.add_block, name="add_block"),
    path(
        "calendar/blocks/<time_block:block_id>/remove/", calendar.remove_block, name="remove_block"
    ),
    path("calendar/feeds/", calendar.add_feed, name="add_feed"),
    path(
        "calendar/feeds/<calendar_feed:feed_id>/refresh/",
        calendar.refresh_feed,
        name="refresh_feed",
    ),
    path(
        "calendar/feeds/<calendar_feed:feed_id>/remove/", calendar.remove_feed, name="remove_feed"
    ),
    path("calendar/link/", calendar.create_link, name="create_link"),
    path("calendar/link/remove/", calendar.remove_link, name="remove_link"),
    path("calendar/bookings/<slug:token>.ics", bookings_link.bookings, name="bookings"),
]
