"""Renders documents as PDF. The same content always gives the same bytes, so that checksums can be
compared: no creation time, no random ids, bundled fonts."""

import logging
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from fpdf import FPDF
from fpdf.enums import XPos, YPos
from fpdf.line_break import TextLine

from contracts.documents.fonts import (
    FONTS,
    list_fallback_fonts,
    reorder_rtl_numbers,
    replace_undrawable,
)

GREY = 110
# It logs every glyph that it keeps.
logging.getLogger("fontTools").setLevel(logging.WARNING)


class PdfDocument(FPDF):
    """A4, one column, with the document id and page number in the footer."""

    def __init__(self, title: str, foot: str, made_at: datetime) -> None:
        super().__init__(format="A4")
        self.others: list[str] = []
        self.foot = replace_undrawable(foot)
        self.set_title(replace_undrawable(title))
        self.set_creator("Parley")
        self.set_producer("Parley")
        self.set_creation_date(made_at)
        self.set_margins(24, 22, 24)
        self.set_auto_page_break(True, 24)
        self.add_font("inter", "", FONTS / "inter-regular.ttf")
        self.add_font("inter", "B", FONTS / "inter-bold.ttf")
        self.alias_nb_pages()
        self.add_page()
        self.line_of(title, size=20, bold=True, after=4)

    def footer(self) -> None:
        self.set_y(-16)
        self.set_font("inter", "", 8)
        self.set_text_color(GREY)
        self.cell(0, 5, self.foot)
        self.set_x(24)
        self.cell(0, 5, f"Page {self.page_no()} of {{nb}}", align="R")
        self.set_text_color(0)

    def line_of(
        self, text: str, *, size: float = 10.5, bold: bool = False, after: float = 2, soft: int = 0
    ) -> None:
        self.set_font("inter", "B" if bold else "", size)
        self.set_text_color(soft)
        self._write(size * 0.53, text)
        self.ln(after)
        self.set_text_color(0)

    def row_of(self, label: str, value: str, *, bold: bool = False) -> None:
        self.set_font("inter", "B" if bold else "", 10.5)
        self.cell(52, 7, replace_undrawable(label))
        self._write(7, value)

    def table_of(self, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """The second column is text, the following ones are amounts."""
        drawn = [[replace_undrawable(cell) for cell in row] for row in (columns, *rows)]
        self._fetch_fonts(" ".join(cell for row in drawn for cell in row))
        self.set_font("inter", "", 8.5)
        alignment = ("LEFT", "LEFT", *["RIGHT"] * (len(columns) - 2))
        widths = (20, 58, *[28] * (len(columns) - 2))
        with self.table(
            col_widths=widths,
            text_align=alignment,
            borders_layout="HORIZONTAL_LINES",
            line_height=5,
        ) as table:
            for row in drawn:
                table.row(row)

    def _write(self, height: float, text: str) -> None:
        text = replace_undrawable(text)
        self._fetch_fonts(text)
        self.multi_cell(0, height, text, new_x=XPos.LMARGIN, new_y=YPos.NEXT, align="L")

    def _fetch_fonts(self, text: str) -> None:
        missing = [font for font in list_fallback_fonts(text) if font not in self.others]
        for font in missing:
            self.add_font(font, "", FONTS / f"{font}.ttf")
        if missing:
            self.others += missing
            self.set_fallback_fonts(self.others, exact_match=False)
            # Shapes joined letters, and right-to-left words in a left-to-right line.
            self.set_text_shaping(True, direction="ltr")

    def _render_styled_text_line(self, text_line: TextLine, *args: Any, **more: Any) -> bool:
        ordered = text_line._replace(fragments=reorder_rtl_numbers(text_line.fragments))
        return super()._render_styled_text_line(ordered, *args, **more)

    def bytes(self) -> bytes:
        return bytes(self.output())


def contract(
    *,
    title: str,
    document_id: str,
    version: int,
    issued_at: datetime,
    clauses: Iterable[dict[str, str]],
    signatures: Iterable[dict[str, str]] = (),
) -> bytes:
    foot = f"{document_id}, version {version}"
    paper = PdfDocument(title, foot, issued_at)
    issued = f"Version {version}, issued {issued_at:%d %B %Y, %H:%M} UTC"
    paper.line_of(issued, size=9, soft=GREY, after=6)
    for number, clause in enumerate(clauses, start=1):
        paper.line_of(f"{number}. {clause['title']}", bold=True, after=0.5)
        paper.line_of(clause["text"], after=4)
    signed = list(signatures)
    if signed:
        _sign(paper, signed)
    return paper.bytes()


def _sign(paper: PdfDocument, signatures: list[dict[str, str]]) -> None:
    paper.add_page()
    paper.line_of("Signatures", size=16, bold=True, after=4)
    for signature in signatures:
        paper.line_of(signature["legal_name"], size=13, bold=True, after=0.5)
        for label in ("as", "signed", "address", "browser", "document"):
            paper.row_of(label.capitalize(), signature[label])
        paper.ln(6)


def receipt(
    *, title: str, number: str, issued_at: datetime, rows: dict[str, str], foot: str
) -> bytes:
    paper = PdfDocument(title, number, issued_at)
    for label, value in rows.items():
        paper.row_of(label, value, bold=label == "Amount")
    paper.ln(6)
    paper.line_of(foot, size=9, soft=GREY)
    return paper.bytes()


def statement(
    *,
    title: str,
    number: str,
    made_at: datetime,
    heads: dict[str, str],
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
) -> bytes:
    paper = PdfDocument(title, number, made_at)
    for label, value in heads.items():
        paper.row_of(label, value)
    paper.ln(6)
    paper.table_of(columns, rows)
    return paper.bytes()
