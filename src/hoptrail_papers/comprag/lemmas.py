"""Base forms of English words by rules: `was directed by` becomes `be direct by`.

Unlike `text.words.stem` it aims at real words, because an encoder reads them. Words outside its lists may come out wrong.
"""

from __future__ import annotations

import re
from functools import lru_cache

from hoptrail.text.lexicon import COPULAS, word_set

BASE_VERBS = word_set(
    "accept achieve acquire adopt air allow appear arrive attend beat become begin belong borrow break bring build buy capture "
    "carry cause change charge close collapse come command compete compose conquer contain cost create cross declare decline "
    "defeat descend describe design die direct discover dissolve draw drop earn employ enclose end enter establish expire fall "
    "feed fight finish flow form found freeze gain get give go govern graduate grow guard handle happen have help hold host "
    "house include influence inherit inspire introduce invade invent issue join land lead leave lie live lose make marry mean "
    "melt merge mine move obtain occur open operate originate own paint pass perform play produce publish raise reach receive "
    "recognise recognize record release remain replace retire rise rule sail secede see sell send serve settle sign sing sink "
    "span spend split stage stand star start stop study succeed surrender take teach tour trade train travel try turn use visit "
    "vote wear win withdraw work write"
)
"""Common verbs in the form that follows `did`."""

IRREGULAR_PASTS = word_set(
    "born built made held found founded known set sung won written begun sold lost left led buried shot fought "
    "spoken taught grown brought sent given taken drawn struck named wrote sang began went came gave took drew rose fell ran "
    "got became grew spoke bought kept met put said saw sat slept sought stood swam swore told thought threw understood wore "
    "worn broke broken chose chosen driven drove eaten fed fled flew flown froze hid hidden laid lent lit paid rode ridden "
    "risen seen shown sank sunk spent spun stole stolen torn woken withdrew beat bore cut dug hung heard"
)
"""Past forms and participles that do not end in -ed."""

_WORD = re.compile(r"[^\W\d_]+")
_IRREGULAR = {
    **dict.fromkeys(COPULAS, "be"),
    **dict.fromkeys(("has", "had"), "have"),
    **dict.fromkeys(("does", "did", "done", "doing"), "do"),
    "born": "bear", "began": "begin", "begun": "begin", "built": "build", "bought": "buy", "became": "become",
    "brought": "bring", "came": "come", "chose": "choose", "chosen": "choose", "drew": "draw", "drawn": "draw",
    "fell": "fall", "fought": "fight", "flew": "fly", "gave": "give", "given": "give", "went": "go", "gone": "go",
    "grew": "grow", "grown": "grow", "held": "hold", "kept": "keep", "led": "lead", "left": "leave", "lost": "lose",
    "made": "make", "met": "meet", "ran": "run", "rose": "rise", "risen": "rise", "said": "say", "sang": "sing",
    "sung": "sing", "sold": "sell", "sent": "send", "shot": "shoot", "spoke": "speak", "spoken": "speak",
    "stood": "stand", "taught": "teach", "thought": "think", "took": "take", "taken": "take", "told": "tell",
    "won": "win", "wore": "wear", "wrote": "write", "written": "write", "children": "child", "wives": "wife",
    "women": "woman", "men": "man", "people": "person",
}  # fmt: skip


def lemmatised(text: str) -> str:
    """`text` in lower case with every word in its base form."""
    return _WORD.sub(lambda match: lemma(match.group()), text)


@lru_cache(maxsize=65_536)
def lemma(word: str) -> str:
    """The base form of one word, in lower case."""
    lower = word.lower()
    if lower in _IRREGULAR:
        return _IRREGULAR[lower]
    for ending in ("ies", "ied"):
        if lower.endswith(ending) and len(lower) > len(ending) + 1:
            return lower.removesuffix(ending) + "y"
    for ending in ("ing", "ed", "es"):
        base = lower.removesuffix(ending)
        if base != lower and len(base) > 2:  # `sing` and `bed` are whole
            return _verb(base, lower, ending)
    return lower[:-1] if lower.endswith("s") and not lower.endswith(("ss", "us", "is")) and len(lower) > 3 else lower


def _verb(base: str, word: str, ending: str) -> str:
    """`base` with an `e`, as it is, or without its doubled letter: whichever is a known verb, else a guess by its ending."""
    candidates = (base + "e", base, base[:-1] if base[-1] == base[-2] else base)
    guess = word[:-1] if ending == "es" and not base.endswith(("s", "x", "ch", "sh")) else base
    return next((candidate for candidate in candidates if candidate in BASE_VERBS), guess)
