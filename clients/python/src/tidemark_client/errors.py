"""The errors of the client. All are `TidemarkError`s, except those of wrong arguments."""

from __future__ import annotations

__all__ = [
    "ApiConnectionError",
    "ApiError",
    "BadRequestError",
    "CursorExpiredError",
    "IgnoredParameterError",
    "InvalidAnswerError",
    "NotFoundError",
    "RateLimitedError",
    "ServiceUnavailableError",
    "TidemarkError",
    "UnauthorizedError",
]


class TidemarkError(Exception):
    """The base of the errors of this package."""


class ApiConnectionError(TidemarkError):
    """No answer came, or it was cut before its end."""


class InvalidAnswerError(TidemarkError):
    """The answer is not a whole answer of the API, but a proxy's page, for example, or a part."""


class IgnoredParameterError(TidemarkError):
    """The API does not support a parameter, such as one of a later release, so its answer would not be filtered by it."""


class ApiError(TidemarkError):
    """The API, or a proxy before it, answered with an error."""

    status: int
    code: str | None
    """For programs, such as `bad_request`; `None` if the answer comes from a proxy."""
    message: str
    """For people; its text may change."""
    parameter: str | None
    """The API's name of the parameter that breaks its rule (`minScore`), if the message begins with one."""
    request_id: str | None
    """Identifies the request in the logs of the API."""
    retry_after: float | None
    """The delay in seconds that `Retry-After` demands; `None` if the header is missing or unreadable."""

    def __init__(
        self,
        status: int,
        code: str | None,
        message: str,
        *,
        parameter: str | None = None,
        request_id: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(f"{status} {code or 'without a code'}: {message}")
        self.status = status
        self.code = code
        self.message = message
        self.parameter = parameter
        self.request_id = request_id
        self.retry_after = retry_after


class BadRequestError(ApiError):
    """400: a parameter breaks its rule, or a cursor belongs to another team, list, `view` or `fields`."""


class UnauthorizedError(ApiError):
    """401: the key is unknown, expired or revoked. 403: a proxy refuses."""


class NotFoundError(ApiError):
    """404: no such form or submission, or no API at `base_url`."""


class CursorExpiredError(ApiError):
    """410: the deletions since the cursor are unknown."""


class RateLimitedError(ApiError):
    """429: the key has used all requests of its minute, or its team has too many requests or exports in progress."""


class ServiceUnavailableError(ApiError):
    """503: the API cannot give the whole answer now."""


_BY_STATUS: dict[int, type[ApiError]] = {
    400: BadRequestError,
    401: UnauthorizedError,
    403: UnauthorizedError,
    404: NotFoundError,
    410: CursorExpiredError,
    429: RateLimitedError,
    503: ServiceUnavailableError,
}


def error_class(status: int) -> type[ApiError]:
    """The class of the error for the status of an answer."""
    return _BY_STATUS.get(status, ApiError)
