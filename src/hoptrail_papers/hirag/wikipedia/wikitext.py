"""Wikitext as the text that a reader sees, one line a paragraph, heading or list item; and infoboxes as pairs.

mwparserfromhell parses it. Comments, references and tables are removed before, in linear time: they are more than half of a long
page, and their missing end tags would make the parser's time quadratic. Formulas and what the wiki computes are left out.

The text of common templates of the English Wikipedia (dates, measures, lists, wrappers). Only the wiki can expand the others,
which show nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, takewhile
from typing import Any

from hoptrail.text.lexicon import MONTHS, word_set
from hoptrail.text.normal_forms import base_title, folded, squeeze

Arguments = Sequence[str]

_WRAPPERS = """nowrap, nobr, nobold, small, smaller, big, larger, abbr, tooltip, mono, sic, not a typo, visible anchor,
    vanchor, flag, flagcountry, flagu, country, plainlist, plain list, flatlist, nihongo, url, official url, official website,
    won, ill, interlanguage link, ship name, sortname, birth-date, death-date, birth-date and age, death-date and age, em,
    strong, sup, sub"""
_DATES = """birth date, birth date and age, death date, death date and age, start date, start date and age, end date,
    end date and age, film date, birth year and age, bya, dob, release date, launch date, date, dts, birthdate, birthdate and age,
    opening date, death year and age, birth year"""
_SIGNS = {
    "!": "|", "=": "=", "ndash": "–", "mdash": "—", "snd": " – ", "spnd": " – ", "spaced ndash": " – ", "nbsp": " ",
    "circa": "c.", "c.": "c.", "floruit": "fl.", "fl.": "fl.",
}  # fmt: skip


def template_name(written: str) -> str:
    """The normal form of a template's name: without prefix, underscores and differences of case."""
    return squeeze(written.replace("_", " ")).casefold().removeprefix("template:").strip()


def shown(name: str, arguments: Arguments, named: Mapping[str, str]) -> str:
    """The text of the template `name` with its unnamed and `named` arguments; empty if unknown."""
    if name.startswith("formatnum:"):
        return _number(name.removeprefix("formatnum:").strip())
    if name in {"ill", "interlanguage link"} and named.get("lt"):
        return named["lt"]
    show = _SHOWN.get(name)
    return show(arguments) if show and arguments else _SIGNS.get(name, "")


def _number(text: str) -> str:
    whole, point, rest = text.partition(".")
    is_number = whole.removeprefix("-").isdecimal() and len(whole) < 30 and rest.isdecimal() == bool(point)
    return f"{int(whole):,}{point}{rest}" if is_number else text


def _items(arguments: Arguments) -> str:
    return "\n".join(("", *filter(None, arguments), ""))


def _date(arguments: Arguments) -> str:
    """`1956|7|9` is 9 July 1956; an argument that is no number is shown as it is."""
    numbers = [int(argument) for argument in takewhile(str.isdecimal, arguments[:3])]
    if not numbers:
        return arguments[0]
    year, month, day = (*numbers, 0, 0)[:3]
    name = MONTHS[month - 1].capitalize() if 1 <= month <= 12 else ""
    return squeeze(f"{day or ''} {name} {year}") if name else str(year)


def _marriage(arguments: Arguments) -> str:
    years = "–".join(filter(None, arguments[1:3]))
    return f"{arguments[0]} ({years})" if years else arguments[0]


_GROUPS: tuple[tuple[str, Callable[[Arguments], str]], ...] = (
    (_WRAPPERS, lambda arguments: arguments[0]),
    ("lang, langx, color, font color, fontcolor, resize, hover title", lambda arguments: arguments[:2][-1]),
    ("transl, transliteration, script", lambda arguments: arguments[-1]),
    ("ubl, unbulleted list, hlist, bulleted list, ordered list, cslist, comma separated entries", _items),
    (_DATES, _date),
    ("convert, cvt", lambda arguments: " ".join(arguments[:2])),  # `90|m|ft`: as written, not what it is converted to
    ("marriage, married", _marriage),
    ("as of", lambda arguments: f"As of {_date(arguments)}"),
    ("circa, c.", lambda arguments: f"c. {arguments[0]}"),
    ("floruit, fl.", lambda arguments: f"fl. {'–'.join(arguments[:2])}"),
    ("quote, blockquote", lambda arguments: _items(arguments[:1])),
)
_SHOWN = {squeeze(name).casefold(): show for names, show in _GROUPS for name in names.split(",")}


Pair = tuple[str, str]

HEADING = "\x1e"
"""Starts the line of a heading. XML cannot contain it, so no text has it."""

_COMMENT = re.compile(r"<!--|-->")
_REFERENCE = re.compile(r"<ref\b[^<>]*+>|</ref\s*+>", re.IGNORECASE)
_QUOTES = re.compile(r"'{2,}+")
_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1d\x1f\x7f\u00ad\u200e\u200f\ufeff]")
_LEFTOVER = re.compile(r"\{\{|\}\}|\[\[|\]\]|\{\||\|\}|__[A-Z]{3,30}__|</?[a-z]+[^<>]{0,200}>", re.IGNORECASE)
_EMPTY_BRACKETS = re.compile(r"[ ]?\((?:\s*[,;:])*\s*\)")
_BRACKET = re.compile(r"\((?:\s*[,;])+\s*|\(\s+")
_OTHER_LANGUAGE = re.compile(r"[a-z]{2,3}(?:-[a-z]+){0,2}:\S")
_HIDDEN = word_set(
    "ref references gallery math chem timeline score style script imagemap templatestyles table syntaxhighlight source graph "
    "maplink mapframe hiero indicator"
)
_BREAKING = word_set("br li dt dd p div blockquote center hr ul ol dl poem")
_NO_PROSE = {"references", "external links", "further reading", "footnotes", "citations", "notes", "see also"}
_INFOBOXES = ("infobox", "taxobox", "automatic taxobox", "speciesbox", "geobox", "drugbox", "chembox")
_DISAMBIGUATION = word_set(
    "disambiguation disambig disamb dab hndis geodis mil-unit-dis numberdis roaddis schooldis callsigndis"
)
_TEMPLATE = re.compile(r"\{\{\s*+([^{}|<>\[\]\n]{1,80})")
_DATA, _LABEL = re.compile(r"data\s*(\d+)"), re.compile(r"(?:label|header)\s*\d+|above|below|subheader|title")
_LAYOUT = re.compile(
    r"(?:image|img|logo|photo|picture|map|mapframe|pushpin|caption|alt|signature|embed|child|module|footnotes|coordinates|coord"
    r"|bodyclass|bodystyle)(?:[\d_ -].*)?|.*_(?:size|width|alt|caption|upright|style|colou?r|image|map|logo|refs?|footnotes)\d*",
    re.IGNORECASE,
)
_FILE = re.compile(r".*\.(?:jpe?g|png|svg|gif|webp|tiff?|og[gav]|webm|mp3)", re.IGNORECASE)


def lists_namesakes(title: str, wikitext: str) -> bool:
    """Whether a page is a disambiguation page, by the end of its title or by one of its templates."""
    names = (template_name(match[1]).partition(" ")[0] for match in _TEMPLATE.finditer(wikitext))
    return folded(title).endswith("(disambiguation)") or not _DISAMBIGUATION.isdisjoint(names)


def without_unseen(text: str) -> str:
    """`text` without comments, references and tables, even if end tags are missing. Takes linear time."""
    return _without_tables(_without(_REFERENCE, _without(_COMMENT, text, "-->"), "</"))


def _without(marks: re.Pattern[str], text: str, closing: str) -> str:
    """`text` without what stands between an opening mark and the next closing one, and without single marks. An open comment
    hides the rest, as in the wiki; an open reference only its mark.
    """
    parts: list[str] = []
    place, opened = 0, False
    for mark in marks.finditer(text):
        ends = mark[0].startswith(closing)
        if not (ends and opened):
            parts.append(text[place : mark.start()] if not opened or closing == "</" else "")
        opened = not ends and not mark[0].endswith("/>")
        place = mark.end()
    return "".join(parts) + ("" if opened and closing == "-->" else text[place:])


def _without_tables(text: str) -> str:
    """`text` without its tables; one that is not closed ends before the next heading."""
    lines: list[str] = []
    depth = 0
    for line in text.split("\n"):
        stripped = line.lstrip(" :*#\t")
        if stripped.startswith("{|"):
            depth += 1
        elif depth and stripped.startswith("|}") and not stripped.startswith("|}}"):
            depth -= 1
            lines.append("" if depth else stripped[2:])
        elif not depth or line.startswith("=="):
            depth = 0
            lines.append(line)
    return "\n".join(lines)


class Renderer:
    """Renders parsed wikitext. `names` are those of the namespaces whose links show nothing: files and categories."""

    def __init__(self, names: Iterable[str]) -> None:
        self._silent = {folded(name) for name in (*names, "File", "Image", "Media", "Category")}

    def lines(self, code: Any) -> Iterator[str]:
        """The lines of a page, without headings that have no text below and sections that are no prose."""
        pending: list[tuple[int, str]] = []
        hidden = 7
        for line in _paragraphs(self.text(code.nodes)):
            if not line.startswith(HEADING):
                text = _tidy(line.lstrip(" *#:;\t"))
                if text and hidden > 6:
                    yield from (heading for _, heading in pending)
                    yield text
                    pending = []
                continue
            level, name = int(line[1]), _tidy(line[2:])
            pending = [one for one in pending if one[0] < level]
            if level <= hidden:
                hidden = level if folded(name) in _NO_PROSE else 7
            if hidden > 6 and name:
                pending.append((level, name))

    def line(self, code: Any) -> str:
        """A value of an infobox on one line, its items divided by commas."""
        items = (_tidy(line.strip(" *#:;\t")) for line in self.text(code.nodes).split("\n"))
        return squeeze(", ".join(filter(None, items)).replace(",,", ","))

    def text(self, nodes: Iterable[Any]) -> str:
        return "".join(map(self._node, nodes))

    def _node(self, node: Any) -> str:
        match type(node).__name__:
            case "Text":
                return str(node.value)
            case "Wikilink":
                return self._link(node)
            case "ExternalLink":
                return self.text(node.title.nodes) if node.title else ""
            case "HTMLEntity":
                return str(node.normalize() or "")
            case "Heading":
                return f"\n{HEADING}{node.level}{self.text(node.title.nodes)}\n"
            case "Argument":
                return self.text(node.default.nodes) if node.default else ""
            case "Template":
                return self._template(node)
            case "Tag":
                return self._tag(node)
        return ""

    def _link(self, node: Any) -> str:
        title = str(node.title).strip()
        space, colon, _ = title.partition(":")
        if colon and (folded(space) in self._silent or _OTHER_LANGUAGE.match(title)):
            return ""
        return self.text(node.text.nodes) if node.text else title.removeprefix(":").replace("_", " ")

    def _template(self, node: Any) -> str:
        name = template_name(str(node.name))
        if is_infobox(name):
            return ""
        values = [(str(one.name).strip(), self.text(one.value.nodes).strip()) for one in node.params]
        unnamed = [value for key, value in values if key.isdecimal()]
        return shown(name, unnamed, {key: value for key, value in values if not key.isdecimal()})

    def _tag(self, node: Any) -> str:
        name = str(node.tag).strip().lower()
        if name in _HIDDEN:
            return ""
        if node.wiki_markup in {"*", "#", ":", ";", "----"}:
            return str(node.wiki_markup)
        inner = self.text(node.contents.nodes) if node.contents else ""
        return f"\n{inner}\n" if name in _BREAKING else inner

    def pairs(self, nodes: Iterable[Any]) -> Iterator[Pair]:
        """The pairs of the infoboxes among parsed nodes, and of infoboxes within these."""
        for node in nodes:
            if type(node).__name__ == "Template" and is_infobox(template_name(str(node.name))):
                parameters = {str(one.name).strip(): one.value for one in node.params}
                for name, value in parameters.items():
                    yield from self.pairs(value.nodes)
                    key = self._key(name, parameters)
                    text = self.line(value) if key else ""
                    if text and not _FILE.fullmatch(text):
                        yield key, text

    def _key(self, name: str, parameters: dict[str, Any]) -> str:
        """`birth_place` is Birth place, `data1` the value of `label1`; empty for what is layout."""
        if data := _DATA.fullmatch(name):
            label = parameters.get(f"label{data[1]}")
            return "" if label is None else self.line(label).rstrip(":")
        if name.isdecimal() or _LABEL.fullmatch(name) or _LAYOUT.fullmatch(name):
            return ""
        key = squeeze(name.replace("_", " ").replace(":", " "))
        return key[:1].upper() + key[1:]


def _paragraphs(text: str) -> Iterator[str]:
    """Headings, list items and paragraphs, which may have several lines of the markup."""
    paragraph: list[str] = []
    for line in chain(text.split("\n"), [""]):
        alone = line.startswith(("*", "#", ":", ";", HEADING)) or not line.strip()
        if alone and paragraph:
            yield " ".join(paragraph)
            paragraph = []
        if alone:
            yield line
        else:
            paragraph.append(line)


def is_infobox(name: str) -> bool:
    """Whether a template is an infobox, by the beginning or the last word of its name."""
    return name.startswith(_INFOBOXES) or name.endswith(" infobox")


def _tidy(line: str) -> str:
    text = _UNSEEN.sub("", _QUOTES.sub("", line)).replace(HEADING, "")
    text = _EMPTY_BRACKETS.sub("", _LEFTOVER.sub("", text))
    return squeeze(_BRACKET.sub("(", text))


def converted(wikitext: str, names: Sequence[str]) -> tuple[str, list[Pair]]:
    """The text of a page, ended by the pairs of its infoboxes as lines `key: value`, and these pairs."""
    import mwparserfromhell

    renderer = Renderer(names)
    code = mwparserfromhell.parse(wikitext, skip_style_tags=True)
    pairs = list(dict.fromkeys(renderer.pairs(code.nodes)))
    lines = chain(renderer.lines(code), (f"{key}: {value}" for key, value in pairs))
    return "\n\n".join(lines), pairs


def shared_name(title: str) -> str:
    """The name that a title in parentheses shares with others (`Isk (river)`: isk); empty for a title without."""
    base = folded(base_title(title))
    return base if base != folded(title) else ""
