"""File formats: their names, file name endings and parsers.

A new format is a parser `(data, limits) -> Parsed` in a separate module, and a line here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from hoptrail.documents.blocks import Parsed
from hoptrail.documents.chats import is_chat, is_chat_json
from hoptrail.documents.limits import ReadingLimits

Parser = Callable[[bytes, ReadingLimits], Parsed]
"""Raises Unreadable with the reason for a file that is damaged, protected, beyond a limit, or in another format."""

TEXT, PDF, JSON, JSONL, MAN, INFO, TABBED = "text", "pdf", "json", "jsonl", "man", "info", "tabbed"
CHAT, CHAT_JSON, PICTURE, MAIL, MBOX, MSG = "chat", "chat-json", "picture", "mail", "mbox", "msg"
MAY_HOLD_SCANS = (PDF, PICTURE, MAIL, MBOX, MSG)


@dataclass(frozen=True, slots=True)
class Form:
    """A file format. `parser` is `module:function` within this package, imported by the parsing process; JSONL has none, because
    a file gives many documents. `packed` files are archives or binary, and may be larger than text. Files of a format without
    endings are recognised by their content: names such as `report.1` say nothing.
    """

    name: str
    endings: tuple[str, ...]
    parser: str = ""
    packed: bool = False


_CODE = (
    *(".py", ".js", ".mjs", ".cjs", ".jsx", ".ts", ".tsx", ".java", ".kt", ".scala", ".c", ".h", ".cc", ".cpp", ".hpp"),
    *(".cs", ".go", ".rs", ".rb", ".php", ".swift", ".sh", ".bash", ".zsh", ".lua", ".dart", ".ex", ".exs"),
)
FORMS = (
    Form(TEXT, (".txt", ".text", ".log"), "plain_text:parse_plain"),
    Form("markdown", (".md", ".markdown", ".mdown", ".mkd", ".qmd", ".rmd"), "markdown:parse_markdown"),
    Form("html", (".html", ".htm", ".xhtml"), "html:parse_html"),
    Form("rst", (".rst", ".rest"), "rst:parse_rst"),
    Form("org", (".org",), "org:parse_org"),
    Form(MAN, (), "man.macros:parse_man"),
    Form(INFO, (), "info:parse_info"),
    Form("ipynb", (".ipynb",), "markdown:parse_ipynb"),
    Form("epub", (".epub",), "epub:parse_epub", packed=True),
    Form(PDF, (".pdf",), "pdf.parser:parse_pdf", packed=True),
    Form("docx", (".docx",), "docx:parse_docx", packed=True),
    Form(TABBED, (), "records:parse_tabbed"),
    Form("csv", (".csv", ".tsv", ".tab"), "records:parse_csv"),
    Form("xlsx", (".xlsx", ".xlsm"), "xlsx:parse_xlsx", packed=True),
    Form("xls", (".xls",), "xlsx:parse_xls", packed=True),
    Form("odt", (".odt", ".ott"), "odf:parse_odt", packed=True),
    Form("ods", (".ods", ".ots"), "odf:parse_ods", packed=True),
    Form("odp", (".odp", ".otp"), "odf:parse_odp", packed=True),
    Form("pptx", (".pptx",), "pptx:parse_pptx", packed=True),
    Form(MAIL, (".eml",), "mail:parse_mail", packed=True),
    Form(MSG, (".msg",), "outlook:parse_msg", packed=True),
    Form(PICTURE, (), "pdf.parser:parse_picture", packed=True),
    Form(MBOX, (".mbox",), "mail:parse_mbox", packed=True),
    Form("mhtml", (".mhtml", ".mht"), "mail:parse_web_archive", packed=True),
    Form("rtf", (".rtf",), "rtf:parse_rtf"),
    Form("latex", (".tex", ".latex"), "latex:parse_latex"),
    Form("code", _CODE, "plain_text:parse_code"),
    Form("subtitles", (".srt", ".vtt"), "chats:parse_subtitles"),
    Form("calendar", (".ics", ".vcf", ".ical", ".vcard"), "calendars:parse_calendar"),
    Form(CHAT, (), "chats:parse_chat"),
    Form(CHAT_JSON, (), "chats:parse_chat_json"),
    Form(JSON, (".json",), "records:parse_json"),
    Form("yaml", (".yaml", ".yml"), "records:parse_yaml"),
    Form("xml", (".xml", ".rss", ".atom", ".opml", ".enex", ".fb2"), "records:parse_xml"),
    Form(JSONL, (".jsonl", ".jsonl.gz")),
)

_BY_ENDING = {ending: form for form in FORMS for ending in form.endings}
ENDINGS = tuple(_BY_ENDING)
BY_NAME = {form.name: form for form in FORMS}
_PICTURES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"II*\0", b"MM\0*")  # how PNG, JPEG and TIFF begin
_BEGINNING = 65536  # bytes that hold the title of a manual page: a licence and definitions of macros may precede it
_COMMENT = re.compile(rb"""(?:[ \t]|\\t)*(?:[.'][ \t]*(?:\\?["#'].*)?|'''.*|\\["#].*)?\Z""", re.DOTALL)
_TITLE = re.compile(rb"""[.'][ \t]*(?:TH[ \t]+["\w@\\]|Dd[ \t]|Dt[ \t]+["\w])""")
_REFERENCE = re.compile(rb"\.so[ \t]+\S+[ \t]*\Z")
_NODE = re.compile(rb"(?:\A|\n)\x1f\n(?:File: [^\n]{1,500}Node: |Indirect:)")
_PRODUCED = re.compile(rb"[^\n]{0,1000}produced by (?:makeinfo|texi2any|GNU Texinfo)")

_LEAST_ROWS = 5
_REGULAR = 0.95  # least share of the lines with the same number of tabs


@cache
def reads_pictures() -> bool:
    """Whether the extra `ocr` is installed. Without it pictures are left out like other files that are no text."""
    return find_spec("rapidocr") is not None


def known_ending(name: str) -> str:
    """The known ending of a file name in lower case; empty if there is none."""
    return max((known for known in ENDINGS if name.lower().endswith(known)), key=len, default="")


def form_of(path: Path) -> Form | None:
    """The format by a file's ending, or None."""
    return _BY_ENDING.get(known_ending(path.name))


def name_of(path: Path) -> str:
    """A file's name without its known ending."""
    return path.name[: len(path.name) - len(known_ending(path.name))] or path.name


def true_form(form: Form | None, data: bytes) -> Form | None:
    """The format by content where that is beyond doubt, else `form`."""
    if data.startswith(b"%PDF-"):
        return BY_NAME[PDF]
    if data.startswith(_PICTURES) and reads_pictures():
        return BY_NAME[PICTURE]
    if data.startswith(b"PK\x03\x04"):
        inside = {"epub": b"application/epub+zip", "docx": b"word/document.xml", "pptx": b"ppt/presentation.xml"}
        inside["xlsx"] = b"xl/workbook.xml"
        kinds = {"odt": b"text", "ods": b"spreadsheet", "odp": b"presentation"}
        inside |= {name: b"mimetypeapplication/vnd.oasis.opendocument." + kind for name, kind in kinds.items()}
        return next((BY_NAME[name] for name, member in inside.items() if member in data), form)
    if form is None or form.name == TEXT:
        signs = {MAN: is_manual_page, INFO: is_info, CHAT: is_chat, CHAT_JSON: is_chat_json, TABBED: is_tabbed_table}
        return next((BY_NAME[name] for name, is_such in signs.items() if is_such(data)), form)
    if form.name == JSON and is_chat_json(data):
        return BY_NAME[CHAT_JSON]
    return form


def parser_of(name: str) -> Parser:
    module, _, function = BY_NAME[name].parser.partition(":")
    parser: Parser = getattr(import_module(f"hoptrail.documents.{module}"), function)
    return parser


def is_manual_page(data: bytes) -> bool:
    """Whether the first line that is no comment is a macro, and a line has the macro for the title or refers to another page."""
    lines = data[:_BEGINNING].removeprefix(b"\xef\xbb\xbf").splitlines()
    first = next((line for line in lines if _COMMENT.match(line) is None), b"")
    refers = _REFERENCE.match(first) is not None
    return first[:1] in (b".", b"'") and (refers or any(map(_TITLE.match, lines)))


def is_info(data: bytes) -> bool:
    """Whether a file consists of the nodes of a GNU manual, or is a part of one."""
    beginning = data[:_BEGINNING]
    return b"\x1f" in beginning and (_NODE.search(beginning) is not None or _PRODUCED.match(beginning) is not None)


def is_tabbed_table(data: bytes) -> bool:
    """Whether nearly all lines except comments (`# ...`) have the same number of tabs, none of them at the beginning."""
    lines = data[:_BEGINNING].splitlines()
    if len(data) > _BEGINNING:
        lines.pop()
    rows = [line for line in lines if line.strip() and not line.startswith(b"#")]
    if len(rows) < _LEAST_ROWS or any(row[:1].isspace() for row in rows):
        return False
    (tabs, times), *_ = Counter(row.count(b"\t") for row in rows).most_common(1)
    return tabs > 0 and times >= _REGULAR * len(rows)
