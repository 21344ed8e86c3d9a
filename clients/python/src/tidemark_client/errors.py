"""What the client raises. Everything but wrong arguments is a `TidemarkError`."""

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
    """The answer is none of the API: a proxy's page, for example, or half of one."""


class IgnoredParameterError(TidemarkError):
    """The API does not know a parameter, such as one of a later release: its answer would not be restricted by it."""


class ApiError(TidemarkError):
    """The API, or a proxy before it, answered with an error."""

    status: int
    code: str | None
    """Such as `bad_request`; `None` if the answer is not the API's own. Programs decide by it."""
    message: str
    """For people; its text may change."""
    parameter: str | None
    """The parameter of the request that breaks its rule, by its name in the API (`minScore`), as far as the message begins with one."""
    request_id: str | None
    """Names the request in the logs of the API."""
    retry_after: float | None
    """In how many seconds the API wants to be asked again, by `Retry-After`; `None` where it does not say, or not readably."""

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
    """410: the deletions since this cursor are not known any more."""


class RateLimitedError(ApiError):
    """429: the key has used up its minute, or its team has too many exports."""


class ServiceUnavailableError(ApiError):
    """503: the API cannot answer just now."""


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
