"""Asks the API at BASE_URL with the key KEY by the client that openapi-generator has generated, and prints its answers as a line."""

import json
import os

from openapi_client import ApiClient, Configuration, FormsApi, RecordsApi

answers = json.dumps({"q:1 <é>": "a b&c", "q2": ["none", "x"]})
with ApiClient(Configuration(host=os.environ["BASE_URL"], access_token=os.environ["KEY"])) as client:
    records = RecordsApi(client)
    page = records.list_records(limit=100)
    filtered = records.list_records(answers=answers, since="2026-04-01")
    selected = records.list_records(limit=1, fields="id,result.score")
    counts = records.count_records(by="day,status")
    record = records.get_record("asked")
    form = FormsApi(client).get_form("form-1")

said = {
    "client": "openapi-generator python",
    "total": page.total_docs,
    "page": [[each.id, each.examinee and each.examinee.email, each.result.score] for each in page.items],
    "filtered": [[each.id, each.data["q2"]] for each in filtered.items],
    "selected": [[each.form_id, each.result.score] for each in selected.items],
    "counts": [[each.key, each.count] for each in counts.items],
    "record": [
        record.serial_number,
        record.submitted_at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        record.report_result.dimension_analysis.radar,
    ],
    "form": [form.title, form.scene, form.fields, form.localization],
}
print(json.dumps(said))
