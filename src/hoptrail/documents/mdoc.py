"""Writes the macros of mdoc(7) that stand within a line, as in `.Op Fl o Ar option`, and the words of a paragraph.

`man` reads the macros that begin a paragraph, a list or an example.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from hoptrail.text.lexicon import word_set
from hoptrail.text.normal_forms import squeeze

_ENCLOSED = {"Op": "[]", "Bq": "[]", "Dq": "“”", "Qq": '""', "Sq": "‘’", "Ql": "‘’", "Pq": "()", "Brq": "{}", "Aq": "<>", "En": "  "}
"""Macros that enclose the rest of their line."""
_OPENED = {"Oo": "[", "Bo": "[", "Do": "“", "Qo": '"', "So": "‘", "Po": "(", "Bro": "{", "Ao": "<", "Xo": "", "Eo": ""}
_CLOSED = {"Oc": "]", "Bc": "]", "Dc": "”", "Qc": '"', "Sc": "’", "Pc": ")", "Brc": "}", "Ac": ">", "Xc": "", "Ec": ""}
_WITHIN = word_set(
    "Ad An Ap Ar At Bsx Bx Cd Cm Dv Dx Em Er Es Ev Fa Fc Fl Fn Fo Fr Ft Fx Ic In Li Lk Ms Mt Nd Nm No Ns Nx Ot Ox Pa Pf Sm St Sx Sy "
    "Ta Tn Ux Va Vt Xr"
)
_AT_START = word_set("Bk Bt Db Ek Ex Fd Hf Lb Os Rs Re Rv Ud %A %B %C %D %I %J %N %O %P %Q %R %T %U %V")
"""Macros only where they begin a line."""
MACROS = frozenset((*_ENCLOSED, *_OPENED, *_CLOSED, *_WITHIN, *_AT_START))
_CALLED = MACROS - _AT_START
_BREAKING = word_set("Nm In Ft Fd Cd Vt")
"""Macros that begin a new line in a synopsis."""
_CLOSES, _OPENS = frozenset(".,:;)]?!"), frozenset("([")
_SYSTEMS = {"Ux": "UNIX", "Bsx": "BSD/OS", "Nx": "NetBSD", "Fx": "FreeBSD", "Ox": "OpenBSD", "Dx": "DragonFly", "At": "AT&T UNIX", "Bx": "BSD"}
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
        return "\n".join(squeezed for line in lines if (squeezed := squeeze(line)))

    def take_cells(self) -> list[str]:
        """The words between tabs."""
        cells = "".join(self._parts).split("\t")
        self._parts, self.glued = [], True
        return [squeeze(cell) for cell in cells]


@dataclass(slots=True)
class Mdoc:
    """Writes lines of macros. `name` is that of the page, by its first `.Nm`; `in_synopsis` whether that section is being read."""

    visible: Callable[[str], str]
    name: str = ""
    in_synopsis: bool = False
    _parameters: int = -1
    _references: int = -1

    def write(self, tokens: Sequence[str], words: Words) -> None:
        """Write a line: a macro, and its arguments, which may be macros."""
        last = len(tokens)
        while last > 1 and tokens[last - 1] in _CLOSES:
            last -= 1
        if self.in_synopsis and tokens[0] in _BREAKING:
            words.break_line()
        closing: list[str] = []
        at = 0
        while at < last:
            token, at = tokens[at], at + 1
            if token in _ENCLOSED:
                words.add(_ENCLOSED[token][0].strip(), glued=True)
                closing.append(_ENCLOSED[token][1].strip())
            elif token in _OPENED:
                words.add(_OPENED[token], glued=bool(_OPENED[token]) or words.glued)
            elif token in _CLOSED:
                words.add(_CLOSED[token], glue=True)
            elif token in _CALLED or (at == 1 and token in _AT_START):
                end = next((place for place in range(at, last) if tokens[place] in _CALLED), last)
                self._macro(token, tokens[at:end], words, followed=end < last)
                at = end
            else:
                self.plain([token], words)
        for sign in reversed(closing):
            words.add(sign, glue=True)
        self.plain(tokens[last:], words)

    def plain(self, tokens: Sequence[str], words: Words, before: str = "") -> None:
        """Write arguments, with `before` in front of each; punctuation is joined to its neighbours."""
        for token in tokens:
            if token in _CLOSES:
                words.add(token, glue=True)
            elif token in _OPENS or token == "|":
                words.add(token, glued=token != "|")
            else:
                words.add(before + self.visible(token))

    def _macro(self, name: str, given: Sequence[str], words: Words, *, followed: bool) -> None:
        """Write a macro with the arguments up to the next one."""
        lacks = not given or given[0] in _CLOSES
        if name == "Fl":
            if lacks:
                words.add("-", glued=followed)
            self.plain(given, words, "-")
        elif name == "Nm":
            self.name = self.name or ("" if lacks else self.visible(given[0]))
            self.plain([self.name, *given] if lacks else given, words)
        elif name == "Ar":
            self.plain(["file", "...", *given] if lacks else given, words)
        elif name in {"Ns", "Ap"}:
            words.add("'" if name == "Ap" else "", glue=True, glued=True)
            self.plain(given, words)
        elif name == "Pf" and given:
            words.add(self.visible(given[0]), glued=True)
            if len(given) > 1:
                self.plain(given[1:], words)
            words.glued = len(given) == 1
        elif name in {"Fn", "Fo", "Fa", "Fc"}:
            self._function(name, given, words)
        elif name == "Sm":
            words.spaced = "off" not in given
            words.glued = False
        elif name == "Ta":
            words.add("\t", glue=True, glued=True)
            self.plain(given, words)
        elif name == "Xr" and len(given) > 1 and given[1] not in _CLOSES:
            self.plain([f"{given[0]}({given[1]})", *given[2:]], words)
        else:
            self._name(name, given, words)

    def _name(self, name: str, given: Sequence[str], words: Words) -> None:
        if name == "Nd":
            words.add("—")
            self.plain(given, words)
        elif name == "Lk" and len(given) > 1:
            self.plain([*given[1:], f"<{given[0]}>"], words)
        elif name == "In" and given:
            self.plain([f"#include <{given[0]}>" if self.in_synopsis else f"<{given[0]}>", *given[1:]], words)
        elif name in _SYSTEMS:
            self._system(name, given, words)
        elif name in _SENTENCES:
            subjects = [self.visible(one) for one in given if one != "-std"] or [self.name]
            words.add(_SENTENCES[name].format(", ".join(subjects)))
        elif name in {"Rs", "Re"}:
            self._references = 0 if name == "Rs" else -1
            words.add("." if name == "Re" else "", glue=True)
        elif name.startswith("%"):
            words.add("," if self._references > 0 else "", glue=True)
            self._references += self._references >= 0
            self.plain(given, words)
        elif name not in {"Bk", "Ek", "Db", "Hf", "Os", "Es"} and given[:1] not in (["-nosplit"], ["-split"]):
            self.plain([one.removeprefix("-") if name == "St" else one for one in given], words)

    def _function(self, name: str, given: Sequence[str], words: Words) -> None:
        """`.Fn name argument ...`, or `.Fo name`, `.Fa argument` and `.Fc`: a function with its arguments in brackets."""
        if name == "Fn" and given:
            end = next((place for place, token in enumerate(given) if token in _CLOSES), len(given))
            words.add(f"{self.visible(given[0])}({', '.join(map(self.visible, given[1:end]))})")
            self.plain(given[end:], words)
        elif name == "Fo":
            words.add(f"{self.visible(' '.join(given))}(", glued=True)
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
                words.add(self.visible(one))
                self._parameters += 1

    def _system(self, name: str, given: Sequence[str], words: Words) -> None:
        end = next((place for place, token in enumerate(given) if token in _CLOSES), len(given))
        version = [self.visible(one) for one in given[:end]]
        if name == "Bx" and version:
            words.add(f"{version[0]}BSD{'-' if version[1:] else ''}{' '.join(version[1:])}")
        else:
            words.add(" ".join([_SYSTEMS[name], *version]))
        self.plain(given[end:], words)
