"""Reads a team's quiz forms and submissions, and keeps a copy of them current.

```python
from tidemark_client import Tidemark

with Tidemark("https://quiz.example/api/v1", "rqp_acct_...") as client:
    for batch in client.follow("records"):
        for row in batch.rows:
            print(row["id"], "is gone" if row["deleted"] else "is new or has changed")
```
"""

from ._export import Export
from ._follow import Batch
from ._parameters import FormFilters, RecordFilters
from .client import Forms, Pages, Records, Tidemark
from .errors import (
    ApiConnectionError,
    ApiError,
    BadRequestError,
    CursorExpiredError,
    IgnoredParameterError,
    InvalidAnswerError,
    NotFoundError,
    RateLimitedError,
    ServiceUnavailableError,
    TidemarkError,
    UnauthorizedError,
)
from .models import (
    Form,
    FormChange,
    FormList,
    FormSummary,
    Submission,
    SubmissionChange,
    SubmissionCounts,
    SubmissionList,
    SubmissionSummary,
)

__all__ = [
    "ApiConnectionError",
    "ApiError",
    "BadRequestError",
    "Batch",
    "CursorExpiredError",
    "Export",
    "Form",
    "FormChange",
    "FormFilters",
    "FormList",
    "FormSummary",
    "Forms",
    "IgnoredParameterError",
    "InvalidAnswerError",
    "NotFoundError",
    "Pages",
    "RateLimitedError",
    "RecordFilters",
    "Records",
    "ServiceUnavailableError",
    "Submission",
    "SubmissionChange",
    "SubmissionCounts",
    "SubmissionList",
    "SubmissionSummary",
    "Tidemark",
    "TidemarkError",
    "UnauthorizedError",
]
