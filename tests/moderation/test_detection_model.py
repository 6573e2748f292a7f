"""The detection model beside the rules: its training data, false alarms and cost."""

import time

import pytest

from detection import detector, model
from detection.detector import REASONS, judge
from tests.moderation import train
from tests.moderation.labelled import DEVELOPMENT, OPEN, read

# Ordinary messages that contain words typical of attempts.
ORDINARY_MESSAGES = """
Hello from me
Look at your inbox
See you there
Call sheet attached
Sounds good, send the offer
Thanks, talk soon
Check your messages please
I sent you a message
Sent you the offer just now
I will send it over tonight
Can you send me the brief?
Where do we meet?
Are you free on Friday?
Let me know
Perfect, booked
Cash bar or open bar?
That works for me
I'll call it a day
Paid, thank you
Deposit paid
Could you resend the link to the moodboard?
Any news?
Shall we say 10:30?
Direct flash, please
Number 14 is my favourite
Two prints, 30 x 40
Looks great on my phone
Happy to help
How much would it be for two hours?
What is your rate for a full day?
When can you deliver?
Hallo von mir
Schau mal in deinen Posteingang
Bis morgen dann
Passt, schick das Angebot
Danke, ich melde mich
Wann passt es dir?
Ich rufe zur Ordnung
Nummer 14 gefällt mir am besten
Die Anzahlung ist da
Was kostet ein halber Tag?
Kannst du mir das Angebot schicken?
Hola, ¿qué tal?
Mira tu bandeja de entrada
Nos vemos allí
Perfecto, manda la oferta
¿Cuánto cuesta medio día?
Gracias, te aviso
Me quedo con la número 14
Bonjour à vous
Regardez vos messages
On se voit là-bas
Parfait, envoyez l'offre
Combien pour une demi-journée ?
Merci, je vous tiens au courant
Oi, tudo bem?
Veja a sua caixa de entrada
Perfeito, manda a proposta
Quanto fica meio dia?
Ciao a tutti
Guarda i tuoi messaggi
Perfetto, manda l'offerta
Quanto costa mezza giornata?
Tot morgen
Stuur de offerte maar
Do zobaczenia
Teşekkürler, görüşürüz
よろしくお願いします
شكرا جزيلا
""".strip().splitlines()


@pytest.mark.parametrize("line", ORDINARY_MESSAGES)
def test_an_ordinary_message_is_not_flagged(line):
    assert not judge(line).is_found


def test_consecutive_ordinary_messages_are_not_flagged():
    for place, line in enumerate(ORDINARY_MESSAGES):
        assert not judge(line, ORDINARY_MESSAGES[max(0, place - 4) : place]).is_found, line


def test_the_model_flags_texts_without_a_rule_as_uncertain():
    verdict = judge("I know a friendlier price when nobody else takes a slice")
    assert verdict.is_found
    assert not verdict.is_sure
    assert set(verdict.reasons) <= set(REASONS)


def test_a_result_of_the_model_adds_nothing_to_the_score():
    verdict = detector.Verdict(guess="phrase")
    assert (verdict.is_found, verdict.is_sure, verdict.score) == (True, False, 0)
    assert verdict.reasons == ["phrase"]


def test_the_predicted_kind_is_mostly_right():
    attempts = [one for one in read(OPEN) if one.is_circumvention]
    right = sum(model.kind_of(detector.seen_in(one.text), REASONS) == one.kind for one in attempts)
    assert right / len(attempts) >= 0.85


def test_the_model_takes_less_than_half_a_millisecond():
    texts = [one.text for one in read(OPEN)]
    # The first round also fills the caches of the rules, so the fastest round counts.
    rounds = []
    for _ in range(6):
        started = time.process_time()
        for text in texts:
            model.margin(detector.seen_in(text))
        rounds.append((time.process_time() - started) / len(texts))
    assert min(rounds) < 0.0005


def test_the_weights_file_is_small():
    assert model.FILE.stat().st_size < 600_000


@pytest.mark.long
def test_the_weights_result_from_the_labelled_texts():
    assert train.make() == model.FILE.read_text(encoding="utf-8")


def test_training_texts_are_not_held_out_texts():
    assert {one.id.split("-")[0] for one in train.training_examples()} == {"dev", "open"}
    assert len(read(DEVELOPMENT)) > 4000
