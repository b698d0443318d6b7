"""Turn requests and indirect questions into plain ones: `Tell me which bank lent the money` asks `Which bank lent the money?`.

Requests for lists, descriptions and explanations stay as they are, because their wording says what kind of answer is wanted.
"""

from __future__ import annotations

import re

from hoptrail.text.normal_forms import squeeze

_REQUEST = re.compile(
    r"^(?:please,? |(?:hi|hello|hey)[,!]? )*"
    r"(?:(?:(?:can|could|would|will) (?:you|someone|anyone) (?:please )?)?(?:tell|give|show|remind|let) (?:me|us)(?: know)?"
    r"|(?:i|we)(?: would|['’]d) (?:like|love) to know|(?:i|we) (?:want|need|have) to know|i wonder|i am wondering"
    r"|do(?:es)? (?:you|we|anyone|anybody|someone) (?:happen to )?know)"
    r"(?: please)?[,:]? (?P<rest>\S.*)$",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"^(?:(?:in|on|at|by|for|from|to|since|until|with|of|under|through) )?"
    r"(?:who|whom|whose|what|which|when|where|how)\b(?! about\b)",
    re.IGNORECASE,
)
_WHETHER = re.compile(
    r"^(?:if|whether) (?P<subject>.+?) (?P<verb>is|are|was|were|has|have|had|can|must|may|will|should|could|would) (?P<rest>.+)$",
    re.IGNORECASE,
)
_THING = re.compile(
    r"^(?:the|an?|my|our|his|her|its|their) (?:[a-z-]+ ){0,2}(?!list )(?P<noun>[a-z-]+)(?= (?:of|for|in|on|to|at|that|which)\b|$)"
)
_ASIDE = re.compile(r"\s*\((?=[^()]*\b(?:i|we|please|just|only)\b)[^()]*\)(?=\s*\?*$)", re.IGNORECASE)
"""`(I need the name)` at the end."""
_AFTERTHOUGHT = re.compile(
    r"(?<=\?) (?=[^?]{0,60}$)(?=.*\b(?:please|thanks|thank|not|just|only)\b)[^?]*$", re.IGNORECASE
)
"""`Name please, not the flat.` after a question."""


def direct(question: str) -> str:
    """The plain question that is asked; the question itself if it is plain already."""
    line = squeeze(question)
    plain = _AFTERTHOUGHT.sub("", _ASIDE.sub("", line))
    request = _REQUEST.match(plain)
    asked = request["rest"].rstrip(" .?!") if request else ""
    if _ASKS.match(asked):
        return f"{asked[0].upper()}{asked[1:]}?"
    if whether := _WHETHER.match(asked):
        return f"{whether['verb'].capitalize()} {whether['subject']} {whether['rest']}?"
    thing = _THING.match(asked)
    if thing and not thing["noun"].endswith("s"):
        return f"What is {asked}?"
    return question if plain == line else plain
