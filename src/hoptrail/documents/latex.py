r"""Parses LaTeX into headings, paragraphs, list items, table rows and code, as far as its own text says; nothing is included.

Comments are left out: they are drafts that nobody prints. Commands that the text defines are replaced by what they stand for.
Formulas stay as they are written, without their dollars. Footnotes follow their paragraph.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import replace

from hoptrail.documents.blocks import Parsed, Piece, assemble
from hoptrail.documents.decoding import decode
from hoptrail.documents.limits import ReadingLimits
from hoptrail.documents.markup import Flow, TableCell, table_rows
from hoptrail.text.dates import find_date
from hoptrail.text.normal_forms import squeeze
from hoptrail.types import BlockKind

_CODE = ("verbatim", "Verbatim", "lstlisting", "minted")
_COMMENT = re.compile(
    rf"(?P<code>\\begin\{{(?P<name>{'|'.join(_CODE)})\}}.*?(?:\\end\{{(?P=name)\}}|\Z)"
    r"|\\verb\*?(?P<sign>[^\sA-Za-z*])[^\n]*?(?P=sign))|(?<!\\)(?P<even>(?:\\\\)*)%[^\n]*",
    re.DOTALL,
)
_MARK = re.compile(r"\0(\d+)\n*\0")  # what stands for code: no text that was decoded has this sign
_SECTIONS = ("part", "section", "subsection", "subsubsection", "paragraph", "subparagraph")
_LEVELS = {"chapter": 1, **{name: level for level, name in enumerate(_SECTIONS, 1)}}
_DRAFT = re.compile(r"\\iffalse(?![A-Za-z]).*?(?:(?P<end>\\fi)(?![A-Za-z])|\Z)", re.DOTALL)
_DEFINED = re.compile(
    r"\\(?:(?:re|provide)?new|provide)command\*?[ ]*\{?\\(?P<command>[A-Za-z]+)\}?[ ]*(?:\[(?P<number>\d)\])?(?=\{)"
    r"|\\DeclareMathOperator\*?\{\\(?P<operator>[A-Za-z]+)\}(?=\{)|\\def[ ]*\\(?P<plain>[A-Za-z]+)[ ]*(?=\{)"
    r"|\\(?:new|renew)(?:theorem|environment)\*?(?:\{\w*\*?\}|\[[^\[\]\n]*\])+(?=\{)"
    r"|\\(?:(?:re|provide)?new|provide)command\*?[^\n]{0,200}?(?=\{[^{}]*\}[ ]*$)|\\def[ ]*\\[^{\n]{0,200}(?=\{)",
    re.MULTILINE,
)
_FORMULAS = ("equation", "align", "gather", "multline", "eqnarray", "displaymath")
_FOOTNOTE = re.compile(r"\\(?:footnote|thanks)(?:\[\d*\])?(?=\{)")
_LISTS = {"itemize": False, "enumerate": True, "description": False}
_LEFT_OUT = ("comment", "tikzpicture", "thebibliography", "filecontents", "CCSXML")
_TABLES = ("tabular", "tabularx", "tabulary", "longtable")
_STRUCTURE = re.compile(
    rf"\\(?P<heading>{'|'.join(_LEVELS)}|caption)\*?(?=[\[{{])|\\(?P<side>begin|end)\{{(?P<environment>\w+)\*?\}}(?:\[[^\[\]\n]*\])?"
    r"|\\item\b[ \t]*(?:\[(?P<term>[^\[\]\n]*)\])?|(?P<gap>\n[ \t]*\n\s*)"
)
_ABOUT = re.compile(r"\\(title|date|author)(?=[\[{])")
_UNSEEN = re.compile(
    r"~?\\(?:label|[a-z]*cite\w*|[a-zA-Z]*ref|index|[vh]space|bibliography\w*|input|include\w*|footnotemark|color|thanks|rule|usepackage|documentclass"
    r"|documentstyle|setlength|addtolength|newcounter|setcounter|pagestyle|hypersetup)\*?"
    r"(?:\[[^\[\]]*\])*(?:\{[^{}]*\})+|\\(?:begin|end)\{[^{}]*\}(?:\[[^\[\]]*\])?(?:\{[^{}]*\})?"
)
_FIRST_UNSEEN = re.compile(
    r"\\(href|textcolor|parbox|colorbox|multirow|multicolumn|resizebox)\{[^{}]*\}(\{[^{}]*\}(?=\{))?(?=\{)"
)
_SHOWN = re.compile(r"\\[A-Za-z]+\*?(?:\[[^\[\]]*\])?\{([^{}]*)\}")
_COMMAND = re.compile(r"\\[A-Za-z]+\*?(?:\[[^\[\]\n]*\])?[ ]?")
_ACCENT = re.compile(r"\\(?:([`'^\"~=.])\s*|([cvuHk])(?![A-Za-z])\s*)(?:\{\\?([A-Za-z])\}|\\?([A-Za-z]))")
_ACCENTS = str.maketrans("`'^\"~=.cvuHk", "\u0300\u0301\u0302\u0308\u0303\u0304\u0307\u0327\u030c\u0306\u030b\u0328")
_WORDS = {"ss": "ß", "ae": "æ", "oe": "œ", "aa": "å", "o": "ø", "l": "ł", "pm": "±", "times": "×"}
_WORDS |= {"dots": "…", "ldots": "…", "LaTeX": "LaTeX", "TeX": "TeX", "BibTeX": "BibTeX"}
_WORDS |= dict.fromkeys(("newline", "par", "quad", "qquad"), " ")
_WORD = re.compile(rf"\\({'|'.join(sorted(_WORDS, key=len, reverse=True))})(?![A-Za-z])(?:\{{\}}|[ ])?")
_MATH = re.compile(r"(?<!\\)(\$\$?)([^$]*)\1|\\[(\[]((?:[^\\]|\\\\|\\[^(\[)\]\\])*)\\[)\]]", re.DOTALL)
_LINE_END = re.compile(r"\\\\\*?(?:\[[^\[\]\n]{0,40}\])?")
_VERBATIM = re.compile(r"\\verb\*?([^\sA-Za-z*])(.*?)\1")
_POWER = re.compile(r"([\^_])\{(\w+)\}")
_DEEPEST = 8  # commands within commands
_BRACE = re.compile(r"(?<!\\)[{}]")
_OPTION = re.compile(r"(?:\[[^\]]{0,500}\])?\s*")
_HEAD_ENDS = re.compile(r"\\(?:hline|midrule)\b")
_COLUMNS = re.compile(r"\\multicolumn\{(\d{1,2})\}")
_RULE = re.compile(
    r"\\(?:hline|toprule|midrule|bottomrule|(?:cmidrule|cline)(?:\([^()]*\))?\{[^{}]*\}|rowcolor\{[^{}]*\})"
)
_ESCAPES = {"---": "—", "--": "–", "``": "“", "''": "”", "~": " ", "\\ ": " ", "\\,": " "}
_ESCAPES |= dict.fromkeys(("{", "}", "\\/", "\\-"), "")
_ESCAPED = re.compile("|".join(map(re.escape, sorted(_ESCAPES, key=len, reverse=True))) + r"|\\([&%$#_{}])")


def parse_latex(data: bytes, limits: ReadingLimits) -> Parsed:
    """Parse a file: title and date (of its commands) and blocks."""
    decoded = decode(data)
    text = _outside_code(decoded.text)
    closings = _closings(text)
    # Only the last of each name is worked out: those within one another would take quadratic time.
    written = {match[1]: _argument(text, match.end(), closings)[0] for match in _ABOUT.finditer(text)}
    values = {name: value.replace("\\and", ", ") for name, value in written.items()}
    about = {name: squeeze(_plain(_noted(value)[0])).replace(" ,", ",") for name, value in values.items()}
    start = text.find("\\begin{document}")
    pieces = _Reader(text, max(0, start), text.find("\\end{document}", start) if start >= 0 else -1).read()
    if author := about.get("author"):
        line = text[: text.index("\\author")].count("\n") + 1
        pieces.insert(0, Piece(BlockKind.ROW, cells=(("Author", author),), place=f"line {line}", labelled=True))
    dated = find_date(about.get("date", "")), "its command"
    return assemble(about.get("title", ""), pieces, decoded.notes, limits.text, dated)


def _outside_code(text: str) -> str:
    """The text without comments and drafts and with its own commands expanded, none of which touches code: a mark on as many
    lines stands for it. Of a draft its line breaks stay; one that never ends stays whole.
    """
    codes: list[str] = []

    def marked(found: re.Match[str]) -> str:
        if found["code"] is None:
            return found["even"]
        codes.append(found["code"])
        lines = "\n" * found["code"].count("\n")
        return f"\0{len(codes) - 1}{lines}\0"

    text = _COMMENT.sub(marked, text)
    text = _DRAFT.sub(lambda draft: "\n" * draft[0].count("\n") if draft["end"] else draft[0], text)
    return _MARK.sub(lambda mark: codes[int(mark[1])], _expanded(text))


def _expanded(text: str) -> str:
    """The text without the definitions of its own commands, and with what they stand for in their place, on as many lines."""
    parts, end, known, closings = list[str](), 0, dict[str, str](), _closings(text)
    for found in _DEFINED.finditer(text):
        if found.start() >= end and found.end() in closings:
            body, after = _argument(text, found.end(), closings)
            name = found["command"] or found["operator"] or found["plain"]
            is_whole = not found["number"] and "\0" not in body  # without an argument, and code, which may be long
            if name and is_whole and not found[0].startswith("\\re"):  # a command of LaTeX
                known[name] = squeeze(body).replace("\\xspace", "{}")
            parts += (text[end : found.start()], "\n" * text.count("\n", found.start(), after))
            end = after
    text = "".join((*parts, text[end:]))
    used = re.compile(rf"(?<!\\)((?:\\\\)*)\\({'|'.join(sorted(known, key=len, reverse=True))})(?![A-Za-z])(?:\{{\}})?")
    longest = 4 * len(text)  # definitions within definitions could make it endless
    for _ in range(_DEEPEST if known else 0):
        names = used.findall(text)
        if not names or len(text) + sum(len(known[name]) for _, name in names) > longest:
            break
        text = used.sub(lambda use: use[1] + known[use[2]], text)
    return text


def _closings(text: str) -> dict[int, int]:
    """By the offset of each brace that is closed, where that is."""
    opened, closings = list[int](), dict[int, int]()
    for brace in _BRACE.finditer(text):
        if brace[0] == "{":
            opened.append(brace.start())
        elif opened:
            closings[opened.pop()] = brace.start()
    return closings


def _argument(text: str, start: int, closings: Mapping[int, int]) -> tuple[str, int]:
    """The argument in braces at an offset, after an optional one in brackets, and where it ends; nothing if it never does."""
    option = _OPTION.match(text, start)
    begin = option.end() if option else start
    end = closings.get(begin)
    return ("", start) if end is None else (text[begin + 1 : end], end + 1)


class _Reader:
    def __init__(self, text: str, start: int, end: int) -> None:
        self._text, self._at, self._end = text, start, end if end >= 0 else len(text)
        self._closings = _closings(text)
        self._flow = Flow()
        self._notes = 0
        self._lines, self._counted = 1, 0

    def read(self) -> list[Piece]:
        while (match := _STRUCTURE.search(self._text, self._at, self._end)) is not None:
            self._paragraph(self._at, match.start())
            self._at = match.end()
            if match["heading"]:
                place = self._place(match.start())
                text, self._at = _argument(self._text, match.end(), self._closings)
                level = _LEVELS.get(match["heading"], 0)
                kind = BlockKind.HEADING if level else BlockKind.PARAGRAPH
                shown, notes = self._shown(text)
                for piece in (Piece(kind, shown, level), *notes):
                    self._flow.add(replace(piece, place=place))
            elif match["side"]:
                self._environment(match["environment"], match)
            elif not match["gap"]:
                self._flow.item()
                if match["term"] and self._flow.depth:
                    self._flow.term(_plain(match["term"]), self._place(match.start()))
        self._paragraph(self._at, self._end)
        return self._flow.pieces

    def _environment(self, name: str, match: re.Match[str]) -> None:
        begins = match["side"] == "begin"
        if name in _LISTS and begins:
            self._flow.begin_list(ordered=_LISTS[name])
        elif name in _LISTS:
            self._flow.end_list()
        elif begins and name in (*_CODE, *_LEFT_OUT, *_TABLES, *_FORMULAS):
            closing = self._text.find(f"\\end{{{name}", match.end(), self._end)
            end = closing if closing >= 0 else self._end
            if name in _CODE:
                self._flow.code(self._text[match.end() : end].strip("\n"), self._place(match.end()))
            elif name in _TABLES:
                self._table(match.end(), end)
            elif name in _FORMULAS:
                formula = _UNSEEN.sub("", self._text[match.end() : end]).replace("&", "").replace("\\\\", ";")
                self._flow.text(squeeze(_formula(formula)), self._place(match.end()))
            self._at = end

    def _table(self, start: int, end: int) -> None:
        for _ in range(2 if self._text.startswith("{", start) else 0):  # the width of some, and the columns
            if self._text[start : start + 1] in ("{", "["):
                start = _argument(self._text, start, self._closings)[1]
        rows, heads = list[tuple[str, list[TableCell]]](), 0
        for row in re.finditer(r"((?:[^\\]|\\(?!\\))*)(?:\\\\|\Z)", self._text[start:end]):
            if _HEAD_ENDS.search(row[1]) and rows and not heads:
                heads = len(rows)
            written = [(text, _COLUMNS.search(text)) for text in re.split(r"(?<!\\)&", _RULE.sub("", row[1]))]
            cells = [TableCell(squeeze(_plain(text)), columns=int(spans[1]) if spans else 1) for text, spans in written]
            if any(cell.text for cell in cells):
                rows.append((self._place(start + row.start()), cells))
        self._flow.pieces += table_rows(rows, heads)

    def _paragraph(self, start: int, end: int) -> None:
        text = self._text[start:end]
        place = self._place(start + len(text) - len(text.lstrip()))
        text, notes = self._shown(text)
        if text:
            self._flow.text(text, place)
        self._flow.pieces += [replace(note, place=place) for note in notes]

    def _shown(self, text: str) -> tuple[str, list[Piece]]:
        text, notes = _noted(text, self._notes)
        self._notes += len(notes)
        return squeeze(_plain(text)), [Piece(BlockKind.PARAGRAPH, squeeze(_plain(note))) for note in notes]

    def _place(self, at: int) -> str:
        if at >= self._counted:
            self._lines, self._counted = self._lines + self._text.count("\n", self._counted, at), at
        return f"line {self._lines}"


def _plain(text: str) -> str:
    """A text as it is printed, but for formulas."""
    parts, end = list[str](), 0
    for math in _MATH.finditer(text):
        parts += (_prose(text[end : math.start()]), _formula((math[2] if math[1] else math[3]) or ""))
        end = math.end()
    return "".join((*parts, _prose(text[end:]))).strip()


def _noted(text: str, before: int = -1) -> tuple[str, list[str]]:
    """A text with a number for each footnote, and the footnotes after theirs. `before`: the last number; -1: none is shown."""
    notes, parts, end = list[str](), list[str](), 0
    closings = _closings(text)
    for footnote in _FOOTNOTE.finditer(text):
        if footnote.start() >= end and footnote.end() in closings:
            note, after = _argument(text, footnote.end(), closings)
            mark = f"[{before + len(notes) + 1}]"
            notes.append(f"{mark} {note}")
            parts += (text[end : footnote.start()], mark if before >= 0 else "")
            end = after
    return "".join((*parts, text[end:])), notes


def _formula(text: str) -> str:
    return _POWER.sub(r"\1\2", _WORD.sub(lambda word: _WORDS[word[1]], text))


def _accented(found: re.Match[str]) -> str:
    return unicodedata.normalize("NFC", (found[3] or found[4]) + (found[1] or found[2]).translate(_ACCENTS))


def _prose(text: str) -> str:
    text = _LINE_END.sub(" ", _VERBATIM.sub(r"\2", text))  # or the word after it would be taken for a command
    text = _ACCENT.sub(_accented, text)
    text = _UNSEEN.sub("", _FIRST_UNSEEN.sub(r"\\text", _WORD.sub(lambda word: _WORDS[word[1]], text)))
    for _ in range(_DEEPEST):
        text = _SHOWN.sub(r"\1", text)
    return _ESCAPED.sub(lambda escape: escape[1] or _ESCAPES[escape[0]], _COMMAND.sub("", text))
