"""Asks the API at BASE_URL with the key KEY by the client that openapi-python-client has generated, and prints its answers as a line."""

import json
import os

from python_client import AuthenticatedClient
from python_client.api.forms import get_form
from python_client.api.records import count_records, get_record, list_records
from python_client.models import CountRecordsBy
from python_client.types import Unset

answers = json.dumps({"q:1 <é>": "a b&c", "q2": ["none", "x"]})
with AuthenticatedClient(base_url=os.environ["BASE_URL"], token=os.environ["KEY"]) as client:
    page = list_records.sync(client=client, limit=100)
    filtered = list_records.sync(client=client, answers=answers, since="2026-04-01")
    selected = list_records.sync(client=client, limit=1, fields="id,result.score")
    counts = count_records.sync(client=client, by=CountRecordsBy.DAYSTATUS)
    record = get_record.sync("asked", client=client)
    form = get_form.sync("form-1", client=client)


def sent(value):
    return None if isinstance(value, Unset) else value


said = {
    "client": "openapi-python-client",
    "total": page.total_docs,
    "page": [[each.id, each.examinee and each.examinee.email, each.result.score] for each in page.items],
    "filtered": [[each.id, each.data["q2"]] for each in filtered.items],
    "selected": [[sent(each.form_id), each.result.score] for each in selected.items],
    "counts": [[each.key, each.count] for each in counts.items],
    "record": [
        record.serial_number,
        record.submitted_at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        [each for each in record.report_result.dimension_analysis.radar],
    ],
    "form": [form.title, form.scene, form.fields, form.localization.to_dict()],
}
print(json.dumps(said))
