"""Somewhere else to pay."""

import re

from moderation.detection.addresses import CASHTAG
from moderation.detection.numbers import find_raw
from moderation.detection.verdict import Verdict
from moderation.detection.words import Sentence

MY_ACCOUNT = re.compile(
    r"(?<!\w)(?:my|our|mein|meine|meines|mi|mon|notre|minha|nossa|mio|nostro|mijn|onze|moje|moim) (?:own )?(?:bank )?"
    r"(?:account|bank|konto|bankkonto|cuenta|compte|conta|conto|rekening|bankrekening)(?!\w)|hesabima|حسابي"
)
BANK_DETAILS = re.compile(
    r"(?:bank|account|payment) (?:details|info)|datos (?:bancarios|de la cuenta)|numero de cuenta|dados bancarios|"
    r"coordonnees bancaires|coordinate bancarie|numer konta|hesap numara|banka bilgi|口座"
)
TWO_WORDS = ("mb way", "cash app", "western union", "friends & family", "apple pay", "google pay")


def judge_payment(verdict: Verdict, sentence: Sentence) -> None:
    if sentence.refuses:
        return
    service = sentence.has("payservice") or any(name in sentence.text for name in TWO_WORDS)
    service = service or sentence.near("pay", "payservice_weak", 4)
    if service:
        work = sentence.has("work") and not sentence.near("mine", "payservice", 3)
        intends = sentence.has("pay") or sentence.has("mine") or sentence.has("fee")
        intends = (
            intends or sentence.is_short or sentence.has("number") or bool(find_raw(sentence.text))
        )
        verdict.add("payment", 0.8 + 0.3 * intends - 0.8 * work)
    if sentence.has("bankdetails") or BANK_DETAILS.search(sentence.text):
        verdict.add("payment", 1.0)
    if MY_ACCOUNT.search(sentence.text) and (sentence.has("transfer") or sentence.has("pay")):
        verdict.add("payment", 1.0 - 0.8 * (sentence.has("work") or sentence.has("not")))
    if CASHTAG.search(sentence.text):
        verdict.add("payment", 0.6 + 0.6 * (service or sentence.has("pay") or sentence.is_short))
    if "qr" in sentence.words and (sentence.has("pay") or sentence.has("contact")):
        verdict.add("payment", 1.0 - 0.8 * (sentence.has("work") and not sentence.has("pay")))
