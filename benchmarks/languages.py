"""Measures languages other than English: keywords, two encoders, and what the reader answers or shows.

    python -m benchmarks.languages [--encoder NAME] [--out FILE.json]

Eight short documents and eight questions per language, written for this benchmark, with the same facts in each. Every language
has a separate index. `first` and `three`: the settling statement is in the first hit, or in the first three. For the default
mode: questions answered correctly, wrongly, or not, and in that case with a closest statement that settles them. Every citation
is compared with its document.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from benchmarks.common import parser, write_results

from hoptrail import Index, Settings
from hoptrail.types import Answer

TEXTS = {
    "English": """
The harbour museum opens at ten. On Mondays it is closed.|When does the museum open?|at ten
The ferry to Pellow leaves from pier three. The crossing takes forty minutes.|From which pier does the ferry sail?|pier three
Ilse Marrow built the lighthouse in 1871. She was born in Tarnwick.|Who built the lighthouse?|Ilse Marrow
The key of the boathouse hangs in the office. Whoever takes it signs the list.|Where is the key of the boathouse?|in the office
The deposit for a rowing boat is twenty euros. It is paid back.|How much is the deposit for a boat?|twenty euros
Dogs are not allowed in the museum. They may wait in the yard.|Are dogs allowed in the museum?|not allowed
The pump was repaired by the firm Brandt. The bill came in March.|Which firm repaired the pump?|Brandt
The choir sings on Thursday in the old chapel. Guests are welcome.|On which day does the choir sing?|Thursday
""",
    "German": """
Das Hafenmuseum öffnet um zehn Uhr. Montags ist es geschlossen.|Wann macht das Museum auf?|um zehn Uhr
Die Fähre nach Pellow legt an Pier drei ab. Die Überfahrt dauert vierzig Minuten.|Von welchem Pier fährt die Fähre?|Pier drei
Ilse Marrow baute den Leuchtturm im Jahr 1871. Sie wurde in Tarnwick geboren.|Wer hat den Leuchtturm gebaut?|Ilse Marrow
Der Schlüssel des Bootshauses hängt im Büro. Wer ihn nimmt, trägt sich ein.|Wo ist der Schlüssel zum Bootshaus?|im Büro
Die Kaution für ein Ruderboot beträgt zwanzig Euro. Sie wird zurückgezahlt.|Wie hoch ist die Kaution für ein Boot?|zwanzig Euro
Hunde sind im Museum nicht erlaubt. Sie dürfen im Hof warten.|Darf man Hunde ins Museum mitnehmen?|nicht erlaubt
Die Pumpe wurde von der Firma Brandt repariert. Die Rechnung kam im März.|Welche Firma hat die Pumpe repariert?|Brandt
Der Chor singt am Donnerstag in der alten Kapelle. Gäste sind willkommen.|An welchem Tag singt der Chor?|Donnerstag
""",
    "French": """
Le musée du port ouvre à dix heures. Il est fermé le lundi.|À quelle heure ouvre le musée ?|à dix heures
Le bac pour Pellow part du quai trois. La traversée dure quarante minutes.|De quel quai part le bac ?|quai trois
Ilse Marrow a construit le phare en 1871. Elle est née à Tarnwick.|Qui a bâti le phare ?|Ilse Marrow
La clé du hangar à bateaux est accrochée au bureau. Qui la prend signe la liste.|Où est la clé du hangar ?|au bureau
La caution pour une barque est de vingt euros. Elle est rendue.|Combien coûte la caution d'une barque ?|vingt euros
Les chiens sont interdits dans le musée. Ils peuvent attendre dans la cour.|Les chiens sont-ils admis au musée ?|interdits
La pompe a été réparée par la maison Brandt. La facture est arrivée en mars.|Quelle maison a réparé la pompe ?|Brandt
Le chœur chante le jeudi dans la vieille chapelle. Les invités sont les bienvenus.|Quel jour chante le chœur ?|jeudi
""",
    "Russian": """
Музей порта открывается в десять часов. По понедельникам он закрыт.|Во сколько открывается музей?|в десять часов
Паром на Пеллоу отходит от третьего причала. Переправа занимает сорок минут.|От какого причала отходит паром?|третьего причала
Ильзе Марроу построила маяк в 1871 году. Она родилась в Тарнвике.|Кто построил маяк?|Ильзе Марроу
Ключ от лодочного сарая висит в конторе. Кто его берёт, расписывается в списке.|Где находится ключ от сарая?|в конторе
Залог за гребную лодку составляет двадцать евро. Его возвращают.|Какой залог за лодку?|двадцать евро
Собакам вход в музей запрещён. Они могут ждать во дворе.|Можно ли с собаками в музей?|запрещён
Насос отремонтировала фирма Брандт. Счёт пришёл в марте.|Какая фирма отремонтировала насос?|Брандт
Хор поёт в четверг в старой часовне. Гостям рады.|В какой день поёт хор?|четверг
""",
    "Chinese": """
港口博物馆十点开门。星期一闭馆。|博物馆几点开门？|十点
去佩洛的渡船从三号码头出发。航程四十分钟。|渡船从哪个码头出发？|三号码头
灯塔是伊尔莎·马罗于1871年建造的。她出生在塔恩威克。|谁建造了灯塔？|伊尔莎·马罗
船库的钥匙挂在办公室里。拿走的人要在名单上签字。|船库的钥匙在哪里？|办公室
划艇的押金是二十欧元。押金会退还。|划艇的押金是多少？|二十欧元
博物馆内禁止带狗。狗可以在院子里等。|可以带狗进博物馆吗？|禁止
水泵由布兰特公司修理。账单三月份到了。|哪家公司修理了水泵？|布兰特
合唱团星期四在老教堂唱歌。欢迎客人。|合唱团星期几唱歌？|星期四
""",
    "Japanese": """
港の博物館は十時に開きます。月曜日は休館です。|博物館は何時に開きますか？|十時
ペロー行きのフェリーは三番桟橋から出ます。所要時間は四十分です。|フェリーはどの桟橋から出ますか？|三番桟橋
灯台はイルゼ・マローが1871年に建てました。彼女はターンウィックで生まれました。|灯台を建てたのは誰ですか？|イルゼ・マロー
艇庫の鍵は事務所に掛かっています。持ち出す人は名簿に署名します。|艇庫の鍵はどこにありますか？|事務所
手漕ぎボートの保証金は二十ユーロです。後で返されます。|ボートの保証金はいくらですか？|二十ユーロ
博物館に犬を連れて入ることはできません。中庭で待たせてください。|博物館に犬を連れて行けますか？|できません
ポンプはブラント社が修理しました。請求書は三月に届きました。|ポンプを修理した会社はどこですか？|ブラント
合唱団は木曜日に古い礼拝堂で歌います。お客様を歓迎します。|合唱団は何曜日に歌いますか？|木曜日
""",
    "Thai": """
พิพิธภัณฑ์ท่าเรือเปิดเวลาสิบโมง วันจันทร์ปิด|พิพิธภัณฑ์เปิดกี่โมง|สิบโมง
เรือข้ามฟากไปเพลโลว์ออกจากท่าเรือสาม ใช้เวลาสี่สิบนาที|เรือข้ามฟากออกจากท่าไหน|ท่าเรือสาม
อิลเซ แมร์โรว์สร้างประภาคารในปี 1871 เธอเกิดที่ทาร์นวิก|ใครสร้างประภาคาร|อิลเซ แมร์โรว์
กุญแจโรงเรือแขวนอยู่ในสำนักงาน ผู้ที่นำไปต้องลงชื่อ|กุญแจโรงเรืออยู่ที่ไหน|สำนักงาน
ค่ามัดจำเรือพายคือยี่สิบยูโร จะได้รับคืน|ค่ามัดจำเรือพายเท่าไร|ยี่สิบยูโร
ห้ามนำสุนัขเข้าพิพิธภัณฑ์ สุนัขรอในลานได้|นำสุนัขเข้าพิพิธภัณฑ์ได้ไหม|ห้าม
ปั๊มซ่อมโดยบริษัทบรันด์ท ใบแจ้งหนี้มาในเดือนมีนาคม|บริษัทไหนซ่อมปั๊ม|บรันด์ท
คณะประสานเสียงร้องเพลงวันพฤหัสบดีในโบสถ์เก่า ยินดีต้อนรับแขก|คณะประสานเสียงร้องเพลงวันไหน|วันพฤหัสบดี
""",
}
"""Lines of a document's text, a question, and the words that settle it."""


@dataclass(frozen=True, slots=True)
class Row:
    """A fact: the document that states it, a question, and the words that settle it."""

    text: str
    question: str
    settles: str


def rows_of(language: str) -> list[Row]:
    return [Row(*line.split("|")) for line in TEXTS[language].strip().splitlines()]


def index_of(folder: Path, rows: list[Row], encoder: str) -> Index:
    sources = folder / "documents"
    sources.mkdir(parents=True)
    for number, row in enumerate(rows):
        (sources / f"{number}.txt").write_text(row.text, encoding="utf-8")
    index = Index(folder / "index", Settings(encoder=encoder))
    index.add(sources, ["bm25", "dense", "trail"])
    return index


def found(index: Index, recipe: str, rows: list[Row]) -> dict[str, int]:
    """How many settling statements are in the first hit, and in the first three."""
    ranks = [
        next(
            (place for place, hit in enumerate(index.search(row.question, recipe)) if row.settles in hit.unit.text), 99
        )
        for row in rows
    ]
    return {"first": sum(rank < 1 for rank in ranks), "three": sum(rank < 3 for rank in ranks)}


def outcome(answer: Answer, row: Row) -> str:
    """The outcome of an answer: right, shown, missed or wrong."""
    if answer.text is None:
        return "shown" if any(row.settles in one.text for one in answer.closest) else "missed"
    is_cited = any(row.settles in one.text for one in answer.evidence)
    return "right" if is_cited and (row.settles in answer.text or answer.text in row.settles) else "wrong"


def check_citations(index: Index, answer: Answer) -> int:
    """The number of citations; checks that each occurs in its document."""
    cited = (*answer.evidence, *answer.closest)
    documents = index.corpus().documents({one.document for one in cited})
    for one in cited:
        assert documents[one.document].text[one.start : one.end] == one.text, one
    return len(cited)


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--encoder", default="", help="a second encoder, as in the setting `encoder`")
    chosen = options.parse_args()
    report: dict[str, object] = {"questions": len(rows_of("English")), "encoder": chosen.encoder, "languages": {}}
    results: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as folder:
        for language in TEXTS:
            rows = rows_of(language)
            index = index_of(Path(folder) / language, rows, "minilm")
            answers = [index.ask(row.question) for row in rows]
            outcomes = Counter(outcome(answer, row) for answer, row in zip(answers, rows, strict=True))
            one: dict[str, object] = {"keywords": found(index, "bm25", rows), "minilm": found(index, "dense", rows)}
            if chosen.encoder:
                other = index_of(Path(folder) / f"{language}-other", rows, chosen.encoder)
                one["encoder"] = found(other, "dense", rows)
            one |= {"outcomes": dict(outcomes), "citations": sum(check_citations(index, answer) for answer in answers)}
            results[language] = one
            print(language, json.dumps(one, ensure_ascii=False), flush=True)
    report["languages"] = results
    write_results(chosen.out, report)


if __name__ == "__main__":
    main()
