from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe


@require_safe
def welcome(request: HttpRequest) -> HttpResponse:
    if request.user.is_authenticated:
        return redirect("inbox:inbox")
    return render(request, "site/welcome.html")
