"""Unit tests of the JavaScript modules, in a real browser without a server."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Route

pytestmark = pytest.mark.browser

STATIC = Path(__file__).parents[2] / "static"
ORIGIN = "https://modules.example"
# A socket that records sent frames and receives only what a test dispatches.
FAKE_SOCKET = """
  globalThis.FakeSocket = class extends EventTarget {
    frames = []; isLive = true;
    send(frame) { if (this.isLive) this.frames.push(frame); return this.isLive; }
    receive(type, fields) {
      this.dispatchEvent(new CustomEvent(type, { detail: { type, ...fields } }));
    }
    become(state) { this.isLive = state === "live"; this.receive("state", {}); }
  };
  globalThis.until = async (check) => {
    for (let turn = 0; turn < 500; turn++) {
      if (await check()) return;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    throw new Error(`never: ${check}`);
  };
"""


@pytest.fixture(scope="module")
def shared(chromium: Browser) -> Iterator[BrowserContext]:
    context = chromium.new_context()
    context.route(f"{ORIGIN}/**", _serve)
    context.add_init_script(FAKE_SOCKET)
    yield context
    context.close()


@pytest.fixture(scope="module")
def stateless_page(shared: BrowserContext) -> Page:
    """A shared page for modules without storage."""
    page = shared.new_page()
    page.goto(f"{ORIGIN}/")
    return page


@pytest.fixture
def page(shared: BrowserContext) -> Iterator[Page]:
    """A page with an empty browser database."""
    others = list(shared.pages)
    page = shared.new_page()
    page.goto(f"{ORIGIN}/")
    page.evaluate("new Promise((done) => (indexedDB.deleteDatabase('parley').onsuccess = done))")
    yield page
    for tab in shared.pages:
        if tab not in others:
            tab.close()


def _serve(route: Route) -> None:
    path = route.request.url.removeprefix(f"{ORIGIN}/")
    if path:
        route.fulfill(path=STATIC / path, content_type="text/javascript")
    else:
        route.fulfill(body="<!doctype html><html data-zone='Europe/Lisbon'>")


def test_sync_state_detects_the_next_message_duplicates_and_gaps(stateless_page):
    result = stateless_page.evaluate("""async () => {
        const { SyncState } = await import("/threads/sync_state.js");
        const held = new SyncState(7, 3);
        const told = [8, 8, 10].map((seq) => held.receive(seq));
        const behind = held.isBehind;
        told.push(held.receive(9), held.receive(10));
        return { told, behind, after: held.isBehind, seq: held.seq };
    }""")
    assert result == {
        "told": ["next", "duplicate", "gap", "next", "next"],
        "behind": True,
        "after": False,
        "seq": 10,
    }


def test_a_page_without_messages_accepts_any_first_message(stateless_page):
    assert (
        stateless_page.evaluate("""async () => {
        const { SyncState } = await import("/threads/sync_state.js");
        return new SyncState(0, 0).receive(41);
    }""")
        == "next"
    )


def test_a_change_after_a_lost_change_marks_the_page_as_behind(stateless_page):
    assert stateless_page.evaluate("""async () => {
        const { SyncState } = await import("/threads/sync_state.js");
        const held = new SyncState(7, 3);
        const told = [held.receiveChange(4), held.receiveChange(6), held.isBehind];
        held.completeSync(6);
        return [...told, held.isBehind];
    }""") == [True, False, True, False]


def test_a_tick_requires_every_participant_to_have_reached_the_message(stateless_page):
    assert stateless_page.evaluate("""async () => {
        const { Cursors } = await import("/threads/ticks.js");
        const nobody = new Cursors().tickOf(1);
        const two = Cursors.parse("usr_a:5:5 usr_b:3:0 ");
        const seen = [two.tickOf(6), two.tickOf(4), two.tickOf(3)];
        two.move({ user: "usr_b", delivered_seq: 5, read_seq: 4 });
        two.move({ user: "usr_b", delivered_seq: 2, read_seq: 2 });
        seen.push(two.tickOf(5), two.tickOf(4));
        two.replace([{ user: "usr_a", delivered_seq: 5, read_seq: 5 }]);
        return [nobody, ...seen, two.tickOf(5)];
    }""") == ["sent", "sent", "sent", "delivered", "delivered", "read", "read"]


def test_unsent_messages_are_stored_in_order_and_per_author(page):
    assert page.evaluate("""async () => {
        const { Outbox } = await import("/store/outbox.js");
        const mine = new Outbox("usr_me");
        // The clock is set back between the two.
        await mine.add(mine.make({ thread: "thrd_1", body: "one", at: 2000 }));
        await mine.add(mine.make({ thread: "thrd_1", body: "two", at: 1000 }));
        await mine.add(mine.make({ thread: "thrd_2", body: "elsewhere" }));
        const other = new Outbox("usr_other");
        const [first] = await mine.list("thrd_1");
        await other.remove(first.client);
        return {
          mine: (await mine.list("thrd_1")).map((one) => one.body),
          other: await other.list("thrd_1"),
          found: await other.find(first.client),
        };
    }""") == {"mine": ["one", "two"], "other": [], "found": None}


def test_unsent_messages_survive_a_reload(page):
    page.evaluate("""async () => {
        const { Outbox } = await import("/store/outbox.js");
        const outbox = new Outbox("usr_me");
        await outbox.add(outbox.make({ thread: "thrd_1", body: "still here" }));
    }""")
    page.reload()
    assert page.evaluate("""async () => {
        const { Outbox } = await import("/store/outbox.js");
        return (await new Outbox("usr_me").list("thrd_1")).map((one) => one.body);
    }""") == ["still here"]


SENDS = """async (story) => {
    const { Outbox } = await import("/store/outbox.js");
    const { SendQueue } = await import("/store/send_queue.js");
    const socket = new FakeSocket();
    const outbox = new Outbox("usr_me");
    const sendQueue = new SendQueue(socket, outbox);
    const sent = () => socket.frames.filter((frame) => frame.type === "message.send");
    const bodies = () => sent().map((frame) => frame.body);
    const accept = (frame) => socket.receive("message.accepted", { client_id: frame.client_id });
    const left = async () => (await outbox.list("thrd_1")).map((one) => one.body);
    for (const body of ["one", "two"]) await outbox.add(outbox.make({ thread: "thrd_1", body }));
    return await (%s)({ socket, outbox, sendQueue, sent, bodies, accept, left });
}"""


def test_nothing_is_sent_before_the_thread_is_synced(page):
    assert page.evaluate(
        SENDS
        % """async ({ sendQueue, bodies }) => {
            await sendQueue.flush("thrd_1");
            const before = bodies();
            sendQueue.ready("thrd_1");
            await until(() => bodies().length);
            return [before, bodies()];
        }"""
    ) == [[], ["one"]]


def test_the_second_message_is_sent_after_the_first_is_acknowledged(page):
    assert page.evaluate(
        SENDS
        % """async ({ sendQueue, sent, bodies, accept, left }) => {
            sendQueue.ready("thrd_1");
            await until(() => sent().length === 1);
            await new Promise((resolve) => setTimeout(resolve, 50));
            const first = bodies();
            accept(sent()[0]);
            await until(() => sent().length === 2);
            accept(sent()[1]);
            await until(async () => !(await left()).length);
            return [first, bodies()];
        }"""
    ) == [["one"], ["one", "two"]]


def test_a_message_sent_before_a_disconnect_is_resent_with_the_same_client_id(page):
    assert page.evaluate(
        SENDS
        % """async ({ socket, sendQueue, sent, left }) => {
            sendQueue.ready("thrd_1");
            await until(() => sent().length === 1);
            socket.become("away");
            await new Promise((resolve) => setTimeout(resolve, 50));
            const meanwhile = sent().length;
            socket.become("live");
            sendQueue.ready("thrd_1");
            await until(() => sent().length === 2);
            return [meanwhile, sent()[0].client_id === sent()[1].client_id, await left()];
        }"""
    ) == [1, True, ["one", "two"]]


def test_the_broadcast_of_a_message_counts_as_its_acknowledgement(page):
    assert page.evaluate(
        SENDS
        % """async ({ socket, sendQueue, sent, bodies, left }) => {
            sendQueue.ready("thrd_1");
            await until(() => sent().length === 1);
            socket.receive("message.sent", { author: "usr_me", client_id: sent()[0].client_id });
            await until(() => sent().length === 2);
            return [bodies(), await left()];
        }"""
    ) == [["one", "two"], ["two"]]


def test_a_refused_message_keeps_its_reason_and_the_next_is_sent(page):
    assert page.evaluate(
        SENDS
        % """async ({ socket, outbox, sendQueue, sent, bodies }) => {
            sendQueue.ready("thrd_1");
            await until(() => sent().length === 1);
            const { client_id } = sent()[0];
            socket.receive("error", { client_id, code: "MSG_TOO_LONG", message: "Too long." });
            await until(() => sent().length === 2);
            const { failed } = await outbox.find(client_id);
            await outbox.retry(client_id);
            return [bodies(), failed.message, "failed" in (await outbox.find(client_id))];
        }"""
    ) == [["one", "two"], "Too long.", False]


def test_a_rate_limited_message_is_retried_before_the_next(page):
    assert page.evaluate(
        SENDS
        % """async ({ socket, sendQueue, sent, bodies }) => {
            sendQueue.ready("thrd_1");
            await until(() => sent().length === 1);
            const { client_id } = sent()[0];
            socket.receive("error", { client_id, code: "RATE_LIMITED", retry_after: 0.1 });
            await until(() => sent().length === 2);
            return bodies();
        }"""
    ) == ["one", "one"]


def test_two_tabs_do_not_send_the_same_message(page):
    """The tabs share a context, and so the outbox and its lock."""
    other = page.context.new_page()
    other.goto(f"{ORIGIN}/")
    start_tab = """async (add) => {
        const { Outbox } = await import("/store/outbox.js");
        const { SendQueue } = await import("/store/send_queue.js");
        globalThis.socket = new FakeSocket();
        const outbox = new Outbox("usr_me");
        if (add) await outbox.add(outbox.make({ thread: "thrd_1", body: "once" }));
        globalThis.sendQueue = new SendQueue(socket, outbox);
        sendQueue.ready("thrd_1");
    }"""
    page.evaluate(start_tab, True)
    page.evaluate("until(() => socket.frames.length === 1)")
    other.evaluate(start_tab, False)
    other.evaluate("until(async () => (await navigator.locks.query()).pending.length === 1)")
    assert other.evaluate("socket.frames.length") == 0
    page.evaluate("socket.receive('message.accepted', { client_id: socket.frames[0].client_id })")
    # Both tabs have finished: the other checked the outbox after the first.
    other.evaluate("""until(async () => {
        const { held, pending } = await navigator.locks.query();
        return held.length + pending.length === 0;
    })""")
    assert other.evaluate("socket.frames.length") == 0


def test_a_disconnected_tab_lets_another_send(page):
    other = page.context.new_page()
    other.goto(f"{ORIGIN}/")
    start_tab = """async (add) => {
        const { Outbox } = await import("/store/outbox.js");
        const { SendQueue } = await import("/store/send_queue.js");
        globalThis.socket = new FakeSocket();
        const outbox = new Outbox("usr_me");
        if (add) await outbox.add(outbox.make({ thread: "thrd_1", body: "once" }));
        new SendQueue(socket, outbox).ready("thrd_1");
    }"""
    page.evaluate(start_tab, True)
    page.evaluate("until(() => socket.frames.length === 1)")
    other.evaluate(start_tab, False)
    page.evaluate("socket.become('away')")
    other.evaluate("until(() => socket.frames.length === 1)")


RECONCILED = [
    # typed, synced, saving, received -> text, agreed
    ("", "", None, "from the phone", "from the phone", True),
    ("same", "old", None, "same", "same", True),
    ("old", "old", None, "newer", "newer", True),
    ("hello wor", "", "hello", "hello", "hello wor", True),
    ("mine", "", None, "theirs", "mine", False),
    ("mine", "", "mine", "theirs\n\nmine", "theirs\n\nmine", True),
    ("mine, longer", "", "mine", "theirs\n\nmine", "theirs\n\nmine, longer", True),
    ("old", "old", None, "", "", True),
    ("", "was sent", "", "", "", True),
    # Sent or cleared while offline: the server still has the previous text.
    ("", "was sent", None, "was sent", "", True),
    ("next", "was sent", None, "was sent", "next", True),
]


def test_a_draft_that_was_sent_does_not_return(stateless_page):
    """The last save may have reached the server while its response was lost."""
    found = stateless_page.evaluate("""async () => {
        const { reconcile } = await import("/threads/draft.js");
        const mine = { typed: "", synced: "Hel", saving: null, posted: "Hello there" };
        return [reconcile(mine, "Hello"), reconcile(mine, "Another text")];
    }""")
    assert found == [
        {"text": "", "agreed": True},
        {"text": "Another text", "agreed": True},
    ]


@pytest.mark.parametrize(("typed", "synced", "saving", "received", "text", "agreed"), RECONCILED)
def test_a_draft_from_another_device_never_replaces_typed_text(
    stateless_page, typed, synced, saving, received, text, agreed
):
    found = stateless_page.evaluate(
        """async ([given, told]) => {
            const { reconcile } = await import("/threads/draft.js");
            return reconcile(given, told);
        }""",
        [{"typed": typed, "synced": synced, "saving": saving}, received],
    )
    assert found == {"text": text, "agreed": agreed}


def test_reconnect_delays_grow_and_are_randomised(stateless_page):
    delays = stateless_page.evaluate("""async () => {
        const { reconnectDelay } = await import("/realtime/socket.js");
        return {
          first: [reconnectDelay(1006, 0, 0), reconnectDelay(1006, 0, 1)],
          later: reconnectDelay(1006, 20, 1),
          leaving: [reconnectDelay(1001, 0, 0), reconnectDelay(1001, 0, 1)],
          tooMany: reconnectDelay(4429, 0, 0),
        };
    }""")
    assert delays == {
        "first": [250, 500],
        "later": 15_000,
        "leaving": [500, 5_000],
        "tooMany": 3_750,
    }


def test_throttled_calls_run_once_per_interval_with_the_newest_value(stateless_page):
    assert stateless_page.evaluate("""async () => {
        const { Throttle } = await import("/realtime/throttle.js");
        const done = [];
        const throttle = new Throttle(80, (value) => done.push(value));
        throttle.push("a", 1);
        throttle.push("b", 10);
        await new Promise((resolve) => setTimeout(resolve, 30));
        for (const value of [2, 3, 4]) throttle.push("a", value);
        const early = [...done];
        await until(() => done.length === 3);
        return [early, done];
    }""") == [[1, 10], [1, 10, 4]]


LABELS = [
    ("presenceLabel(true, '')", "Online"),
    ("presenceLabel(false, '')", ""),
    ("presenceLabel(false, '2026-05-04T11:58Z', now)", "Active just now"),
    ("presenceLabel(false, '2026-05-04T11:22Z', now)", "Active 35 min ago"),
    ("presenceLabel(false, '2026-05-04T09:31Z', now)", "Active 2 h ago"),
    ("presenceLabel(false, '2026-05-03T09:31Z', now)", "Active yesterday"),
    ("presenceLabel(false, '2026-04-30T09:31Z', now)", "Active 4 days ago"),
    ("presenceLabel(false, '2025-04-30T09:31Z', now)", "Not active lately"),
    ("dayLabel(new Date('2026-05-03T23:30Z'), now)", "Today"),  # After midnight in Lisbon.
    ("dayLabel(new Date('2026-05-03T22:30Z'), now)", "Yesterday"),
    ("rowLabel(new Date('2025-12-24T12:00Z'), now)", "24 Dec 2025"),
    ("timeLabel(now)", "13:00"),
]


@pytest.mark.parametrize(("call", "label"), LABELS)
def test_times_have_relative_labels(stateless_page, call, label):
    assert (
        stateless_page.evaluate(f"""async () => {{
            const labels = await import("/site/labels.js");
            const {{ dayLabel, presenceLabel, rowLabel, timeLabel }} = labels;
            const now = new Date("2026-05-04T12:00Z");
            return {call};
        }}""")
        == label
    )


def test_the_typing_label_names_the_users(stateless_page):
    assert stateless_page.evaluate("""async () => {
        const { typingLabel } = await import("/threads/typing_indicator.js");
        return [[], ["Mara"], ["Mara", "Jonas"], ["A", "B", "C"]].map(typingLabel);
    }""") == ["", "Mara is typing", "Mara and Jonas are typing", "Several people are typing"]
