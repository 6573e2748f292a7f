"""Static files with hashed names, so that a browser may keep them for ever."""

from whitenoise.storage import CompressedManifestStaticFilesStorage


class StaticFiles(CompressedManifestStaticFilesStorage):
    # The modules import each other by relative path; the hashed copies must import hashed names.
    support_js_module_import_aggregation = True
