"""Closed word classes and small lexical fields of English that the rules look up.

General English only: function words, irregular word families (born/birth), kinship, common demonyms. No proper names beyond
countries, and no other language.
"""

from __future__ import annotations

import re


def word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


ARTICLES = word_set("a an the")
AUXILIARIES = word_set("is are was were do does did has have had can could will would")
OPENERS = AUXILIARIES | word_set("am may must should might shall")  # verbs that open a question for yes or no
COPULAS = word_set("is are was were be been being")
QUESTION_WORDS = word_set("who whom whose what which when where why how")
PREPOSITIONS = word_set(
    "of in on at by from to with for into through under over near between during after before about as"
)
PRONOUNS = word_set(
    "he she it they him her them his hers its their theirs himself herself itself themselves this that these those"
)

FUNCTION_WORDS = (
    ARTICLES
    | AUXILIARIES
    | COPULAS
    | QUESTION_WORDS
    | PREPOSITIONS
    | PRONOUNS
    | word_set("and or but not nor so if then than there here also both either same one some any all each no yes s t")
    | word_set("i we you my our your me us while because although though")
)
STOP_WORDS = FUNCTION_WORDS | word_set("name names named called known person people thing")
"""Words that do not describe the topic of a question or sentence."""

CAPITALISED_FUNCTION_WORDS = FUNCTION_WORDS | word_set(
    "today however later once since until despite according besides like many most several few two three four five "
    "another other every such only even still thus therefore meanwhile among within without upon work early"
)
"""Words that are not names even with a capital."""

NAME_CONNECTORS = word_set("of de la le du des di da dos del della der den von van zu al el ibn bin")
"""Lower-case words that may stand inside a name, between two capitalised words."""

MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)

_SMALL_NUMBERS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty"
)
_TENS = {"thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}
NUMBER_WORDS = {word: value for value, word in enumerate(_SMALL_NUMBERS.split(" "))} | _TENS
MULTIPLIERS = {"hundred": 100, "thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}

FAMILIES = {
    "wifi": "wi-fi",
    "email": "e-mail e-mails",
    "birth": "born birthplace native",
    "death": "die dies died dead dying killed deceased",
    "write": "write writes wrote written writer writers author authors authored novelist penned screenplay",
    "marri": "marriage wife wives husband husbands spouse spouses widow widower wed wedded",
    "sing": "sang sung song songs vocalist",
    "perform": "recorded artist",
    "make": "make makes made maker makers manufacturer manufactured producer produced produces",
    "build": "built constructed construction",
    "found": "established establishes establishment formed started",
    "begin": "began begun start starts started starting opened opening",
    "flow": "runs",
    "rise": "rise rises rose risen source origin originates headwaters",
    "win": "won",
    "teach": "taught tutor mentor",
    "study": "study studies studied student students educated attended graduated alumnus",
    "sell": "sell sells sold seller sales",
    "buy": "bought acquired purchased acquisition",
    "lead": "led headed",
    "hold": "held",
    "situate": "located location lies situated stands based headquarters headquartered",
    "populat": "population inhabitants residents populous",
    "release": "release released releases premiered premiere debuted",
    "publish": "publication",
    "play": "play plays played player portrays portrayed actor actress starring stars starred",
    "country": "country countries nation nationality citizenship",
    "name": "name names named namesake eponym",
    "found_by_discovery": "discover discovers discovered discoverer discovery",
    "grow": "grew grown",
    "live": "live lives lived living resident resides reside resided",
    "work": "employ employer employed employs employee",
    "speak": "spoke spoken language languages",
    "reign": "ruled ruler rules king queen emperor monarch",
}
"""One canonical form for a family of words, by those whose regular stem is another one."""

CANONICAL = {word: family for family, words in FAMILIES.items() for word in words.split()}

RELATED_WORDS = {
    **dict.fromkeys(("father", "mother"), word_set("son daughter child children parent")),
    "parent": word_set("son daughter child children father mother"),
    "child": word_set("son daughter children father mother parent"),
    **dict.fromkeys(("son", "daughter"), word_set("father mother parent child children")),
    **dict.fromkeys(("brother", "sister"), word_set("sibling")),
    "sibling": word_set("brother sister"),
}
"""By the word for a relative: other words that express the relation or its inverse."""

RELATIVES = {
    "paternal grandfather": "father father", "paternal grandmother": "father mother",
    "maternal grandfather": "mother father", "maternal grandmother": "mother mother",
    "grandfather": "parent father", "grandmother": "parent mother", "grandson": "child son", "granddaughter": "child daughter",
    "uncle": "parent brother", "aunt": "parent sister", "nephew": "sibling son", "niece": "sibling daughter",
    "stepfather": "mother husband", "stepmother": "father wife", "father-in-law": "spouse father",
    "mother-in-law": "spouse mother", "son-in-law": "daughter husband", "daughter-in-law": "son wife",
    "child-in-law": "child spouse", "sibling-in-law": "sibling spouse",
}  # fmt: skip
"""What documents tell of a relative in two steps: the mother-in-law is the spouse's mother."""
RELATIVE = re.compile(
    rf"(?:(?P<of>the )|['’]s )(?P<relative>{'|'.join(sorted(RELATIVES, key=len, reverse=True))})(?(of) of\b|\b)"
)
"""One of them with the word before it: `the uncle of`, `'s uncle`. A capital letter is of a title: `Charley's Aunt`."""

PERSON_NOUNS = word_set(  # without an ending that shows it
    "person architect aunt bishop boss captain chef child clerk coach cook cousin deputy duke friend head host husband king "
    "lady man monarch neighbour nurse parent playwright president queen secretary sibling son spouse star uncle widow wife"
)
PERSON_ENDINGS = ("er", "or", "ist", "ian", "ant", "man")
NOT_PERSONS = word_set(  # in spite of such an ending
    "border cover filter headquarter letter member newspaper number order paper plant printer restaurant river router server "
    "supplier tower"
)
"""The commonest nouns of steps in 42,341 questions (people's, and those of public data sets); `playwright` for a test."""


def is_person_noun(word: str) -> bool:
    """Whether `word` names people by kinship, office or trade (`mother`, `king`, `designer`)."""
    lower, singular = word.lower(), word.lower().removesuffix("s")
    if lower in PERSON_NOUNS or singular in PERSON_NOUNS:
        return True
    return len(singular) > 4 and singular.endswith(PERSON_ENDINGS) and singular not in NOT_PERSONS


COUNTRIES = {
    "afghanistan": "afghan", "albania": "albanian", "algeria": "algerian", "argentina": "argentine argentinian",
    "armenia": "armenian", "australia": "australian", "austria": "austrian", "azerbaijan": "azerbaijani",
    "bangladesh": "bangladeshi", "belarus": "belarusian", "belgium": "belgian", "bolivia": "bolivian", "bosnia": "bosnian",
    "brazil": "brazilian", "bulgaria": "bulgarian", "cambodia": "cambodian", "cameroon": "cameroonian", "canada": "canadian",
    "chile": "chilean", "china": "chinese", "colombia": "colombian", "croatia": "croatian", "cuba": "cuban", "cyprus": "cypriot",
    "czech republic": "czech", "denmark": "danish", "ecuador": "ecuadorian", "egypt": "egyptian", "england": "english",
    "estonia": "estonian", "ethiopia": "ethiopian", "finland": "finnish", "france": "french", "georgia": "georgian",
    "germany": "german", "ghana": "ghanaian", "greece": "greek", "hungary": "hungarian", "iceland": "icelandic",
    "india": "indian", "indonesia": "indonesian", "iran": "iranian persian", "iraq": "iraqi", "ireland": "irish",
    "israel": "israeli", "italy": "italian", "jamaica": "jamaican", "japan": "japanese", "kazakhstan": "kazakh",
    "kenya": "kenyan", "latvia": "latvian", "lebanon": "lebanese", "lithuania": "lithuanian", "malaysia": "malaysian",
    "mexico": "mexican", "morocco": "moroccan", "nepal": "nepalese nepali", "netherlands": "dutch", "new zealand": "zealander",
    "nigeria": "nigerian", "norway": "norwegian", "pakistan": "pakistani", "peru": "peruvian",
    "philippines": "filipino philippine",
    "poland": "polish", "portugal": "portuguese", "romania": "romanian", "russia": "russian", "scotland": "scottish",
    "serbia": "serbian", "singapore": "singaporean", "slovakia": "slovak", "slovenia": "slovenian", "south korea": "korean",
    "soviet union": "soviet", "spain": "spanish", "sri lanka": "lankan", "sweden": "swedish", "switzerland": "swiss",
    "syria": "syrian", "taiwan": "taiwanese", "thailand": "thai", "tunisia": "tunisian", "turkey": "turkish",
    "ukraine": "ukrainian", "united kingdom": "british", "united states": "american u.s", "uruguay": "uruguayan",
    "venezuela": "venezuelan", "vietnam": "vietnamese", "wales": "welsh",
}  # fmt: skip
DEMONYMS = {demonym: country for country, demonyms in COUNTRIES.items() for demonym in demonyms.split()}
