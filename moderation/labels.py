"""Labels of stored choices, by value.

The labels on the model choices are not shown: they are part of migrations, and changing one would
require another.
"""

ABOUT_LABELS = {
    "thread": "A conversation",
    "message": "A message",
    "person": "A person",
    "circumvention": "Moving off Parley",
    "dispute": "A dispute",
    "safety": "Safety",
}
REASON_LABELS = {
    "spam": "Spam or advertising",
    "off_site": "Trying to move off Parley",
    "fraud": "Fraud or a fake identity",
    "harassment": "Harassment or insults",
    "sexual": "Unwanted sexual content",
    "danger": "A threat, or someone is in danger",
    "other": "Something else",
}
ANSWER_LABELS = {
    "acted": "We found a breach of our rules and took action.",
    "no_breach": "We found no breach of our rules.",
    "unclear": "We couldn't tell from what we have. Report it again if it continues.",
    "reviewed": "We've reviewed it.",
}
