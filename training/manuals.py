"""Generates pages of manuals: options, variables, directives and commands with their effects, defaults and versions.

Questions use other words than the page, like people who do not know the name yet. No line is from a real manual.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from training.examples import Example, answered_at

_VERBS = [
    verb.split(",")
    for verb in (
        "limit,limits,restrict,cap|set,sets,choose,define|print,prints,show,display|skip,skips,leave out,ignore|"
        "store,stores,save,keep|verify,verifies,check,test|delete,deletes,remove,get rid of|disable,disables,turn off,switch off|"
        "enable,enables,turn on,allow|compress,compresses,pack,shrink|encrypt,encrypts,protect,cipher|read,reads,load,take in|"
        "write,writes,put out,log|copy,copies,duplicate,mirror|list,lists,enumerate,see all|update,updates,refresh,renew|"
        "restart,restarts,start again,reload|rename,renames,give another name to,change the name of"
    ).split("|")
]
"""Each with its form for a thing, and other words for it."""
_OBJECTS = (
    ("the number of parallel connections", "how many connections are open at once", "connections"),
    ("the size of the cache", "how big the cache gets", "cache-size"),
    ("symbolic links", "symlinks", "links"),
    ("hidden files", "files whose names begin with a dot", "hidden"),
    ("the names of changed files", "which files changed", "names"),
    ("progress messages", "the progress output", "progress"),
    ("the bandwidth of uploads", "the upload speed", "upload"),
    ("passwords of all users", "user passwords", "passwd"),
    ("the debug log", "debugging output", "debug"),
    ("file permissions", "the mode of files", "perms"),
    ("temporary files", "scratch files", "tmp"),
    ("the checksum of each block", "block checksums", "checksum"),
    ("old snapshots", "snapshots that are no longer needed", "prune"),
    ("the clock", "the system time", "clock"),
    ("the list of servers", "all known servers", "servers"),
    ("broken packages", "packages that are damaged", "broken"),
    ("the colour of the output", "output colours", "color"),
    ("warnings about the configuration", "configuration warnings", "warnings"),
    ("the time to wait for a reply", "the timeout of replies", "timeout"),
    ("the key file", "the file with the key", "keyfile"),
    ("records older than a week", "week-old records", "expire"),
    ("the address to listen on", "the listening address", "listen"),
    ("mails in the queue", "queued mail", "queue"),
    ("the history of commands", "the command history", "history"),
    ("the layout of the keyboard", "the keyboard layout", "keymap"),
    ("remote branches", "branches on the server", "remote"),
    ("duplicate lines", "repeated lines", "unique"),
    ("the owner of new files", "who owns new files", "owner"),
    ("the encoding of names", "the character set of names", "encoding"),
    ("swap space", "the swap area", "swap"),
    ("the priority of the process", "how nice the process is", "nice"),
    ("comments in the source", "source comments", "comments"),
    ("the index of the archive", "the archive's index", "index"),
    ("empty directories", "folders with nothing in them", "empty"),
)
_WHEN = "|||| at startup| during a restore| before each run| for every user| when the disk is full".split("|")
_TOOLS = ("backup", "sync", "netd", "mailer", "pack", "mirror", "watch", "render", "vault", "queue", "clean", "build")
_VALUES = (
    "5", "10", "64 MiB", "30 seconds", "no", "yes", "auto", "16", "1 hour", "0.5", "never", "UTF-8", "4096", "weekly",
)  # fmt: skip
_WORDS = (
    "max", "no", "with", "fast", "all", "keep", "use", "force", "extra", "main", "alt", "raw", "safe", "local", "full",
)  # fmt: skip
_KINDS = {"option": "option", "flag": "option", "environment variable": "variable", "variable": "variable"}
_KINDS |= {"setting": "directive", "directive": "directive", "command": "command", "configuration option": "directive"}

_NAMED_BY = (
    "Which {kind} {does} {what}?|What {kind} {does} {what}?|{kind} to {do} {what}|how do i {do} {what}|"
    "How can I {do} {what} with {tool}?|Which {kind} makes {tool} {do} {what}?|What is the name of the {kind} to {do} {what}?"
).split("|")
_DOES = ["What does {name} do?", "What is {name} for?", "what does the {kind} {name} do", "{name} meaning"]
_DEFAULTS = "What is the default of {name}?|{name} default|default value of {name}|What is {name} by default?".split(
    "|"
)
_SINCE = "Since which version is there {name}?|In which version of {tool} was {name} added?|{name} since version".split(
    "|"
)
_LINES = (
    "{name}\n{Does} {what}{when}.|{name}: {does} {what}{when}.|{name}  {Do} {what}{when}.|Use {name} to {do} {what}{when}.|"
    "With {name}, {tool} {does} {what}{when}.|If {name} is given, {tool} {does} {what}{when}.|To {do} {what}{when}, give {name}.|"
    "Name: {name}; Description: {does} {what}{when}|The {kind} {name} {does} {what}{when}."
).split("|")

Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Entry:
    """One entry of a manual; `said` and `asked` are its object in the manual's words and in other words."""

    kind: str
    name: str
    do: str
    does: str
    other: str
    said: str
    asked: str
    default: str
    since: str


@dataclass(frozen=True, slots=True)
class _Block:
    """The text about one entry, and the positions of its name, effect, default and version (None: absent)."""

    text: str
    name: Place
    does: Place
    default: Place | None
    since: Place | None


def manual(draw: random.Random) -> Example:
    """A question about one entry of a generated manual; in one of six cases about an entry that is missing."""
    tool = draw.choice(_TOOLS) + draw.choice(("", "ctl", "-ng", "d", "2"))
    entries = _entries(draw.randint(2, 6), tool, draw)
    line = draw.choice(_LINES)
    blocks = [_written(entry, line, tool, draw) for entry in entries]
    heading = draw.choice(("", f"{tool} manual\n", f"{tool}\nOPTIONS\n", "Configuration\n", f"{tool} > Usage\n"))
    between = draw.choice(("\n", "\n", " "))
    order = draw.sample(blocks, len(blocks))
    question, place = _asked(entries[0], blocks[0], tool, draw)
    if draw.random() < 0.17:
        order.remove(blocks[0])
        place = None
    text = heading + between.join(block.text for block in order)
    if place is None:
        return Example("made.manuals", question, text, answered=False, helps=False)
    at = order.index(blocks[0])
    begin = len(heading) + sum(len(block.text) + len(between) for block in order[:at])
    return answered_at("made.manuals", question, text, begin + place[0], begin + place[1])


def _entries(count: int, tool: str, draw: random.Random) -> list[_Entry]:
    found: list[_Entry] = []
    for said, asked, word in draw.sample(_OBJECTS, count):
        do, does, *others = draw.choice(_VERBS)
        kind = draw.choice(list(_KINDS))
        parts = [draw.choice(_WORDS), word] if draw.random() < 0.6 else [word, draw.choice(_WORDS)]
        name = _name(_KINDS[kind], "-".join(parts if draw.random() < 0.8 else [*parts[:1], draw.choice(_WORDS)]), tool)
        version = f"{draw.randint(0, 9)}.{draw.randint(0, 30)}" + draw.choice(("", "", f".{draw.randint(0, 9)}"))
        if any(entry.name == name for entry in found):
            continue
        found.append(_Entry(kind, name, do, does, draw.choice(others), said, asked, draw.choice(_VALUES), version))
    return found


def _name(kind: str, words: str, tool: str) -> str:
    if kind == "option":
        return f"--{words}"
    if kind == "variable":
        return f"{tool}_{words}".upper().replace("-", "_")
    return words.replace("-", "_") if kind == "directive" else f"{tool} {words.rpartition('-')[2]}"


def _written(entry: _Entry, line: str, tool: str, draw: random.Random) -> _Block:
    forms = {"do": entry.do, "Do": entry.do.capitalize(), "does": entry.does, "Does": entry.does.capitalize()}
    text = line.format(name=entry.name, kind=entry.kind, tool=tool, what=entry.said, when=draw.choice(_WHEN), **forms)
    name = text.index(entry.name)
    start = text.index(entry.said)
    begin = max(text.rfind(f"{form} ", 0, start) for form in forms.values())
    text, default = _with(text, ("", "", " The default is ", " Defaults to "), entry.default, ".", draw)
    text, since = _with(text, ("", "", "", " Added in version ", " New in "), entry.since, ".", draw)
    if draw.random() < 0.15:
        text += f"\n$ {tool} {entry.name} {draw.choice(_VALUES)}"
    return _Block(text, (name, name + len(entry.name)), (begin, start + len(entry.said)), default, since)


def _with(
    text: str, openings: tuple[str, ...], value: str, ending: str, draw: random.Random
) -> tuple[str, Place | None]:
    """The text with one more sentence about a value, and the value's position; or the text unchanged."""
    opening = draw.choice(openings)
    if not opening:
        return text, None
    begin = len(text) + len(opening)
    return f"{text}{opening}{value}{ending}", (begin, begin + len(value))


def _asked(entry: _Entry, block: _Block, tool: str, draw: random.Random) -> tuple[str, Place | None]:
    """A question about the entry, and the position of its answer in the block."""
    do = draw.choice((entry.do, entry.other))
    does = entry.does if do == entry.do else _third(do)
    forms, place = draw.choices(
        ((_DEFAULTS, block.default), (_SINCE, block.since), (_DOES, block.does), (_NAMED_BY, block.name)), (3, 1, 3, 11)
    )[0]
    what = draw.choice((entry.said, entry.asked))
    return draw.choice(forms).format(name=entry.name, kind=entry.kind, tool=tool, do=do, does=does, what=what), place


def _third(verb: str) -> str:
    """`turns off` for `turn off`."""
    first, _, rest = verb.partition(" ")
    ending = "es" if first.endswith(("ch", "sh", "s")) else "s"
    first = f"{first[:-1]}ies" if first.endswith("y") and first[-2] not in "aeiou" else f"{first}{ending}"
    return f"{first} {rest}".strip()
