"""The detection model beside the rules: its training data, false alarms and cost."""

from datetime import UTC, datetime

import pytest

from demo import content
from detection import REASONS, Verdict, judge, model
from detection.reading import read as read_text
from detection.rules import match_rules
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
    verdict = Verdict(guess="phrase")
    assert (verdict.is_found, verdict.is_sure, verdict.score) == (True, False, 0)
    assert verdict.reasons == ["phrase"]


def kind_of(text: str) -> str:
    reading = read_text(text)
    return model.kind_of(reading, match_rules(reading), REASONS)


def test_the_predicted_kind_is_mostly_right():
    attempts = [one for one in read(OPEN) if one.is_circumvention]
    right = sum(kind_of(one.text) == one.kind for one in attempts)
    assert right / len(attempts) >= 0.85


def test_the_margin_is_the_sum_of_the_features():
    known = model.weights()
    for one in read(OPEN)[:40]:
        reading = read_text(one.text)
        scores = match_rules(reading)
        vector = train.vector_of(one)
        total = known[model.BIAS][model.BIAS] + sum(
            known[family].get(name, 0) * value for (family, name), value in vector.items()
        )
        assert model.margin(reading, scores) == pytest.approx(total / model.STEPS)


def is_read(text: str) -> bool:
    return model.is_suspicious(model.suspicion(text))


def test_the_screen_clears_most_ordinary_messages_and_no_attempt_that_is_found():
    stories = content.conversations(datetime.now(UTC))
    texts = [line.text for story in stories for line in story.messages]
    assert sum(map(is_read, texts)) / len(texts) < 0.35
    attempts = [one.text for one in read(OPEN) if one.is_circumvention]
    assert sum(map(is_read, attempts)) / len(attempts) >= 0.99


@pytest.mark.parametrize(
    "text",
    [
        "0171 392 00 42",
        "06 39 98 41 27",
        "5️⃣5️⃣5️⃣ 0️⃣1️⃣4️⃣8️⃣",
        "mara@lumen.example",
        "whatsapp",
        "t3legram",
        "Теlegram",
        "ｐａｙｐａｌ",
        "tele\u200bgram",
    ],
)
def test_explicit_evidence_is_never_cleared_by_harmless_words(text):
    harmless = "The scene is a film about a poster, see brief.pdf and the call sheet. "
    assert is_read(text)
    assert is_read(harmless * 4 + text)


def test_the_weights_file_is_small():
    assert model.FILE.stat().st_size < 600_000


@pytest.mark.long
def test_the_weights_result_from_the_labelled_texts():
    assert train.make() == model.FILE.read_text(encoding="utf-8")


MISSED_BEFORE = [
    "I only accept Zelle",
    "let's swap numbers",
    "don't pay here, invoice me directly",
    "加我微信 lin_photo",
    "카톡 아이디 hana_film",
    "mejor por fuera de la plataforma",
]


@pytest.mark.parametrize("text", MISSED_BEFORE)
def test_attempts_that_were_missed_before_are_found(text):
    assert judge(text).is_found


def test_training_texts_are_not_held_out_texts():
    assert {one.id.split("-")[0] for one in train.training_examples()} == {"dev", "open"}
    assert len(read(DEVELOPMENT)) > 4000
