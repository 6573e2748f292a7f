"""The directory of sellers."""

from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.http import AuthenticatedRequest
from core.fragments import render_list
from core.rate_limits import check_rate_limit
from people.forms import DirectoryForm
from people.search.query import is_position, list_cities, list_sellers
from people.summaries import summarise


@require_safe
@login_required
def directory(request: AuthenticatedRequest) -> HttpResponse:
    form = DirectoryForm(request.GET)
    form.is_valid()
    after = request.GET.get("after", "")
    after = after if is_position(after) else ""
    words = form.words
    if words:
        check_rate_limit("search", request.user.id)
    page = list_sellers(request.user, form.filters, words, after=after)
    sellers = [summarise(user, user.service_profile) for user in page.sellers]
    context = {
        "form": form,
        "cities": list_cities(),
        "sellers": sellers,
        "sellers_html": render_list("people/seller.html", "seller", sellers),
        "next": urlencode(form.given | {"after": page.next}) if page.next else "",
        "first": urlencode(form.given) if after else "",
        "is_continued": bool(after),
        "is_filtered": bool(form.given),
    }
    return render(request, "people/directory.html", context)
