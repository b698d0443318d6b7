"""Reads the language of manual pages: requests with their arguments, conditions, strings, and escapes for fonts and characters.

Nothing is executed, and no other file is opened. Macros that a page defines are not expanded. Of conditions for terminals and
typesetters, the typesetter's branch is read, because there lists are written as lists. `macros` interprets the macros.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field

from hoptrail.documents.limits import Unreadable

_COMMENT = re.compile(r'(?<!\\)((?:\\\\)*)\\["#].*')
_REQUEST = re.compile(r"[.'][ \t]*(?P<name>[^ \t\\]*)[ \t]*(?P<rest>.*)", re.DOTALL)
_ARGUMENT = re.compile(r'"(?P<quoted>(?:[^"\\]|\\\*\(..|\\.?|"")*)(?:"|$)|(?P<bare>(?:[^ \t\\]|\\.|\\$)+)', re.DOTALL)
_DEFINED = frozenset(("de", "de1", "dei", "am", "ami", "am1", "ig"))

_CONDITION = re.compile(
    r"""[ \t]*(?P<negated>!*)(?P<condition>(?:(?P<quote>['"])(?:(?!(?P=quote)).){0,200}(?P=quote)(?:(?!(?P=quote)).){0,200}"""
    r"""(?P=quote)|(?:\\n?[*]?(?:\(..|\[[^\]]{0,100}\]|[^{}])|[^ \t\\]){1,500}))[ \t]*""",
    re.DOTALL,
)
_HOLDING = ("t", "o", r"\n(.g")
"""The conditions that hold: the output is typeset, the page is odd, the program is groff. Others are taken not to hold."""
_ESCAPE = re.compile(
    r"\\(?:s[+-]?(?:\([+-]?\d\d|\[[^\]\n]{0,20}\]|'[^'\n]{0,20}'|[1-3]\d|\d)"
    r"|(?P<drawing>[hvwlLDxobNABHSRXZC])(?P<mark>[^\w\s\\])(?P<drawn>(?:\\w'[^']{0,100}'|(?!(?P=mark)).){0,200})(?P=mark)"
    r"|(?P<kind>[fFmMgkVY*]|n[+-]?|)(?:\[(?P<long>[^\]\n]{0,100})\]|\((?P<two>..)|(?P<one>.|$)))",
    re.DOTALL,
)
"""An escape for a size, a drawing, or what a name in one of three forms says: a font or colour, `*` a string, `n` a number, or
without a letter a character.
"""
_SIGNS = {"e": "\\", "\\": "\\", "t": "\t", "0": " ", "~": " ", **dict.fromkeys("&)|^/,:%!{}durcapz?E", "")}
"""Escapes of one character that stand for another one, or for none; all others stand for themselves."""
_LONGEST_STRING = 1000
"""Characters of a string that a page may define: a string may contain others, and its length double with each line."""


@dataclass(frozen=True, slots=True)
class RoffLine:
    """A line of a page: a macro with what follows it, or without a macro text. `number` counts lines of the file."""

    number: int
    macro: str
    rest: str

    @property
    def place(self) -> str:
        return f"line {self.number}"

    @property
    def given(self) -> list[str]:
        """The arguments of a macro, with their escapes. Quotes keep spaces together, two of them are one."""
        found = _ARGUMENT.finditer(self.rest)
        return [one["bare"] if one["bare"] is not None else one["quoted"].replace('""', '"') for one in found]


@dataclass(slots=True)
class Roff:
    """A page that is read line by line. Strings and names of macros are those defined so far."""

    strings: dict[str, str] = field(default_factory=lambda: dict(_STRINGS))
    defined: set[str] = field(default_factory=set)

    def lines(self, text: str) -> Iterator[RoffLine]:
        """Yield the lines with text and macros in order, without comments, definitions and branches that do not apply."""
        source = _joined(text)
        branches: list[bool] = []
        for number, written in source:
            line = written
            while (request := _REQUEST.fullmatch(line)) is not None:
                name, rest = request["name"], request["rest"]
                if name in {"if", "ie", "el", "while"}:
                    holds, line = self._condition(name, rest, branches)
                    if not holds:
                        _skip_block(line, source)
                        break
                    line = line.removeprefix("\\{").lstrip(" \t") or "."
                    continue
                if name in _DEFINED:
                    given = RoffLine(number, name, rest).given
                    self.defined.update(given[:1])
                    mark = next(iter(given[name != "ig" :]), ".")
                    end = re.compile(rf"[.'][ \t]*{re.escape(mark)}(?:[ \t]|$)")
                    next((one for one in source if end.match(one[1])), None)
                elif name in {"ds", "ds1", "as", "as1"}:
                    self._define(name, rest)
                elif name:
                    yield RoffLine(number, name, rest.replace("\\}", ""))
                break
            else:
                yield RoffLine(number, "", line.replace("\\}", ""))

    def _condition(self, name: str, rest: str, branches: list[bool]) -> tuple[bool, str]:
        """Whether the branch applies, and what follows the condition."""
        if name == "el":
            return not (branches.pop() if branches else True), rest
        match = _CONDITION.match(rest)
        holds = match is not None and (match["condition"] in _HOLDING) != (len(match["negated"]) % 2 == 1)
        branches += [holds] if name == "ie" else []
        return holds and name != "while", rest[match.end() :] if match is not None else rest

    def _define(self, request: str, rest: str) -> None:
        name, _, value = rest.partition(" ")
        before = self.strings.get(name, "") if request.startswith("as") else ""
        self.strings[name] = before + self.visible(value.lstrip(" \t").removeprefix('"'))
        if len(self.strings[name]) > _LONGEST_STRING:
            raise Unreadable(f"defines a string of more than {_LONGEST_STRING} characters")

    def visible(self, text: str) -> str:
        """The text without its escapes, or with what they stand for."""
        return _ESCAPE.sub(self._escape, text) if "\\" in text else text

    def _escape(self, match: re.Match[str]) -> str:
        if match["drawing"]:
            return _drawn(match["drawing"], match["drawn"])
        name = match["long"] or match["two"] or match["one"] or ""
        if match["kind"] == "":
            return _SIGNS.get(name, name) if match["one"] is not None else _glyph_of(name)
        if match["kind"] == "*":
            return self.strings.get(name, "")
        return "0" if (match["kind"] or "").startswith("n") else ""


def _joined(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines without comments, with their numbers. A backslash at the end continues a line."""
    parts: list[str] = []
    start = 1
    for number, line in enumerate([*text.split("\n"), None], 1):
        bare = _COMMENT.sub(r"\1", line or "")
        start = start if parts else number
        if line is not None and bare == line and (len(line) - len(line.rstrip("\\"))) % 2:
            parts.append(line[:-1])
        elif parts or bare or line == "":
            yield start, "".join([*parts, bare])
            parts = []


def _skip_block(line: str, source: Iterator[tuple[int, str]]) -> None:
    """Skip the lines of a block that begins in `line`, if one does."""
    depth = line.count("\\{") - line.count("\\}")
    while depth > 0 and (following := next(source, None)) is not None:
        depth += following[1].count("\\{") - following[1].count("\\}")


def _drawn(name: str, argument: str) -> str:
    """What a drawing leaves in the text: a space for a move to the right, characters that are set over each other."""
    if name == "h":
        return " " if re.match(r"\+?0*[1-9]", argument) else ""
    if name == "N":
        return chr(int(argument)) if re.fullmatch(r"\d{1,3}", argument) else ""
    return _glyph_of(argument) if name == "C" else argument if name in "oZ" else ""


_PAIRS = r"""
    bu • co © rg ® tm ™ em — en – hy - mi − pl + mu × di ÷ +- ± -+ ∓ eq = == ≡ != ≠ <= ≤ >= ≥ ~~ ≈ ~= ≅ ap ∼ |= ≃ cq ’ oq ‘
    aq ' dq " lq “ rq ” Fo « Fc » fo ‹ fc › Bq „ bq ‚ ga ` aa ´ ha ^ ti ~ rs \ sl / ul _ ru _ br │ bv │ ba | or | bb ¦ sh #
    at @ Do $ ct ¢ Po £ Ye ¥ Cs ¤ Eu € eu € Fn ƒ lB [ rB ] lC { rC } la ⟨ ra ⟩ <- ← -> → <> ↔ ua ↑ da ↓ va ↕ lA ⇐ rA ⇒ hA ⇔
    uA ⇑ dA ⇓ de ° sc § ps ¶ dg † dd ‡ ci ○ sq □ bx ▪ lh ☜ rh ☞ OK ✓ CR ↵ if ∞ in ∞ pd ∂ gr ∇ is ∫ sum ∑ product ∏ sr √ mo ∈
    nm ∉ sb ⊂ nb ⊄ sp ⊃ ib ⊆ ip ⊇ ca ∩ cu ∪ fa ∀ te ∃ AN ∧ OR ∨ no ¬ tno ¬ 12 ½ 14 ¼ 34 ¾ S1 ¹ S2 ² S3 ³ Of ª Om º md ⋅ pc ·
    ** ∗ fm ′ sd ″ mc µ pp ⊥ es ∅ tf ∴ 3d ∴ pt ∝ c+ ⊕ c* ⊗ %0 ‰ r! ¡ r? ¿ ss ß AE Æ ae æ OE Œ oe œ /O Ø /o ø -D Ð Sd ð TP Þ
    Tp þ /L Ł /l ł .i ı .j ȷ ff ff fi fi fl fl Fi ffi Fl ffl IJ Ĳ ij ĳ rn ‾ radicalex ‾ lf ⌊ rf ⌋ lc ⌈ rc ⌉ f/ ⁄ CL ♣ SP ♠
    HE ♥ DI ♦ lz ◊ a- ¯ a. ˙ a^ ^ a~ ~ ac ¸ ad ¨ ah ˇ ao ˚ ab ˘ ho ˛ *A Α *B Β *G Γ *D Δ *E Ε *Z Ζ *Y Η *H Θ *I Ι *K Κ *L Λ
    *M Μ *N Ν *C Ξ *O Ο *P Π *R Ρ *S Σ *T Τ *U Υ *F Φ *X Χ *Q Ψ *W Ω *a α *b β *g γ *d δ *e ε *z ζ *y η *h θ *i ι *k κ *l λ
    *m μ *n ν *c ξ *o ο *p π *r ρ *s σ *t τ *u υ *f ϕ *x χ *q ψ *w ω +h ϑ +f φ ts ς
"""
"""Name and character in turns, as groff_char(7) lists them."""
_PREDEFINED = """
    lq “ rq ” R ® Tm ™ Lq “ Rq ” Aq ' Le ≤ Ge ≥ Lt < Gt > Ne ≠ Pm ± If ∞ Pi π Na NaN Ba | Am & q "
"""
_GLYPHS: dict[str, str] = dict(zip(_PAIRS.split()[::2], _PAIRS.split()[1::2], strict=True))
_STRINGS: dict[str, str] = dict(zip(_PREDEFINED.split()[::2], _PREDEFINED.split()[1::2], strict=True))
"""Strings that every page may use."""
_ACCENTS = dict(zip("'`^:~,ovc", "\u0301\u0300\u0302\u0308\u0303\u0327\u030a\u030c\u0327", strict=True))
"""The first character of the name of a letter with an accent, such as `'e`."""


def _glyph_of(name: str) -> str:
    """The character with this name; U+FFFD if there is none."""
    if name in _GLYPHS:
        return _GLYPHS[name]
    if re.fullmatch(r"u[0-9A-F]{4,6}(?:_[0-9A-F]{4,6}){0,4}", name):
        codes = [int(code, 16) for code in name[1:].split("_")]
        return unicodedata.normalize("NFC", "".join(chr(code) for code in codes if code <= 0x10FFFF))
    if re.fullmatch(r"char\d{1,3}", name):
        return chr(int(name[4:]))
    if len(name) == 2 and name[0] in _ACCENTS and name[1].isalpha():
        return unicodedata.normalize("NFC", name[1] + _ACCENTS[name[0]])
    return name if len(name) == 1 else "\N{REPLACEMENT CHARACTER}"
