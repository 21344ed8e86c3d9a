"""Makes Schemathesis request an export when it generates a parameter that only exports have.

OpenAPI cannot say that a parameter belongs to one of two media types, or that it needs another one.
"""

import schemathesis

OF_PAGES = ("limit", "page")
OF_DELETIONS = ("changedSince", "changedUntil", "view", "includeDeleted", "fields")


@schemathesis.hook
def before_call(context, case, kwargs):
    # A request without a key is refused at once; with edited headers, it would count as valid.
    if getattr(case.meta and case.meta.phase.data, "parameter", None) == "Authorization":
        return
    query = case.query
    is_negative = case.meta is None or case.meta.generation.mode.is_negative
    if is_negative or not query or not {"view", "includeDeleted"} & set(query):
        return
    case.headers = {**(case.headers or {}), "Accept": "application/x-ndjson"}
    # With this view, other fields are valid than those that the description names.
    dropped = OF_PAGES + (("fields",) if query.get("view") == "full" else ())
    if str(query.get("includeDeleted", "false")).lower() == "true":
        query = {"changedSince": "2026-01-01", **{name: query[name] for name in OF_DELETIONS if name in query}}
    case.query = {name: value for name, value in query.items() if name not in dropped}
