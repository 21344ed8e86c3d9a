"""The columns of each stream: what rows of the change feed have, and what the source adds."""

from typing import Any

TEXT = {"type": ["string", "null"]}
TIME = {"type": ["string", "null"], "format": "date-time", "airbyte_type": "timestamp_with_timezone"}
INTEGER = {"type": ["integer", "null"]}
FLAG = {"type": ["boolean", "null"]}
OBJECT = {"type": ["object", "null"], "additionalProperties": True}
LIST = {"type": ["array", "null"]}

EVERY_ROW = {"id": {"type": "string"}, "changedAt": TIME, "deleted": FLAG, "synced_at": TIME, "_ab_cdc_deleted_at": TIME}
FORM = {
    **{"title": TEXT, "scene": TEXT, "language": TEXT, "publicToken": TEXT, "shareUrl": TEXT},
    **{"localization": OBJECT, "isActive": FLAG, "createdAt": TIME, "updatedAt": TIME},
}
RECORD = {
    **{"serialNumber": INTEGER, "formId": TEXT, "shareToken": TEXT, "reportUrl": TEXT, "submittedAt": TIME, "updatedAt": TIME},
    **{"examinee": OBJECT, "metadata": OBJECT, "data": OBJECT},
}
MEMBERS = {
    ("forms", "summary"): FORM,
    ("forms", "full"): {**FORM, "description": TEXT, "layout": TEXT, "systemText": OBJECT, "fields": LIST, "report": OBJECT},
    ("records", "summary"): {**RECORD, "result": OBJECT},
    ("records", "full"): {**RECORD, "reportResult": OBJECT},
}


def schema_of(stream: str, view: str, fields: str | None) -> dict[str, Any]:
    """The JSON schema of a stream's rows. `fields` has the names that the API is asked for, such as `id,result.score`."""
    named = {name.strip().split(".")[0] for name in fields.split(",")} if fields else None
    members = {name: what for name, what in MEMBERS[stream, view].items() if named is None or name in named}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "additionalProperties": True,
        "properties": {**EVERY_ROW, **members},
    }
