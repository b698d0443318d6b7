"""Writes the macros of mdoc(7) that stand within a line, as in `.Op Fl o Ar option`, and the words of a paragraph.

`man_parser` reads the macros that begin a paragraph, a list or an example.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from hoptrail.text.lexicon import word_set
from hoptrail.text.normal_forms import squeeze

_SIGNS = {"B": "[]", "D": "“”", "Q": '""', "S": "‘’", "P": "()", "Br": "{}", "A": "<>"}
"""What macros put around text, by how their names begin: `Bq` around the rest of the line, `Bo` before and `Bc` after it."""
_ENCLOSED = {"Op": "[]", "Ql": "‘’", "En": "  ", **{f"{name}q": signs for name, signs in _SIGNS.items()}}
_OPENED = {"Oo": "[", "Xo": "", "Eo": "", **{f"{name}o": signs[0] for name, signs in _SIGNS.items()}}
_CLOSED = {"Oc": "]", "Xc": "", "Ec": "", **{f"{name}c": signs[1] for name, signs in _SIGNS.items()}}
_WITHIN = word_set(
    "Ad An Ap Ar At Bsx Bx Cd Cm Dv Dx Em Er Ev Fa Fc Fl Fn Fo Fr Ft Fx Ic In Li Lk Ms Mt Nd Nm No Ns Nx Ot Ox Pa Pf Sm St Sx "
    "Sy Ta Tn Ux Va Vt Xr"
)
_FIELDS = word_set("%A %B %C %D %I %J %N %O %P %Q %R %T %U %V")
_SILENT = word_set("Bk Ek Db Hf Os Es")
_AT_START = _FIELDS | _SILENT | word_set("Bt Ex Fd Lb Rs Re Rv Ud")
"""Macros only where they begin a line."""
MACROS = frozenset((*_ENCLOSED, *_OPENED, *_CLOSED, *_WITHIN, *_AT_START))
_CALLED = MACROS - _AT_START
_BREAKING = word_set("Nm In Ft Fd Cd Vt")
"""Macros that begin a new line in a synopsis."""
_CLOSES, _OPENS = frozenset(".,:;)]?!"), frozenset("([")
_TABS = re.compile(r"\t[\t ]*")
_SYSTEMS = {"Ux": "UNIX", "Bsx": "BSD/OS", "Nx": "NetBSD", "Fx": "FreeBSD", "Ox": "OpenBSD", "Dx": "DragonFly"}
_SYSTEMS |= {"At": "AT&T UNIX", "Bx": "BSD"}
_SENTENCES = {
    "Ex": "The {} utility exits 0 on success, and >0 if an error occurs.",
    "Rv": "The {} function returns the value 0 if successful; otherwise the value -1 is returned and errno is set.",
    "Bt": "is currently in beta test.",
    "Ud": "currently under development.",
}


@dataclass(slots=True)
class Words:
    """The words of a paragraph so far. `glued`: the next is written without a space before it. `spaced`: all others with one."""

    glued: bool = True
    spaced: bool = True
    _parts: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self._parts)

    def add(self, text: str, *, glue: bool = False, glued: bool = False) -> None:
        """Add text; `glue` without a space before it, `glued` without one after it."""
        if text:
            self._parts += [text] if glue or self.glued else [" ", text]
        self.glued = glued or not self.spaced

    def break_line(self) -> None:
        """Begin a new line if there are words."""
        if self._parts:
            self._parts.append("\n")
        self.glued = True

    def take(self) -> str:
        """The words, which are then gone. Spaces are single."""
        lines = "".join(self._parts).split("\n")
        self._parts, self.glued = [], True
        return "\n".join(filter(None, map(squeeze, lines)))

    def take_rows(self) -> list[list[str]]:
        """The words if they are lines with equally many cells between tabs, else none."""
        lines = [line for line in "".join(self._parts).split("\n") if line.strip()]
        rows = [[squeeze(cell) for cell in _TABS.split(line.strip())] for line in lines]
        if len(rows) < 2 or len(rows[0]) < 2 or len({len(row) for row in rows}) > 1:
            return []
        self.take()
        return rows

    def take_cells(self) -> list[str]:
        cells = "".join(self._parts).split("\t")
        self._parts, self.glued = [], True
        return [squeeze(cell) for cell in cells]


class Mdoc:
    """Writes lines of macros. `name` is that of the page, by its first `.Nm`; `in_synopsis`: that section is being read."""

    def __init__(self, visible: Callable[[str], str]) -> None:
        self.name = ""
        self.in_synopsis = False
        self._visible = visible
        self._parameters = -1
        """Arguments so far of a function between `.Fo` and `.Fc`; -1 elsewhere."""
        self._references = -1
        """Fields so far of a reference between `.Rs` and `.Re`; -1 elsewhere."""
        self._writers: dict[str, Callable[[str, Sequence[str], Words], None]] = {
            "Nm": self._page_name,
            "Xr": self._page_reference,
            "Pf": self._prefix,
            **dict.fromkeys(("Ns", "Ap", "Ta", "Nd", "Sm"), self._space),
            **dict.fromkeys(("Fn", "Fo", "Fa", "Fc"), self._function),
            **dict.fromkeys(("Lk", "In", "St"), self._address),
            **dict.fromkeys(_SYSTEMS, self._system),
            **dict.fromkeys(_SENTENCES, self._sentence),
            **dict.fromkeys(("Rs", "Re", *_FIELDS), self._field),
            **dict.fromkeys(_SILENT, lambda _name, _given, _words: None),
        }

    def write(self, parts: Sequence[str], words: Words) -> None:
        """Write a line: a macro, and its arguments, which may be macros."""
        last = len(parts)
        while last > 1 and parts[last - 1] in _CLOSES:
            last -= 1
        if self.in_synopsis and parts[0] in _BREAKING:
            words.break_line()
        closing: list[str] = []
        at = 0
        while at < last:
            part, at = parts[at], at + 1
            if part in _ENCLOSED:
                words.add(_ENCLOSED[part][0].strip(), glued=True)
                closing.append(_ENCLOSED[part][1].strip())
            elif part in _OPENED:
                words.add(_OPENED[part], glued=bool(_OPENED[part]) or words.glued)
            elif part in _CLOSED:
                words.add(_CLOSED[part], glue=True)
            elif part in _CALLED or (at == 1 and part in _AT_START):
                end = next((place for place in range(at, last) if parts[place] in _CALLED), last)
                self._macro(part, parts[at:end], words, followed=end < last)
                at = end
            else:
                self.plain([part], words)
        for sign in reversed(closing):
            words.add(sign, glue=True)
        self.plain(parts[last:], words)

    def plain(self, parts: Sequence[str], words: Words, before: str = "") -> None:
        """Write arguments, with `before` in front of each; punctuation is joined to its neighbours."""
        for part in parts:
            if part in _CLOSES:
                words.add(part, glue=True)
            elif part in _OPENS or part == "|":
                words.add(part, glued=part != "|")
            else:
                words.add(before + self._visible(part))

    def _macro(self, name: str, given: Sequence[str], words: Words, *, followed: bool) -> None:
        """Write a macro with the arguments up to the next one."""
        lacks = not given or given[0] in _CLOSES
        if name == "Fl":
            if lacks:
                words.add("-", glued=followed)
            self.plain(given, words, "-")
        elif name == "Ar" and lacks:
            self.plain(["file", "...", *given], words)
        elif name in self._writers:
            self._writers[name](name, given, words)
        elif given[:1] not in (["-nosplit"], ["-split"]):
            self.plain(given, words)

    def _page_name(self, _name: str, given: Sequence[str], words: Words) -> None:
        lacks = not given or given[0] in _CLOSES
        self.name = self.name or ("" if lacks else self._visible(given[0]))
        self.plain([self.name, *given] if lacks else given, words)

    def _page_reference(self, _name: str, given: Sequence[str], words: Words) -> None:
        has_section = len(given) > 1 and given[1] not in _CLOSES
        self.plain([f"{given[0]}({given[1]})", *given[2:]] if has_section else given, words)

    def _prefix(self, _name: str, given: Sequence[str], words: Words) -> None:
        """Write an argument without a space after it."""
        words.add(self._visible("".join(given[:1])), glued=True)
        self.plain(given[1:], words)

    def _space(self, name: str, given: Sequence[str], words: Words) -> None:
        """Write what stands for the macro, and set whether spaces follow."""
        if name == "Sm":
            words.spaced = "off" not in given
            words.glued = False
            return
        glue = name != "Nd"
        words.add({"Ap": "'", "Ta": "\t", "Nd": "—"}.get(name, ""), glue=glue, glued=glue)
        self.plain(given, words)

    def _address(self, name: str, given: Sequence[str], words: Words) -> None:
        """Write a link with its text before it, a header file, or a standard."""
        if name == "Lk" and len(given) > 1:
            self.plain([*given[1:], f"<{given[0]}>"], words)
        elif name == "In" and given:
            self.plain([f"#include <{given[0]}>" if self.in_synopsis else f"<{given[0]}>", *given[1:]], words)
        else:
            self.plain([one.removeprefix("-") if name == "St" else one for one in given], words)

    def _sentence(self, name: str, given: Sequence[str], words: Words) -> None:
        subjects = [self._visible(one) for one in given if one != "-std"] or [self.name]
        words.add(_SENTENCES[name].format(", ".join(subjects)))

    def _field(self, name: str, given: Sequence[str], words: Words) -> None:
        """Write a field of a reference to a book, with a comma before it unless it is the first; at the end a full stop."""
        if name in {"Rs", "Re"}:
            self._references = 0 if name == "Rs" else -1
            words.add("." if name == "Re" else "", glue=True)
            return
        words.add("," if self._references > 0 else "", glue=True)
        self._references += self._references >= 0
        self.plain(given, words)

    def _function(self, name: str, given: Sequence[str], words: Words) -> None:
        """`.Fn name argument ...`, or `.Fo name`, `.Fa argument` and `.Fc`: a function with its arguments in brackets."""
        if name == "Fn" and given:
            end = next((place for place, one in enumerate(given) if one in _CLOSES), len(given))
            words.add(f"{self._visible(given[0])}({', '.join(map(self._visible, given[1:end]))})")
            self.plain(given[end:], words)
        elif name == "Fo":
            words.add(f"{self._visible(' '.join(given))}(", glued=True)
            self._parameters = 0
        elif name == "Fc":
            words.add(")", glue=True)
            self.plain(given, words)
            self._parameters = -1
        elif self._parameters < 0:
            self.plain(given, words)
        else:
            for one in given:
                words.add("," if self._parameters else "", glue=True, glued=not self._parameters)
                words.add(self._visible(one))
                self._parameters += 1

    def _system(self, name: str, given: Sequence[str], words: Words) -> None:
        end = next((place for place, one in enumerate(given) if one in _CLOSES), len(given))
        version = [self._visible(one) for one in given[:end]]
        if name == "Bx" and version:
            words.add(f"{version[0]}BSD{'-' if version[1:] else ''}{' '.join(version[1:])}")
        else:
            words.add(" ".join([_SYSTEMS[name], *version]))
        self.plain(given[end:], words)
