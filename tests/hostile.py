"""Hostile input that tries to run a script in another user's page, to break its layout or to inject
headers. Tests show all of it on every page."""

from uuid import uuid4

RUN = "globalThis.hacked=1"
# A script that runs sets a global variable.
SCRIPTS = [
    f"<script>{RUN}</script>",
    f"<img src=x onerror={RUN}>",
    f"<svg onload={RUN}>",
    f"<svg><script>{RUN}</script></svg>",
    f"<body onload={RUN}>",
    f"<details open ontoggle={RUN}>",
    f"<input autofocus onfocus={RUN}>",
    f"<iframe srcdoc='<script>parent.{RUN}</script>'></iframe>",
    f"<a href='javascript:{RUN}' autofocus>click</a>",
    f"<math><mglyph><svg><mtext><style><img src=x onerror={RUN}></style></svg></math>",
    f"<noscript><p title='</noscript><img src=x onerror={RUN}>'>",
    f"<style>@import 'javascript:{RUN}';</style>",
    f"<template><script>{RUN}</script></template>",
    f'"><script>{RUN}</script>',
    f"'><img src=x onerror={RUN}>",
    f"</textarea><script>{RUN}</script>",
    f"</li></ol><script>{RUN}</script>",
    f"</title><script>{RUN}</script>",
    f"--><script>{RUN}</script>",
    f"&lt;script&gt;{RUN}&lt;/script&gt;",
    f"&#60;img src=x onerror={RUN}&#62;",
    f"\\u003cimg src=x onerror={RUN}\\u003e",
    f"{{% load site %}}{{{{ {RUN} }}}}",
    "{{7*7}} ${7*7} #{7*7} <%= 7*7 %>",
    f"[click](javascript:{RUN})",
    f"[click](JaVaScRiPt:{RUN})",
    f"[click](java\tscript:{RUN})",
    f"[click](data:text/html,<script>{RUN}</script>)",
    f"[click](vbscript:{RUN})",
    f"[a]: javascript:{RUN}\n[a]",
    f"![x](x' onerror='{RUN})",
    f'![x](https://example.com/x.png" onerror="{RUN})',
    f"<https://example.com/' onmouseover='{RUN}>",
    f"`<script>{RUN}</script>`",
    f"```\n</code></pre><script>{RUN}</script>\n```",
    f"> <img src=x onerror={RUN}>",
    f"- <img src=x onerror={RUN}>",
    f"**<img src=x onerror={RUN}>**",
    f"https://example.com/<script>{RUN}</script>",
    f"https://example.com/?q=%22%3E%3Cscript%3E{RUN}%3C/script%3E",
    f"＜script＞{RUN}＜/script＞",
    f"<scr\x00ipt>{RUN}</scr\x00ipt>",
]
# Text that may break a layout, a name or a header.
SHAPES = [
    "\u202eetisoppo eht si siht\u202c",
    "\u2066\u2067\u2068 isolated and never closed",
    "Z" + "\u0300\u0301\u0302\u0303\u0304\u0305\u0306\u0307" * 20 + "algo",
    "x" * 700,
    "﷽" * 40,
    "👩‍👩‍👧‍👦" * 60,
    "\u200b\u200c\u200d\ufeff\u2060 nothing to see",
    "ا" * 300,
    "漢" * 400,
    "\t\t\ttabs\v\fand feeds",
    "a\r\nSet-Cookie: hacked=1\r\n\r\n<html>",
    "%0d%0aSet-Cookie:%20hacked=1",
    "../../../../etc/passwd",
    "'; DROP TABLE accounts_user; --",
    "NULL",
    "undefined",
    "NaN",
    "-1e309",
    "| a | b |\n|---|---|\n| c | d |",
    ">" * 300 + " deep",
    "*" * 500,
    "[" * 300 + "]" * 300,
    "- " * 200 + "deep",
    "1. " * 200,
]
CORPUS = SCRIPTS + SHAPES


def client_id() -> str:
    return str(uuid4())
