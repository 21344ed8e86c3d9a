"""Lists, single items, counts, exports, and errors."""

from __future__ import annotations

import json
from datetime import date, datetime, timedelta, timezone
from typing import Any

import httpx
import pytest
from feed import Answer, Feed, page, refusal, row

from tidemark_client import (
    ApiConnectionError,
    ApiError,
    BadRequestError,
    IgnoredParameterError,
    InvalidAnswerError,
    NotFoundError,
    RateLimitedError,
    ServiceUnavailableError,
    Tidemark,
    UnauthorizedError,
)

NDJSON = {"Content-Type": "application/x-ndjson"}
LINES = '{"id":"a","title":"é\u0085"}\n{"id":"b"}\n'.encode()


def listed(*ids: str, total: int, number: int = 1, limit: int = 2) -> Answer:
    return Answer({"totalDocs": total, "page": number, "limit": limit, "items": [{"id": id} for id in ids]})


def test_reads_a_list_page_by_page(feed: Feed, client: Tidemark) -> None:
    feed.will(listed("a", "b", total=3), listed("c", total=3, number=2))
    assert [record["id"] for record in client.records.list(limit=2, level="fail")] == ["a", "b", "c"]
    assert [asked.query for asked in feed.asked] == [{"limit": "2", "page": str(n), "level": "fail"} for n in (1, 2)]


def test_reads_one_page_with_the_total(feed: Feed, client: Tidemark) -> None:
    feed.will(listed("c", total=3, number=2))
    found = client.forms.list(limit=2).page(2)
    assert (found["totalDocs"], found["items"]) == (3, [{"id": "c"}])


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ({"form_id": "f", "examinee_id": "e", "utm_source": "u"}, {"formId": "f", "examineeId": "e", "utmSource": "u"}),
        ({"min_score": 0.5, "serial_number": 2**53 - 1}, {"minScore": "0.5", "serialNumber": "9007199254740991"}),
        ({"since": date(2026, 11, 21), "until": "2026-11-22"}, {"since": "2026-11-21", "until": "2026-11-22"}),
        ({"since": datetime(2026, 11, 21, 8)}, {"since": "2026-11-21T08:00:00"}),
        ({"since": datetime(2026, 11, 21, 8, tzinfo=timezone(timedelta(hours=1)))}, {"since": "2026-11-21T07:00:00+00:00"}),
        ({"answers": {"q1": "yes", "q2": ["a", "b"]}}, {"answers": '{"q1": "yes", "q2": ["a", "b"]}'}),
        ({"fields": ["id", "result.score"]}, {"fields": "id,result.score"}),
        ({"fields": "id", "level": "a b&ü"}, {"fields": "id", "level": "a b&ü"}),
        ({"level": None}, {}),
    ],
)
def test_sends_parameters_as_the_api_wants_them(feed: Feed, client: Tidemark, given: Any, sent: dict[str, str]) -> None:
    feed.will(listed(total=0))
    client.records.list(**given).page()
    assert feed.asked[0].query == {"limit": "100", "page": "1", **sent}


def test_refuses_a_filter_that_there_is_not(client: Tidemark) -> None:
    wrong: Any = {"levle": "fail"}
    for call in (client.records.list, client.records.export, client.forms.list, lambda **given: client.counts("day", **given)):
        with pytest.raises(TypeError, match="unknown filter 'levle'"):
            call(**wrong)


def test_an_answer_that_ignored_a_parameter_is_an_error(feed: Feed, client: Tidemark) -> None:
    feed.will(Answer({"items": []}, headers={"Ignored-Parameters": "level"}))
    with pytest.raises(IgnoredParameterError, match="level"):
        client.records.list(level="fail").page()


@pytest.mark.parametrize("id", ["s-1", "a/b?c#d", "..", "é"])
def test_asks_for_one_item_by_any_id(feed: Feed, client: Tidemark, id: str) -> None:
    feed.will(Answer({"id": id}))
    assert client.records.get(id, fields="id")["id"] == id
    assert httpx.URL(f"http://api{feed.asked[0].path}").path == f"/api/v1/records/{id}"
    assert feed.asked[0].path.count("/") == 4


def test_an_empty_id_is_not_the_list(client: Tidemark) -> None:
    with pytest.raises(ValueError, match="empty"):
        client.forms.get("")


def test_leaves_out_parts_of_a_form(feed: Feed, client: Tidemark) -> None:
    feed.will(Answer({"id": "f"}))
    client.forms.get("f", include_fields=False, include_report=True)
    assert feed.asked[0].query == {"includeFields": "false", "includeReport": "true"}


def test_counts(feed: Feed, client: Tidemark) -> None:
    counted = {"totalDocs": 1, "by": "day", "items": [{"key": "2026-11-20T00:00:00.000+01:00", "count": 1}]}
    feed.will(Answer(counted))
    assert client.counts("day", time_zone="Europe/Berlin", scores=True, form_id="f") == counted
    assert feed.asked[0].query == {"by": "day", "timeZone": "Europe/Berlin", "scores": "true", "formId": "f"}


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, BadRequestError),
        (401, UnauthorizedError),
        (403, UnauthorizedError),
        (404, NotFoundError),
        (405, ApiError),
        (414, ApiError),
    ],
)
def test_an_error_says_what_the_api_said(feed: Feed, client: Tidemark, status: int, kind: type[ApiError]) -> None:
    feed.will(refusal(status, "some_code", "minScore must be a number", X_Request_Id="r-1"))
    with pytest.raises(ApiError) as caught:
        client.records.list(min_score=1, max_score=2).page()
    error = caught.value
    assert type(error) is kind
    assert (error.status, error.code, error.message) == (status, "some_code", "minScore must be a number")
    assert (error.parameter, error.request_id, error.retry_after) == ("minScore", "r-1", None)
    assert str(error) == f"{status} some_code: minScore must be a number"


def test_an_error_of_a_proxy_has_no_code(feed: Feed, client: Tidemark) -> None:
    feed.will(Answer("<html>" + "x" * 1_000, 413))
    with pytest.raises(ApiError) as caught:
        client.records.get("a")
    assert (caught.value.code, caught.value.parameter, len(caught.value.message)) == (None, None, 200)


def test_a_redirect_is_not_followed_with_the_key(feed: Feed, client: Tidemark) -> None:
    feed.will(Answer("", 301, {"Location": "https://elsewhere.example/"}))
    with pytest.raises(ApiError, match="redirected to https://elsewhere.example/"):
        client.records.get("a")


def test_a_call_is_repeated_while_its_failure_passes(feed: Feed, client: Tidemark, pauses: list[float]) -> None:
    feed.will(
        refusal(503, Retry_After="5"),
        refusal(429, Retry_After="2"),
        Answer('{"id":', cut_at=2),
        Answer("<html>"),
        Answer({"id": "a"}),
    )
    assert client.records.get("a") == {"id": "a"}
    assert pauses[:2] == [5, 2] and len(pauses) == 4


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (refusal(429, Retry_After="130"), RateLimitedError),
        (refusal(503, Retry_After="130"), ServiceUnavailableError),
    ],
)
def test_a_call_does_not_wait_longer_than_its_patience(
    feed: Feed, client: Tidemark, pauses: list[float], answer: Answer, kind: type[ApiError]
) -> None:
    feed.will(answer)
    with pytest.raises(kind) as caught:
        client.counts("day")
    assert caught.value.retry_after == 130
    assert pauses == []


def test_reads_an_export(feed: Feed, client: Tidemark) -> None:
    feed.will(Answer(LINES, headers={**NDJSON, "Changes-Cursor": "7", "Replica-Watermark": "w"}))
    with client.records.export(view="full", form_id="f") as export:
        assert (export.cursor, export.watermark) == ("7", "w")
        assert list(export) == [{"id": "a", "title": "é\u0085"}, {"id": "b"}]
    assert feed.asked[0].query == {"view": "full", "formId": "f"}
    assert feed.asked[0].headers["Accept"] == "application/x-ndjson"


def test_reads_an_empty_export(feed: Feed, client: Tidemark) -> None:
    feed.will(Answer(b"", headers=NDJSON))
    export = client.forms.export()
    assert (list(export), export.cursor, export.watermark) == ([], None, None)


@pytest.mark.parametrize("framing", ["length", "chunked"])
def test_an_export_that_is_cut_raises_wherever_it_is_cut(feed: Feed, client: Tidemark, framing: str) -> None:
    for at in range(len(LINES)):
        feed.will(Answer(LINES, headers=NDJSON, cut_at=at, framing=framing))
        came: list[object] = []
        with pytest.raises(ApiConnectionError, match=r"cut after \d items"):
            came.extend(client.records.export())
        assert len(feed.asked) == 1


def test_an_export_that_ends_in_order_within_a_line_raises(feed: Feed, client: Tidemark) -> None:
    feed.will(Answer(LINES, headers=NDJSON, cut_at=len(LINES) - 1, framing="close"))
    came: list[str] = []
    with pytest.raises(ApiConnectionError, match="cut within the line after 1 items"):
        for record in client.records.export():
            came.append(record["id"])
    assert came == ["a"]


def test_the_beginning_of_an_export_is_repeated(feed: Feed, client: Tidemark, pauses: list[float]) -> None:
    feed.will(refusal(429, Retry_After="3"), Answer("<html>", headers={"Content-Type": "text/html"}), Answer(LINES, headers=NDJSON))
    assert [record["id"] for record in client.records.export()] == ["a", "b"]
    assert pauses[0] == 3


def test_an_export_with_a_line_that_is_no_json_raises(feed: Feed, client: Tidemark) -> None:
    feed.will(Answer(b"nothing\n", headers=NDJSON))
    with pytest.raises(InvalidAnswerError):
        list(client.records.export())


DEEP = "[" * 998 + "]" * 998


def test_every_value_can_be_read_and_written_again(feed: Feed, client: Tidemark) -> None:
    values = '{"long":12345678901234567890123,"double":0.7,"beyond":1e400,"below":-1e400,"nul":"\\u0000","odd":"\uffff\U0001f389"}'
    served = row("a", submittedAt="0000-01-01T00:00:00.000Z", data={"values": "VALUES", "deep": "DEEP"})
    body = json.dumps({"items": [served], "cursor": "1", "hasMore": False})
    feed.will(Answer(body.replace('"VALUES"', values).replace('"DEEP"', DEEP)))
    [batch] = client.follow("records", "0", once=True)
    data = batch.rows[0]["data"]
    assert data is not None
    assert data["values"] == {
        "long": 12345678901234567890123,
        "double": 0.7,
        "beyond": "1e400",
        "below": "-1e400",
        "nul": "\0",
        "odd": "\uffff\U0001f389",
    }
    written = json.dumps(batch.rows[0], allow_nan=False)
    assert DEEP in written and written.isascii() and "\0" not in written


def test_a_key_from_a_file_may_end_with_a_line_break(feed: Feed) -> None:
    with Tidemark(f"{feed.url}/", " rqp_acct_key\n") as client:
        feed.will(page(row("a"), cursor="1"))
        list(client.follow("records", "0", once=True))
    assert feed.asked[0].headers["Authorization"] == "Bearer rqp_acct_key"
    assert feed.asked[0].path == "/api/v1/record-changes"


@pytest.mark.parametrize(("url", "key"), [("quiz.example/api/v1", "key"), ("https://quiz.example", " ")])
def test_refuses_an_address_and_a_key_that_are_none(url: str, key: str) -> None:
    with pytest.raises(ValueError, match="base_url|account_key"):
        Tidemark(url, key)


def test_a_connection_of_ones_own_is_used_and_not_closed() -> None:
    http = httpx.Client(transport=httpx.MockTransport(lambda request: httpx.Response(200, json={"id": str(request.url)})))
    with Tidemark("https://quiz.example/api/v1", "key", http=http) as client:
        assert client.records.get("a") == {"id": "https://quiz.example/api/v1/records/a"}
    assert not http.is_closed
