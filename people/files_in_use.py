"""The files that profiles use, which the cleanup of files keeps."""

from typing import Any

from django.db.models import QuerySet

from people.models import Photo, PortfolioImage, VerificationRequest, VerificationState


def list_photo_files() -> QuerySet[Photo, Any]:
    return Photo.objects.values("file_id")


def list_portfolio_files() -> QuerySet[PortfolioImage, Any]:
    return PortfolioImage.objects.values("file_id")


def list_document_files() -> QuerySet[VerificationRequest, Any]:
    """Documents are kept while their request is pending."""
    pending = VerificationRequest.objects.filter(state=VerificationState.PENDING)
    return pending.exclude(document=None).values("document_id")


USE_QUERIES = (list_photo_files, list_portfolio_files, list_document_files)
