"""Browser contexts that tests use one after the other.

A new context has to fetch and compile all scripts of a page again. A context that is reused keeps
Chromium's HTTP cache and nothing else.
"""

import json
from typing import Any

from playwright.sync_api import Browser, BrowserContext

STORAGE = "local_storage,indexeddb,cache_storage,service_workers"


class ContextPool:
    def __init__(self, browser: Browser) -> None:
        self.browser = browser
        self._free: dict[str, list[BrowserContext]] = {}
        self._taken: list[tuple[str, BrowserContext]] = []
        self._closed: set[BrowserContext] = set()

    def take(self, init_scripts: list[str], **options: Any) -> BrowserContext:
        key = json.dumps([options, init_scripts], sort_keys=True)
        free = self._free.setdefault(key, [])
        context = free.pop() if free else self._create(init_scripts, options)
        self._taken.append((key, context))
        return context

    def give_back_all(self) -> None:
        while self._taken:
            key, context = self._taken.pop()
            if context not in self._closed:
                self._reset(context, json.loads(key)[0]["base_url"])
                self._free[key].append(context)

    def _create(self, init_scripts: list[str], options: dict[str, Any]) -> BrowserContext:
        context = self.browser.new_context(**options)
        context.set_default_timeout(30_000)
        context.on("close", lambda closed: self._closed.add(closed))
        for script in init_scripts:
            context.add_init_script(script)
        return context

    def _reset(self, context: BrowserContext, origin: str) -> None:
        for page in context.pages:
            page.close()
        context.unroute_all()
        context.set_offline(False)
        context.clear_permissions()
        context.clear_cookies()
        page = context.new_page()
        clear = {"origin": origin, "storageTypes": STORAGE}
        context.new_cdp_session(page).send("Storage.clearDataForOrigin", clear)
        page.close()
