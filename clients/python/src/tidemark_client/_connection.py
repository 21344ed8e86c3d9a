"""Sends requests, and reads answers and errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import httpx

from ._json import read_json
from ._retry import repeat, retry_after_seconds
from .errors import ApiConnectionError, ApiError, IgnoredParameterError, InvalidAnswerError, error_class

T = TypeVar("T")
Parameters = Mapping[str, str]

VERSION = "0.1.0"
_CONNECT_TIMEOUT_S = 10.0
_SHOWN_CHARACTERS = 200


class Connection:
    """One API with one key."""

    def __init__(self, base_url: str, account_key: str, *, timeout_s: float, patience_s: float, http: httpx.Client | None) -> None:
        if not base_url.startswith(("http://", "https://")):
            raise ValueError(f"base_url must begin with https:// or http://, such as https://quiz.example/api/v1, not {base_url!r}")
        if not account_key.strip():
            raise ValueError("account_key is empty")
        self._base_url = base_url.rstrip("/")
        # A key that was read from a file may have a line break.
        self._headers = {"Authorization": f"Bearer {account_key.strip()}", "User-Agent": f"tidemark-client-python/{VERSION}"}
        self._timeout_s = timeout_s
        self.patience_s = patience_s
        self._http = http or httpx.Client()
        self._close = None if http else self._http.close

    def close(self) -> None:
        if self._close is not None:
            self._close()

    def ask(
        self,
        path: str,
        parameters: Parameters,
        read: Callable[[Any, httpx.Headers], T],
        *,
        wait_s: int = 0,
        patience_s: float | None = None,
    ) -> T:
        """What `read` makes of the JSON of an answer and its headers. Raises InvalidAnswerError, as `read` may, too.

        `wait_s` is sent as `Prefer: wait`, unless it is 0. `patience_s` is for how long failures that pass may last.
        """
        prefer = {"Prefer": f"wait={wait_s}"} if wait_s > 0 else {}

        def attempt() -> T:
            response = self._send(path, parameters, {"Accept": "application/json", **prefer}, wait_s, stream=False)
            try:
                body = read_json(response.content)
            except ValueError as error:
                raise invalid(response) from error
            return read(body, response.headers)

        return repeat(attempt, self.patience_s if patience_s is None else patience_s)

    def stream(self, path: str, parameters: Parameters) -> httpx.Response:
        """An answer of NDJSON whose body is not read yet."""

        def attempt() -> httpx.Response:
            response = self._send(path, parameters, {"Accept": "application/x-ndjson"}, 0, stream=True)
            if not response.headers.get("content-type", "").startswith("application/x-ndjson"):
                response.close()
                raise invalid(response)
            return response

        return repeat(attempt, self.patience_s)

    def _send(
        self, path: str, parameters: Parameters, headers: Mapping[str, str], longer_s: float, *, stream: bool
    ) -> httpx.Response:
        timeout = httpx.Timeout(self._timeout_s + longer_s, connect=_CONNECT_TIMEOUT_S)
        request = self._http.build_request(
            "GET", f"{self._base_url}/{path}", params=dict(parameters), headers={**self._headers, **headers}, timeout=timeout
        )
        try:
            response = self._http.send(request, stream=stream)
            if response.status_code != 200:
                response.read()
        except httpx.LocalProtocolError:
            raise
        except (httpx.TransportError, httpx.DecodingError) as error:
            raise ApiConnectionError(f"no whole answer of {self._base_url}: {error or type(error).__name__}") from error
        if response.status_code != 200:
            raise invalid(response) if response.is_success else _api_error(response, parameters)
        if "ignored-parameters" in response.headers:
            response.close()
            raise IgnoredParameterError(f"the API does not know {response.headers['ignored-parameters']}")
        return response


def invalid(response: httpx.Response) -> InvalidAnswerError:
    # The body may be half a page of rows, with personal data: it is in no message.
    content_type = response.headers.get("content-type", "unknown type")
    return InvalidAnswerError(f"not an answer of the API ({content_type}): {response.url.copy_with(query=None)}")


def _api_error(response: httpx.Response, parameters: Parameters) -> ApiError:
    code, message = None, response.text[:_SHOWN_CHARACTERS]
    try:
        error = read_json(response.content)["error"]
        code, message = str(error["code"]), str(error["message"])
    except (ValueError, TypeError, KeyError):
        pass
    if response.is_redirect:
        message = f"redirected to {response.headers['location']}: use that URL"
    return error_class(response.status_code)(
        response.status_code,
        code,
        message,
        parameter=next((name for name in parameters if message.startswith((f"{name} ", f"{name}="))), None),
        request_id=response.headers.get("x-request-id"),
        retry_after=retry_after_seconds(response.headers),
    )
