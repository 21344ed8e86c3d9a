"""What `follow` makes of the answers of a change feed, also of wrong ones."""

from __future__ import annotations

import json
from typing import Any

import pytest
from feed import Answer, Feed, gone, page, refusal, row

from tidemark_client import (
    ApiConnectionError,
    Batch,
    CursorExpiredError,
    InvalidAnswerError,
    RateLimitedError,
    Tidemark,
    UnauthorizedError,
)


def ids(batches: list[Batch[Any]]) -> list[list[str]]:
    return [[row["id"] for row in batch.rows] for batch in batches]


def once(client: Tidemark, cursor: str | None = None, **options: Any) -> list[Batch[Any]]:
    return list(client.follow("records", cursor, once=True, **options))


def test_reads_from_the_beginning_and_says_so(feed: Feed, client: Tidemark) -> None:
    feed.will(
        page(row("a"), row("b"), cursor="1", more=True, replica_watermark="2026-11-28T09:00:00.000Z"),
        page(row("c"), cursor="2", more=True),
        page(row("d"), cursor="3"),
        page(row("a"), cursor="4"),
    )
    batches = once(client)
    assert ids(batches) == [["a", "b"], ["c"], ["d"], ["a"]]
    assert feed.cursors() == [None, "1", "2", "3"]
    assert [batch.complete for batch in batches] == [False, False, True, True]
    assert [batch.starts_over for batch in batches] == [True, False, False, False]
    assert [batch.sweep for batch in batches] == [False, False, True, False]
    walk = batches[0].walk
    assert walk and [batch.walk for batch in batches] == [walk, walk, walk, ""]
    assert batches[0].watermark == "2026-11-28T09:00:00.000Z" and batches[1].watermark is None
    assert [batch.cursor for batch in batches] == [f"{walk}:1", f"{walk}:2", "3", "4"]


def test_goes_on_from_a_cursor(feed: Feed, client: Tidemark) -> None:
    feed.will(page(row("a"), gone("b"), cursor="8"))
    [batch] = once(client, "7")
    assert feed.cursors() == ["7"]
    assert (batch.walk, batch.starts_over, batch.sweep, batch.complete, batch.cursor) == ("", False, False, True, "8")
    assert [row["deleted"] for row in batch.rows] == [False, True]


@pytest.mark.parametrize("cursor", [None, ""])
def test_an_empty_cursor_is_none(feed: Feed, client: Tidemark, cursor: str | None) -> None:
    feed.will(page(cursor="1"), page(cursor="2"))
    batch, _ = once(client, cursor)
    assert feed.cursors() == [None, "1"]
    assert batch.rows == [] and batch.starts_over and batch.sweep


def test_a_program_that_ended_within_a_walk_from_the_beginning_goes_on_in_it(feed: Feed, client: Tidemark) -> None:
    feed.will(page(row("a"), cursor="1", more=True))
    first = next(client.follow("records"))
    feed.will(page(row("b"), cursor="2", more=True), page(row("c"), cursor="3"), page(row("d"), cursor="4"))
    batches = once(client, first.cursor)
    assert feed.cursors() == ["1", "2", "3"]
    assert [batch.walk for batch in batches] == [first.walk, first.walk, ""]
    assert [batch.starts_over for batch in batches] == [False, False, False]
    assert [batch.sweep for batch in batches] == [False, True, False]


def test_an_expired_cursor_begins_another_walk(feed: Feed, client: Tidemark) -> None:
    feed.will(
        page(row("a"), cursor="1", more=True),
        refusal(410, "cursor_expired"),
        page(row("b"), cursor="2", more=True),
        page(row("c"), cursor="3"),
        page(cursor="4"),
    )
    batches = once(client, "0")
    assert feed.cursors() == ["0", "1", None, "2", "3"]
    assert [batch.walk == "" for batch in batches] == [True, False, False, True]
    assert [batch.starts_over for batch in batches] == [False, True, False, False]
    assert [batch.sweep for batch in batches] == [False, False, True, False]


def test_a_cursor_that_expires_within_a_walk_from_the_beginning_begins_another_one(feed: Feed, client: Tidemark) -> None:
    feed.will(page(row("a"), cursor="1", more=True), refusal(410, "cursor_expired"), page(row("b"), cursor="2"), page(cursor="3"))
    first, second, _ = once(client)
    assert first.walk and second.walk and first.walk != second.walk
    assert (second.starts_over, second.sweep) == (True, True)


def test_an_expired_cursor_is_an_error_for_those_who_want_that(feed: Feed, client: Tidemark) -> None:
    feed.will(refusal(410, "cursor_expired"))
    with pytest.raises(CursorExpiredError):
        once(client, "0", on_expired="raise")


def test_410_without_a_cursor_is_an_error(feed: Feed, client: Tidemark) -> None:
    feed.will(refusal(410), refusal(410))
    with pytest.raises(CursorExpiredError):
        once(client, "0")
    assert feed.cursors() == ["0", None]


def test_what_does_not_pass_is_an_error(feed: Feed, client: Tidemark, pauses: list[float]) -> None:
    feed.will(refusal(401, "unauthorized"))
    with pytest.raises(UnauthorizedError):
        next(client.follow("records"))
    assert pauses == []


BODY = json.dumps({"items": [row("a", title="é\u2028"), gone("b")], "cursor": "1", "hasMore": True}, ensure_ascii=False).encode()


@pytest.mark.parametrize("framing", ["length", "chunked", "close"])
def test_a_cut_answer_counts_for_nothing_wherever_it_is_cut(feed: Feed, client: Tidemark, framing: str) -> None:
    cuts = range(len(BODY))
    feed.will(*(Answer(BODY, cut_at=at, framing=framing) for at in cuts), Answer(BODY, framing=framing), page(cursor="2"))
    batches = client.follow("records")
    assert ids([next(batches), next(batches)]) == [["a", "b"], []]
    assert feed.cursors() == [None] * (len(BODY) + 1) + ["1"]


@pytest.mark.parametrize(
    "answer",
    [
        Answer("<html>Sign in</html>", headers={"Content-Type": "text/html"}),
        Answer(b"\xff"),
        Answer("", 204),
        Answer("null"),
        Answer([]),
        Answer({"items": [], "cursor": "1"}),
        Answer({"items": [], "hasMore": False}),
        Answer({"cursor": "1", "hasMore": False}),
        Answer({"items": {}, "cursor": "1", "hasMore": False}),
        Answer({"items": [], "cursor": 1, "hasMore": False}),
        Answer({"items": [], "cursor": "", "hasMore": False}),
        Answer({"items": [], "cursor": "1", "hasMore": "false"}),
        Answer({"items": [{"id": "a"}], "cursor": "1", "hasMore": False}),
        Answer({"items": ["a"], "cursor": "1", "hasMore": False}),
        page(cursor="1", more=True),
        page(row("a"), cursor="0", more=True),
    ],
)
def test_an_answer_that_is_no_page_is_asked_for_again(feed: Feed, client: Tidemark, answer: Answer) -> None:
    feed.will(answer, answer, page(row("a"), cursor="1"))
    assert ids(once(client, "0")) == [["a"]]
    assert feed.cursors() == ["0", "0", "0"]


DATE = "Sat, 28 Nov 2026 08:30:00 GMT"


@pytest.mark.parametrize(
    ("headers", "pause"),
    [
        ({"Retry_After": "7"}, 7),
        ({"Retry_After": "Sat, 28 Nov 2026 08:30:09 GMT", "Date": DATE}, 9),
        ({"Retry_After": "Saturday, 28-Nov-26 08:30:09 GMT", "Date": DATE}, 9),
        ({"Retry_After": "Sat Nov 28 08:30:09 2026", "Date": DATE}, 9),
        ({"Retry_After": "999999999999"}, 3_600),
        ({"Retry_After": "Fri, 31 Dec 9999 23:59:59 GMT", "Date": DATE}, 3_600),
    ],
)
@pytest.mark.parametrize("status", [429, 503])
def test_waits_as_long_as_retry_after_says(
    feed: Feed, client: Tidemark, pauses: list[float], status: int, headers: dict[str, str], pause: float
) -> None:
    feed.will(refusal(status, **headers), page(row("a"), cursor="1"))
    next(client.follow("records"))
    assert pauses == [pause]


@pytest.mark.parametrize(
    "headers",
    [
        {},
        *(
            {"Retry_After": value, "Date": DATE}
            for value in ["soon", "", "-1", "1.5", "0", "9" * 5_000, "Sat, 28 Nov 2026 08:29:00 GMT"]
        ),
        {"Retry_After": "Sat, 99 Nov 2026 08:30:09 GMT"},
    ],
)
def test_pauses_longer_and_longer_where_retry_after_says_nothing(
    feed: Feed, client: Tidemark, pauses: list[float], headers: dict[str, str]
) -> None:
    feed.will(*[refusal(503, **headers)] * 9, page(row("a"), cursor="1"))
    next(client.follow("records"))
    assert len(pauses) == 9
    for pause, most in zip(pauses, [1, 2, 4, 8, 16, 32, 60, 60, 60], strict=True):
        assert most / 2 <= pause <= most


def test_waits_out_what_passes_for_ever(feed: Feed, client: Tidemark, pauses: list[float]) -> None:
    passing = [refusal(429), refusal(500), Answer("<html>", 502), refusal(503, Retry_After="5"), Answer("", 504), refusal(408)]
    feed.will(*passing * 50, page(row("a"), cursor="1"))
    assert ids([next(client.follow("records"))]) == [["a"]]
    assert len(pauses) == len(passing) * 50


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (refusal(429, Retry_After="61"), RateLimitedError),
        (Answer("no JSON"), InvalidAnswerError),
        (Answer("[", cut_at=0), ApiConnectionError),
    ],
)
def test_once_gives_up_in_the_end(feed: Feed, answer: Answer, error: type[Exception]) -> None:
    with Tidemark(feed.url, "key", retry_seconds=0.4) as client:
        feed.will(answer)
        with pytest.raises(error):
            once(client, "0")
    assert len(feed.asked) == 1


def test_a_server_that_is_away_is_waited_for(pauses: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    with Tidemark("http://127.0.0.1:9/api/v1", "key") as client:
        batches = client.follow("records")

        class Enough(Exception):
            pass

        def stop(pause: float) -> None:
            pauses.append(pause)
            if len(pauses) == 5:
                raise Enough

        monkeypatch.setattr("time.sleep", stop)
        with pytest.raises(Enough):
            next(batches)


def test_waits_for_news_where_the_api_can(feed: Feed, client: Tidemark) -> None:
    feed.will(page(row("a"), cursor="1"), page(cursor="2", Preference_Applied="wait=30"), page(row("b"), cursor="3"))
    batches = client.follow("records")
    assert ids([next(batches), next(batches), next(batches)]) == [["a"], [], ["b"]]
    assert {asked.headers.get("Prefer") for asked in feed.asked} == {"wait=30"}


@pytest.mark.parametrize("options", [{"once": True}, {"wait_seconds": 0}])
def test_does_not_wait_where_nobody_wants_it(feed: Feed, client: Tidemark, options: dict[str, Any]) -> None:
    feed.will(page(cursor="1"))
    next(client.follow("records", "0", **options))
    assert "Prefer" not in feed.asked[0].headers


def test_does_not_ask_too_often(feed: Feed, client: Tidemark, pauses: list[float]) -> None:
    feed.will(
        page(row("a"), cursor="1", more=True),
        page(row("b"), cursor="2"),
        page(row("c"), cursor="3", Preference_Applied="wait=30"),
        page(cursor="4", Preference_Applied="wait=30"),
        page(cursor="5"),
        page(cursor="6"),
    )
    batches = client.follow("records")
    for _ in range(6):
        next(batches)
    assert [round(pause) for pause in pauses] == [1, 1, 1, 5]


def test_polls_where_the_api_does_not_wait(feed: Feed, client: Tidemark, pauses: list[float]) -> None:
    feed.will(page(row("a"), cursor="1"), page(row("b"), cursor="2"), page(cursor="3"))
    batches = client.follow("records", wait_seconds=0, poll_seconds=60)
    for _ in range(3):
        next(batches)
    assert [round(pause) for pause in pauses] == [60, 60]


def test_asks_for_what_it_was_told(feed: Feed, client: Tidemark) -> None:
    feed.will(page(cursor="1"))
    list(client.follow("forms", "latest", view="full", fields=["title", "fields"], limit=50, once=True))
    [asked] = feed.asked
    assert asked.path == "/api/v1/form-changes"
    assert asked.query == {"view": "full", "fields": "title,fields", "limit": "50", "cursor": "latest"}
    assert asked.headers["Authorization"] == "Bearer rqp_acct_key"


@pytest.mark.parametrize(
    "arguments", [{"list": "quizzes"}, {"list": "records", "wait_seconds": 61}, {"list": "forms", "wait_seconds": 0.5}]
)
def test_refuses_arguments_that_the_api_would_ignore(client: Tidemark, arguments: Any) -> None:
    with pytest.raises(ValueError, match="must be"):
        client.follow(**arguments)


def test_logs_what_it_waits_for_without_anything_of_the_rows(
    feed: Feed, client: Tidemark, caplog: pytest.LogCaptureFixture
) -> None:
    cut = Answer(json.dumps({"items": [row("a", email="ada@example.com")]}), cut_at=60, framing="close")
    feed.will(cut, refusal(503, "service_unavailable", "temporarily unavailable", Retry_After="5"), page(cursor="1"))
    once(client, "0")
    assert "503 service_unavailable: temporarily unavailable; asking again in 5.0 s" in caplog.text
    assert "ada" not in caplog.text and "rqp_acct_key" not in caplog.text
