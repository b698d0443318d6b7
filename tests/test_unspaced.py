"""Text without spaces between words: it is cut, found, cited character for character, and the closest statements are shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from hoptrail import Index, Kind
from hoptrail.text.words import content_stems, terms, words_in
from world import HashingEncoder

FILLER = {
    "zh": "港口的早晨很安静，海鸥在码头上方盘旋，渔民们正在整理他们的渔网。",
    "ja": "港の朝はとても静かで、かもめが桟橋の上を飛び、漁師たちは網を整えています。",
    "th": "ตอนเช้าที่ท่าเรือเงียบสงบมากนกนางนวลบินอยู่เหนือสะพานและชาวประมงกำลังจัดอวนของพวกเขา",
}
FACTS = {
    "zh": ("划艇的押金是二十欧元。", "划艇的押金是多少？"),
    "ja": ("手漕ぎボートの保証金は二十ユーロです。", "ボートの保証金はいくらですか？"),
    "th": ("ค่ามัดจำเรือพายคือยี่สิบยูโร", "ค่ามัดจำเรือพายเท่าไร"),
}


@pytest.mark.parametrize("language", FACTS)
def test_a_long_text_is_cut_and_the_statement_is_found_and_cited(language: str, tmp_path: Path) -> None:
    fact, question = FACTS[language]
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "long.txt").write_text(FILLER[language] * 60 + fact + FILLER[language] * 60, encoding="utf-8")
    (folder / "other.txt").write_text(FILLER[language], encoding="utf-8")
    index = Index(tmp_path / "index")
    index.encoder = HashingEncoder()
    index.add(folder, ["bm25", "trail"])
    corpus = index.corpus()
    texts = {document.id: document.text for document in corpus.snapshot.documents()}
    passages = list(corpus.snapshot.units(Kind.PASSAGE))
    assert len(passages) > 5
    for unit in passages:
        assert words_in(unit.text) <= 450
        span = unit.sources[0]
        assert texts[unit.document][span.start : span.end] == unit.text
    best = index.search(question, "bm25", 1)[0].unit
    assert fact[:10] in best.text
    answer = index.ask(question, "bm25")
    assert answer.text is None or answer.text in fact
    assert answer.closest
    for one in (*answer.evidence, *answer.closest):
        assert texts[one.document][one.start : one.end] == one.text
        assert len(one.text) <= 300 or one in answer.evidence
    assert any(fact[:10] in one.text for one in answer.closest), [one.text for one in answer.closest]


def test_terms_are_pairs_with_their_places_and_words_elsewhere() -> None:
    text = "押金是20欧元 (deposit)"
    assert [term.text for term in terms(text)] == ["押金", "金是", "20", "欧元", "deposit"]
    assert all(text[term.start : term.end] == term.text for term in terms(text))
    assert "押金" in content_stems("押金是多少？") & content_stems("划艇的押金")
    assert [term.text for term in terms("plain words")] == ["plain", "words"]
