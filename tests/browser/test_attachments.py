"""Photos and files sent between two users, with failures during the upload."""

import io
import re

import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from tests.browser.conftest import PHONE, live, wider_than_window, write
from tests.browser.test_delivery import go_offline, go_online

pytestmark = pytest.mark.browser

TRAY = ".tray-item"
IMAGES = ".message:not(.sending) .picture img"


def thread_of(pair) -> str:
    return f"/threads/{pair.thread}/"


def photo(name: str, colour: str = "teal", size: tuple[int, int] = (800, 600)) -> dict:
    output = io.BytesIO()
    Image.new("RGB", size, colour).save(output, "JPEG")
    return {"name": name, "mimeType": "image/jpeg", "buffer": output.getvalue()}


def text_file(name: str = "notes.txt") -> dict:
    return {"name": name, "mimeType": "text/plain", "buffer": b"Bring the grey paper."}


PAGE = {"name": "photo.jpg", "mimeType": "image/jpeg", "buffer": b"<html>Not a photo"}


def attach(page: Page, *files: dict) -> None:
    page.set_input_files("[data-attach-input]", list(files))


def wait_for_uploads(page: Page, count: int) -> None:
    expect(page.locator(f"{TRAY}[data-state=done]")).to_have_count(count)


def press_send(page: Page) -> None:
    page.get_by_role("button", name="Send").click()


def names(page: Page) -> list[str]:
    return page.locator(".message:not(.sending) .attachment img").evaluate_all(
        "images => images.map((image) => image.alt)"
    )


def wait_for_images(page: Page, selector: str = IMAGES) -> None:
    page.wait_for_function(
        "(selector) => [...document.querySelectorAll(selector)].every((i) => i.naturalWidth > 0)",
        arg=selector,
    )


def test_files_arrive_live_in_order_and_a_refused_file_affects_no_other(visit, pair):
    buyer = live(visit(pair.buyer, thread_of(pair), expected_status=415))
    seller = live(visit(pair.seller, thread_of(pair)))
    attach(buyer, photo("first.jpg"), PAGE, text_file(), photo("second.jpg", "salmon"))
    wait_for_uploads(buyer, 3)
    refused = buyer.locator(f"{TRAY}[data-state=refused]")
    expect(refused).to_contain_text("photo.jpg")
    expect(refused).to_contain_text("can't attach")
    write(buyer, "As we said")
    for page in (buyer, seller):
        expect(page.locator(".message:not(.sending) .prose").last).to_have_text("As we said")
        expect(page.locator(IMAGES)).to_have_count(2)
        assert names(page) == ["first.jpg", "second.jpg"]
        expect(page.locator(".document")).to_contain_text("notes.txt")
        wait_for_images(page)
    # A refused file stays in the tray with its reason until it is removed.
    expect(buyer.locator(TRAY)).to_have_count(1)
    buyer.get_by_role("button", name="Remove photo.jpg").click()
    expect(buyer.locator(TRAY)).to_have_count(0)
    # A refused file cannot be retried, so it is not restored after a reload.
    attach(buyer, PAGE)
    expect(refused).to_contain_text("photo.jpg")
    buyer.reload()
    live(buyer)
    expect(buyer.locator(TRAY)).to_have_count(0)
    inbox = live_inbox(seller, pair)
    expect(inbox).to_have_text("3 files · As we said")


def live_inbox(page: Page, pair):
    return page.locator(f'[data-rows] [data-thread="{pair.thread}"] [data-row-text]')


def test_the_inbox_shows_photo_as_the_preview(visit, pair):
    seller = visit(pair.seller, "/inbox/")
    buyer = live(visit(pair.buyer, thread_of(pair)))
    attach(buyer, photo("IMG_2041 nobody must read this.jpg"))
    wait_for_uploads(buyer, 1)
    press_send(buyer)
    expect(live_inbox(seller, pair)).to_have_text("Photo")


def test_an_upload_can_be_cancelled_and_the_others_continue(visit, pair):
    buyer = live(visit(pair.buyer, thread_of(pair)))
    held = hold_uploads(buyer)
    attach(buyer, photo("wrong.jpg"), photo("right.jpg"))
    expect(buyer.locator(TRAY).first.locator("progress")).to_be_visible()
    buyer.get_by_role("button", name="Remove wrong.jpg").click()
    held.release()
    wait_for_uploads(buyer, 1)
    press_send(buyer)
    expect(buyer.locator(IMAGES)).to_have_count(1)
    assert names(buyer) == ["right.jpg"]


def test_a_file_that_could_not_be_scanned_can_be_retried_separately(visit, pair):
    buyer = live(visit(pair.buyer, thread_of(pair), expected_status=503))
    response = {"code": "UPLOAD_QUARANTINED", "message": "This file couldn't be scanned."}
    buyer.route("**/files/", lambda route: route.fulfill(status=503, json=response), times=1)
    attach(buyer, photo("one.jpg"), photo("two.jpg"))
    wait_for_uploads(buyer, 1)
    failed = buyer.locator(f"{TRAY}[data-state=refused]")
    expect(failed).to_contain_text("couldn't be scanned")
    failed.get_by_role("button", name="Try again").click()
    wait_for_uploads(buyer, 2)
    press_send(buyer)
    expect(buyer.locator(IMAGES)).to_have_count(2)
    assert names(buyer) == ["one.jpg", "two.jpg"]


class HeldUploads:
    """Uploads that are held back until they are released."""

    def __init__(self) -> None:
        self.routes: list = []
        self.is_open = False

    def take(self, route) -> None:
        if self.is_open:
            route.continue_()
        else:
            self.routes.append(route)

    def release(self) -> None:
        self.is_open = True
        for route in self.routes:
            try:
                route.continue_()
            except Exception:  # noqa: BLE001  The upload was cancelled meanwhile.
                continue


def hold_uploads(page: Page) -> HeldUploads:
    held = HeldUploads()
    page.route("**/files/", held.take)
    return held


def test_a_message_waits_for_its_uploads_and_is_sent_once(visit, pair):
    buyer = live(visit(pair.buyer, thread_of(pair)))
    seller = live(visit(pair.seller, thread_of(pair)))
    held = hold_uploads(buyer)
    attach(buyer, photo("slow.jpg"))
    write(buyer, "Patience")
    expect(buyer.locator("[data-tray-note]")).to_be_visible()
    held.release()
    for page in (buyer, seller):
        expect(page.locator(IMAGES)).to_have_count(1)
    expect(buyer.locator("[data-tray-note]")).to_be_hidden()
    expect(buyer.locator("#compose")).to_have_value("")


def test_an_upload_interrupted_by_an_outage_restarts_and_is_sent_once(visit, pair):
    buyer = live(visit(pair.buyer, thread_of(pair)))
    seller = live(visit(pair.seller, thread_of(pair)))
    held = hold_uploads(buyer)
    attach(buyer, photo("tunnel.jpg"))
    expect(buyer.locator(f"{TRAY}[data-state=sending]")).to_have_count(1)
    go_offline(buyer)
    for route in held.routes:
        route.abort("internetdisconnected")
    expect(buyer.locator(TRAY)).to_contain_text("Waiting for connection")
    write(buyer, "From the tunnel")
    held.is_open = True
    go_online(buyer)
    for page in (buyer, seller):
        expect(page.locator(IMAGES)).to_have_count(1)
        expect(page.locator(".message:not(.sending) .prose").last).to_have_text("From the tunnel")
    seller.reload()
    expect(seller.locator(IMAGES)).to_have_count(1)


def test_attached_files_survive_a_reload(visit, pair):
    buyer = live(visit(pair.buyer, thread_of(pair)))
    held = hold_uploads(buyer)
    attach(buyer, photo("kept.jpg"))
    expect(buyer.locator(f"{TRAY}[data-state=sending]")).to_have_count(1)
    held.is_open = True
    buyer.reload()
    wait_for_uploads(live(buyer), 1)
    press_send(buyer)
    expect(buyer.locator(IMAGES)).to_have_count(1)
    buyer.reload()
    expect(live(buyer).locator(TRAY)).to_have_count(0)


def transfer(page: Page, file: dict):
    return page.evaluate_handle(
        """([bytes, name]) => {
          const data = new DataTransfer();
          data.items.add(new File([new Uint8Array(bytes)], name, { type: "image/jpeg" }));
          return data;
        }""",
        [list(file["buffer"]), file["name"]],
    )


def test_a_photo_can_be_dropped_on_the_conversation(visit, pair):
    buyer = live(visit(pair.buyer, thread_of(pair)))
    data_transfer = transfer(buyer, photo("dropped.jpg"))
    buyer.dispatch_event(".scroller", "dragenter", {"dataTransfer": data_transfer})
    expect(buyer.locator(".room")).to_have_class(re.compile("drag-over"))
    buyer.dispatch_event(".scroller", "drop", {"dataTransfer": data_transfer})
    expect(buyer.locator(".room")).not_to_have_class(re.compile("drag-over"))
    wait_for_uploads(buyer, 1)
    expect(buyer.locator(TRAY)).to_contain_text("dropped.jpg")


def test_a_photo_can_be_pasted_and_pasted_text_stays_text(visit, pair):
    buyer = live(visit(pair.buyer, thread_of(pair)))
    buyer.evaluate(
        """(data) => document.getElementById("compose").dispatchEvent(
          new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }))""",
        transfer(buyer, photo("image.png")),
    )
    wait_for_uploads(buyer, 1)
    press_send(buyer)
    expect(buyer.locator(IMAGES)).to_have_count(1)


def test_photos_are_viewed_in_the_lightbox_by_keyboard(visit, pair):
    buyer = live(visit(pair.buyer, thread_of(pair)))
    attach(buyer, photo("one.jpg"), photo("two.jpg", "salmon"), photo("three.jpg", "gold"))
    wait_for_uploads(buyer, 3)
    press_send(buyer)
    expect(buyer.locator(IMAGES)).to_have_count(3)
    buyer.locator("[data-picture]").nth(1).focus()
    buyer.keyboard.press("Enter")
    box = buyer.get_by_role("dialog", name="Photo")
    expect(box).to_be_visible()
    expect(box).to_contain_text("two.jpg")
    expect(box).to_contain_text("2 of 3")
    wait_for_images(buyer, "#lightbox img")
    buyer.keyboard.press("ArrowRight")
    expect(box).to_contain_text("three.jpg")
    buyer.keyboard.press("ArrowRight")
    expect(box).to_contain_text("three.jpg")
    buyer.keyboard.press("Home")
    expect(box).to_contain_text("one.jpg")
    with buyer.expect_download() as download:
        box.get_by_role("link", name="Download").click()
    assert download.value.suggested_filename == "one.jpg"
    buyer.keyboard.press("Escape")
    expect(box).to_be_hidden()
    assert buyer.evaluate("document.activeElement.dataset.name") == "one.jpg"


def test_the_layout_does_not_shift_when_photos_load(visit, pair):
    buyer = live(visit(pair.buyer, thread_of(pair)))
    attach(buyer, photo("wide.jpg", size=(1600, 400)), photo("tall.jpg", size=(300, 1200)))
    wait_for_uploads(buyer, 2)
    press_send(buyer)
    expect(buyer.locator(IMAGES)).to_have_count(2)
    seller = visit(pair.seller)
    held = HeldUploads()
    seller.route(re.compile("/files/"), held.take)
    seller.goto(thread_of(pair), wait_until="domcontentloaded")
    live(seller)
    measure_height = "document.querySelector('.scroller-inner').offsetHeight"
    before = seller.evaluate(measure_height)
    held.release()
    wait_for_images(seller)
    assert seller.evaluate(measure_height) == before


def test_video_and_audio_are_links_with_a_title(visit, pair):
    buyer = live(visit(pair.buyer, thread_of(pair)))
    seller = live(visit(pair.seller, thread_of(pair)))
    buyer.get_by_role("button", name="Photos, files and proposals").click()
    buyer.get_by_role("button", name="Link To video").click()
    buyer.get_by_label("Link", exact=True).fill("https://video.example/walk/7")
    buyer.get_by_label("Title").fill("The walk, first cut")
    buyer.get_by_role("dialog").get_by_role("button", name="Attach").click()
    wait_for_uploads(buyer, 1)
    press_send(buyer)
    for page in (buyer, seller):
        card = page.locator(".message:not(.sending) .link-card a")
        expect(card).to_contain_text("The walk, first cut")
        expect(card).to_contain_text("video.example")
        expect(card).to_have_attribute("href", "https://video.example/walk/7")
        expect(card).to_have_attribute("rel", re.compile("noopener.*nofollow"))
    expect(live_inbox(seller, pair)).to_have_text("Link")


def test_a_photo_being_sent_is_shown_in_its_place(visit, pair):
    buyer = live(visit(pair.buyer, thread_of(pair), hold="message.send"))
    attach(buyer, photo("soon.jpg"))
    wait_for_uploads(buyer, 1)
    write(buyer, "On its way")
    pending = buyer.locator(".message.sending")
    wait_for_images(buyer, ".message.sending .picture img")
    height = pending.locator(".picture").bounding_box()["height"]
    buyer.evaluate("release()")
    expect(buyer.locator(IMAGES)).to_have_count(1)
    assert buyer.locator(".message:not(.sending) .picture").bounding_box()["height"] == height


def test_attachments_fit_a_phone_and_have_touch_targets(visit, pair):
    buyer = live(visit(pair.buyer, thread_of(pair), **PHONE))
    buyer.get_by_role("button", name="Photos, files and proposals").tap()
    expect(buyer.get_by_role("button", name="Camera")).to_be_visible()
    with buyer.expect_file_chooser() as chooser:
        buyer.get_by_role("button", name="Camera").tap()
    assert buyer.locator("[data-attach-input]").get_attribute("capture") == "environment"
    chooser.value.set_files(
        [photo("street.jpg", size=(3000, 1000)), text_file("a very long name of notes.txt")]
    )
    wait_for_uploads(buyer, 2)
    press_send(buyer)
    expect(buyer.locator(IMAGES)).to_have_count(1)
    assert wider_than_window(buyer) <= 0
    heights = buyer.locator(".attach, .document a, .picture-link").evaluate_all(
        "all => all.map((one) => one.getBoundingClientRect().height)"
    )
    assert min(heights) >= 44
    buyer.locator("[data-picture]").tap()
    expect(buyer.get_by_role("dialog", name="Photo")).to_be_visible()


def test_without_a_script_files_are_sent_with_the_form(visit, pair):
    buyer = visit(pair.buyer, thread_of(pair), java_script_enabled=False)
    buyer.set_input_files("input[name=files]", [photo("plain.jpg")])
    buyer.locator("#compose").fill("By form")
    press_send(buyer)
    expect(buyer.locator(IMAGES)).to_have_count(1)
    expect(buyer.locator(".message .prose").last).to_have_text("By form")


def set_safety_band(site, name: str, band: int) -> None:
    """Sets the safety band of an uploaded file, as a scanner does before it is sent."""
    code = f"from files.models import File; File.objects.filter(name={name!r}).update(band={band})"
    site.manage("shell", "-c", code)


def send_with_safety_band(page: Page, site, name: str, band: int) -> None:
    attach(page, photo(name))
    wait_for_uploads(page, 1)
    set_safety_band(site, name, band)
    press_send(page)
    expect(page.locator(f'{IMAGES}[alt="{name}"]')).to_have_count(1)


def width_of(page: Page, selector: str) -> int:
    wait_for_images(page, selector)
    return page.locator(selector).evaluate("(image) => image.naturalWidth")


def test_safe_mode_blurs_suggestive_photos_until_the_viewer_shows_them(visit, pair, site):
    buyer = live(visit(pair.buyer, thread_of(pair)))
    seller = live(visit(pair.seller, thread_of(pair)))
    send_with_safety_band(buyer, site, f"{pair.thread}-one.jpg", 1)
    image = f"{IMAGES}[alt$='-one.jpg']"
    expect(seller.locator(image)).to_have_count(1)
    # The server itself serves only a thumbnail.
    assert width_of(seller, image) == 24
    show_button = seller.get_by_role("link", name="Show")
    show_button.focus()
    seller.keyboard.press("Enter")
    seller.wait_for_function("(s) => document.querySelector(s).naturalWidth === 720", arg=image)
    expect(show_button).to_be_hidden()
    seller.keyboard.press("Enter")
    expect(seller.get_by_role("dialog", name="Photo")).to_be_visible()
    seller.keyboard.press("Escape")
    seller.reload()
    assert width_of(live(seller), image) == 24


def test_safe_mode_hides_explicit_photos_until_it_is_off_for_both(visit, pair, site):
    # The sender's page requests the file between the upload and the scan.
    buyer = live(visit(pair.buyer, thread_of(pair), expected_status=403))
    seller = live(visit(pair.seller, thread_of(pair), expected_status=403))
    name = f"{pair.thread}-two.jpg"
    send_with_safety_band(buyer, site, name, 2)
    hidden = seller.get_by_text("Safe mode is hiding this photo.")
    expect(hidden).to_be_visible()
    image = seller.locator(f'{IMAGES}[alt="{name}"]')
    expect(image).to_be_hidden()
    url = seller.locator("[data-picture]").get_attribute("href")
    assert seller.request.get(f"{url}?show=1").status == 403
    # Safe mode is off for the conversation and still on for this user.
    buyer.get_by_role("button", name="Conversation options").click()
    buyer.get_by_role("button", name="Turn safe mode off").click()
    line = seller.get_by_role("list", name="Messages").get_by_text("turned safe mode off")
    expect(line).to_be_visible()
    expect(hidden).to_be_visible()
    seller.goto("/settings/")
    seller.get_by_role("button", name="Turn it off").click()
    seller.goto(thread_of(pair))
    expect(live(seller).locator(f'{IMAGES}[alt="{name}"]')).to_be_visible()
    wait_for_images(seller)
