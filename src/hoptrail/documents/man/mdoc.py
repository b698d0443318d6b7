"""Writes the macros of mdoc(7) that stand within a line, as in `.Op Fl o Ar option`, as words; `macros` reads the others."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar

from hoptrail.text.lexicon import word_set
from hoptrail.text.normal_forms import squeeze

GLUE = "\0"  # on the side of a word on which no space is; text that was decoded has none
_GLUED = re.compile("\1?\0\1?")
_SIGNS = {"B": "[]", "D": "“”", "Q": '""', "S": "‘’", "P": "()", "Br": "{}", "A": "<>"}
"""What macros put around text, by how their names begin: `Bq` around the rest of the line, `Bo` before and `Bc` after it."""
_ENCLOSED = {"Op": "[]", "Ql": "‘’", **{f"{name}q": signs for name, signs in _SIGNS.items()}}
_OPENED = {"Oo": "[", **{f"{name}o": signs[0] for name, signs in _SIGNS.items()}}
_CLOSED = {"Oc": "]", **{f"{name}c": signs[1] for name, signs in _SIGNS.items()}}
_WITHIN = word_set(
    "Ad An Ap Ar At Bsx Bx Cd Cm Dv Dx Ec Em En Eo Er Ev Fa Fc Fl Fn Fo Fr Ft Fx Ic In Li Lk Ms Mt Nd Nm No Ns Nx Ot Ox Pa Pf "
    "Sm St Sx Sy Ta Tn Ux Va Vt Xc Xo Xr"
)
_FIELDS = word_set("%A %B %C %D %I %J %N %O %P %Q %R %T %U %V")
_SILENT = word_set("Bk Ek Db Hf Os Es")
_AT_START = _FIELDS | _SILENT | word_set("Bt Ex Fd Lb Rs Re Rv Ud")  # macros only where they begin a line
MACROS = frozenset((*_ENCLOSED, *_OPENED, *_CLOSED, *_WITHIN, *_AT_START))
_CALLED = MACROS - _AT_START
_BREAKING = word_set("Nm In Ft Fd Cd Vt")  # macros that begin a new line in a synopsis
_CLOSES = frozenset(".,:;)]?!")
_PUNCTUATION = {**{sign: GLUE + sign for sign in _CLOSES}, "(": f"({GLUE}", "[": f"[{GLUE}", "|": "|"}
_LINKS = {"Ns": GLUE, "Ap": f"{GLUE}'{GLUE}", "Ta": f"{GLUE}\t{GLUE}", "Nd": "—"}
"""What stands for a macro between its neighbours."""
_SYSTEMS = {"Ux": "UNIX", "Bsx": "BSD/OS", "Nx": "NetBSD", "Fx": "FreeBSD", "Ox": "OpenBSD", "Dx": "DragonFly"}
_SYSTEMS |= {"At": "AT&T UNIX", "Bx": "BSD"}
_SENTENCES = {
    "Ex": "The {} utility exits 0 on success, and >0 if an error occurs.",
    "Rv": "The {} function returns the value 0 if successful; otherwise the value -1 is returned and errno is set.",
    "Bt": "is currently in beta test.",
    "Ud": "currently under development.",
}


def joined(words: Iterable[str]) -> str:
    """Words with spaces between those that are not glued."""
    return _GLUED.sub("", "\1".join(words)).replace("\1", " ")


def lines_of(words: Iterable[str]) -> str:
    return "\n".join(filter(None, map(squeeze, joined(words).split("\n"))))


class Mdoc:
    """Writes lines of macros. `name` is that of the page, by its first `.Nm`; `in_synopsis`: that section is being read.
    `_listed`: whether there are parts yet of a function (`.Fo`) or a reference (`.Rs`), with commas between them; None elsewhere.
    """

    def __init__(self, visible: Callable[[str], str]) -> None:
        self.name, self.in_synopsis, self.visible = "", False, visible
        self._spaced = True
        self._listed: bool | None = None

    def words(self, parts: Sequence[str]) -> list[str]:
        """The words of a line: a macro, and its arguments, which may be macros."""
        last = next((number for number in range(len(parts), 1, -1) if parts[number - 1] not in _CLOSES), 1)
        words = ["\n"] if self.in_synopsis and parts[0] in _BREAKING else []
        closing: list[str] = []
        at = 0
        while at < last:
            part, at = parts[at], at + 1
            if part in _ENCLOSED:
                words.append(_ENCLOSED[part][0] + GLUE)
                closing.append(GLUE + _ENCLOSED[part][1])
            elif part in _OPENED:
                words.append(_OPENED[part] + GLUE)
            elif part in _CLOSED:
                words.append(GLUE + _CLOSED[part])
            elif part in _CALLED or (at == 1 and part in _AT_START):
                end = next((place for place in range(at, last) if parts[place] in _CALLED), last)
                words += self._macro(part, list(parts[at:end]), followed=end < last)
                at = end
            else:
                words += self.plain([part])
        words += [*reversed(closing), *self.plain(parts[last:])]
        return words if self._spaced else [word + GLUE for word in words]

    def plain(self, parts: Iterable[str], before: str = "") -> list[str]:
        """Arguments, with `before` in front of each; punctuation is glued to its neighbours."""
        return [_PUNCTUATION.get(part) or before + self.visible(part) for part in parts]

    def _macro(self, name: str, given: list[str], *, followed: bool) -> list[str]:
        """A macro with the arguments up to the next one, if one is `followed`."""
        lacks = not given or given[0] in _CLOSES
        if name == "Fl":
            return [*(["-" + GLUE * followed] if lacks else []), *self.plain(given, "-")]
        if name == "Ar" and lacks:
            given = ["file", "...", *given]
        if name == "Nm":
            self.name = self.name or ("" if lacks else self.visible(given[0]))
            given = [self.name, *given] if lacks else given
        if name in self._WRITERS:
            return self._WRITERS[name](self, name, given)
        return self.plain(given) if given[:1] not in (["-nosplit"], ["-split"]) else []

    def _around(self, name: str, given: list[str]) -> list[str]:
        """The beginning or end of a function or a reference, whose parts have commas between them."""
        self._listed = None if name in ("Fc", "Re") else False
        if name == "Fo":
            return [f"{self.visible(' '.join(given))}({GLUE}"]
        return [*{"Fc": [f"{GLUE})"], "Re": [f"{GLUE}."]}.get(name, []), *self.plain(given)]

    def _part(self, name: str, given: list[str]) -> list[str]:
        if self._listed is None:
            return self.plain(given)
        words: list[str] = []
        for one in given if name == "Fa" else [" ".join(given)]:
            words += [f"{GLUE},"] * self._listed + [self.visible(one)]
            self._listed = True
        return words

    def _space(self, _name: str, given: list[str]) -> list[str]:
        self._spaced = "off" not in given
        return [" "]

    def _reference(self, name: str, given: list[str]) -> list[str]:
        """A page with its section, a link with its text before it, a header file, or the name of a standard."""
        if name == "Xr" and len(given) > 1 and given[1] not in _CLOSES:
            given = [f"{given[0]}({given[1]})", *given[2:]]
        elif name == "Lk" and len(given) > 1:
            given = [*given[1:], f"<{given[0]}>"]
        elif name == "In" and given:
            given = [f"#include <{given[0]}>" if self.in_synopsis else f"<{given[0]}>", *given[1:]]
        return self.plain(one.removeprefix("-") if name == "St" else one for one in given)

    def _called(self, name: str, given: list[str]) -> list[str]:
        """A function with its arguments, or a system with its version."""
        end = next((place for place, one in enumerate(given) if one in _CLOSES), len(given))
        first, *others = [*map(self.visible, given[:end])] or [""]
        if name == "Fn":
            shown = f"{first}({', '.join(others)})"
        elif name == "Bx" and first:
            shown = f"{first}BSD{'-' if others else ''}{' '.join(others)}"
        else:
            shown = " ".join(filter(None, (_SYSTEMS[name], first, *others)))
        return [shown, *self.plain(given[end:])]

    def _sentence(self, name: str, given: list[str]) -> list[str]:
        subjects = [self.visible(one) for one in given if one != "-std"] or [self.name]
        return [_SENTENCES[name].format(", ".join(subjects))]

    _WRITERS: ClassVar[dict[str, Callable[[Mdoc, str, list[str]], list[str]]]] = {
        "Pf": lambda mdoc, _, given: [mdoc.visible("".join(given[:1])) + GLUE, *mdoc.plain(given[1:])],
        **dict.fromkeys(_LINKS, lambda mdoc, name, given: [_LINKS[name], *mdoc.plain(given)]),
        **dict.fromkeys(("Fo", "Fc", "Rs", "Re"), _around),
        "Sm": _space,
        **dict.fromkeys(("Fa", *_FIELDS), _part),
        **dict.fromkeys(("Xr", "Lk", "In", "St"), _reference),
        **dict.fromkeys(("Fn", *_SYSTEMS), _called),
        **dict.fromkeys(_SENTENCES, _sentence),
        **dict.fromkeys(_SILENT, lambda *_: []),
    }
