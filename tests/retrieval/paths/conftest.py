"""The world of many shared names, indexed once and only read."""

from __future__ import annotations

import pytest

from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.paths.queries import PathQueries
from hoptrail.structures.extractions import Extractions
from hoptrail.structures.sentences import Sentences
from hoptrail.structures.title_mentions import TitleMentions
from retrieval.paths.plain import QUESTION, STEPS, Made, WordEncoder, made_documents
from structures.site import Site


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    site, documents = Site(tmp_path_factory.mktemp("made"), WordEncoder()), made_documents()
    site.build(Extractions(), Sentences(), TitleMentions(), add=documents, language=OfflineLanguage())
    return Made.asked(Corpus(site.snapshot, lambda: site.encoder), documents, PathQueries.of(QUESTION, STEPS))
