# Generated from the API's description, /api/v1/openapi.json; pyproject.toml says how.

from __future__ import annotations

from typing import Any, Literal, TypedDict

from tidemark_client._typing import Required


class FormSummary(TypedDict, total=False):
    id: str
    """The form identifier."""

    title: str
    scene: Literal["knowledge_quiz", "random_knowledge_quiz", "scored_quiz", "outcome_quiz"]
    language: str | None
    """Locale code of the form."""

    publicToken: str | None
    """Short public token of the form."""

    shareUrl: str | None
    """Public URL of the form, built on the public token."""

    localization: dict[str, Any] | None
    isActive: bool | None
    createdAt: str
    updatedAt: str


class Form(TypedDict, total=False):
    id: str
    """The form identifier."""

    title: str
    scene: Literal["knowledge_quiz", "random_knowledge_quiz", "scored_quiz", "outcome_quiz"]
    language: str | None
    """Locale code of the form."""

    publicToken: str | None
    """Short public token of the form."""

    shareUrl: str | None
    """Public URL of the form, built on the public token."""

    localization: dict[str, Any] | None
    isActive: bool | None
    createdAt: str
    updatedAt: str
    description: str | None
    layout: str | None
    """A layout name."""

    systemText: dict[str, Any] | None
    fields: list[Any] | None
    """Questions and page breaks; left out with `includeFields=false`."""

    report: dict[str, Any] | None
    """Configuration of report and dimension analysis; left out with `includeReport=false`."""


class FormList(TypedDict, total=False):
    totalDocs: Required[int]
    """The exact number of matching items on all pages."""

    page: Required[int]
    """The requested page."""

    limit: Required[int]
    """The requested number of items per page."""

    items: Required[list[FormSummary]]
    """Newest first."""


class SubmissionSummaryExaminee(TypedDict, total=False):
    id: str | None
    examineeId: str | None
    email: str | None
    name: str | None
    customData: Any


class SubmissionSummaryMetadata(TypedDict, total=False):
    utmSource: str | None
    utmMedium: str | None
    utmCampaign: str | None
    utmTerm: str | None
    utmContent: str | None
    referrer: str | None


class SubmissionSummaryResult(TypedDict, total=False):
    status: Literal["pending", "processing", "completed", "failed"]
    score: float | None
    maxScore: float | None
    level: str | None
    outcomeCode: str | None
    outcomeName: str | None


class SubmissionSummary(TypedDict, total=False):
    id: str
    """The submission identifier."""

    serialNumber: int | None
    """Integer serial of the submission."""

    formId: str
    """The form that the submission belongs to."""

    shareToken: str | None
    """Short token of the submission."""

    reportUrl: str | None
    """URL of the submission's report."""

    submittedAt: str
    """When the submission was created."""

    updatedAt: str
    examinee: SubmissionSummaryExaminee | None
    """Null for anonymous submissions."""

    metadata: SubmissionSummaryMetadata | None
    data: dict[str, Any] | None
    """Answers by the `code` of each form field."""

    result: SubmissionSummaryResult
    """Compact summary of the report."""


class SubmissionExaminee(TypedDict, total=False):
    id: str | None
    email: str | None
    name: str | None


class SubmissionMetadata(TypedDict, total=False):
    utmSource: str | None
    utmMedium: str | None
    utmCampaign: str | None
    utmTerm: str | None
    utmContent: str | None
    referrer: str | None
    ip: str | None
    userAgent: str | None


class SubmissionReportResultOverallAnalysis(TypedDict, total=False):
    score: float | None
    maxScore: float | None
    level: str | None
    summary: str | None
    suggestions: str | None


class SubmissionReportResultDimensionAnalysis(TypedDict, total=False):
    title: str | None
    radar: list[Any] | None
    items: list[Any] | None


class SubmissionReportResultOutcome(TypedDict, total=False):
    code: str | None
    name: str | None
    ranking: Any


class SubmissionReportResultAiSuggestion(TypedDict, total=False):
    status: str | None
    content: str | None


class SubmissionReportResult(TypedDict, total=False):
    status: Literal["pending", "processing", "completed", "failed"] | None
    overallAnalysis: SubmissionReportResultOverallAnalysis | None
    dimensionAnalysis: SubmissionReportResultDimensionAnalysis | None
    outcome: SubmissionReportResultOutcome | None
    aiSuggestion: SubmissionReportResultAiSuggestion | None


class Submission(TypedDict, total=False):
    id: str
    """The submission identifier."""

    serialNumber: int | None
    """Integer serial of the submission."""

    formId: str
    """The form that the submission belongs to."""

    shareToken: str | None
    """Short token of the submission."""

    reportUrl: str | None
    """URL of the submission's report."""

    submittedAt: str
    """When the submission was created."""

    updatedAt: str
    examinee: SubmissionExaminee | None
    """Null for anonymous submissions."""

    metadata: SubmissionMetadata | None
    data: dict[str, Any] | None
    """Answers by the `code` of each form field."""

    reportResult: SubmissionReportResult | None
    """The full report."""


class SubmissionList(TypedDict, total=False):
    totalDocs: Required[int]
    """The exact number of matching items on all pages."""

    page: Required[int]
    """The requested page."""

    limit: Required[int]
    """The requested number of items per page."""

    items: Required[list[SubmissionSummary]]
    """Newest first."""


class SubmissionCountsItemScores(TypedDict, total=False):
    count: Required[int]
    min: Required[float | None]
    max: Required[float | None]
    mean: Required[float | None]


class SubmissionCountsItem(TypedDict, total=False):
    key: Required[Any]
    """By a time: the start of the hour, day or month, in local time of the time zone with its offset, such as `2026-03-29T03:00:00.000+02:00`. By a value: text, or null for submissions without a value. By both: a list of the two."""

    count: Required[int]
    scores: SubmissionCountsItemScores
    """Number, minimum, maximum and mean of `result.score`, of submissions that have a score. Only with `scores=true`."""


class SubmissionCounts(TypedDict, total=False):
    totalDocs: Required[int]
    """The exact number of matching submissions. Equals the sum of all counts, unless `by` names `answer`: a list counts once for each element."""

    by: Required[Literal["hour", "day", "month", "form", "status", "level", "outcome", "utmSource", "utmCampaign", "answer", "hour,form", "hour,status", "hour,level", "hour,outcome", "hour,utmSource", "hour,utmCampaign", "hour,answer", "day,form", "day,status", "day,level", "day,outcome", "day,utmSource", "day,utmCampaign", "day,answer", "month,form", "month,status", "month,level", "month,outcome", "month,utmSource", "month,utmCampaign", "month,answer"]]
    """What submissions are counted by: a time, which is the `hour`, `day` or `month` of `submittedAt`; a value, which is the `form`, `status`, `level`, `outcome`, `utmSource`, `utmCampaign`, or `answer` to the field `code`; or a time and a value, such as `day,level`."""

    items: Required[list[SubmissionCountsItem]]
    """By a time: every hour, day or month from the first with submissions to the last, oldest first; those between may have none. By a value: each value that submissions have, the most frequent first, then by key. By both: the times with submissions, oldest first, each with its values."""


class FormChange(TypedDict, total=False):
    id: Required[str]
    """The form identifier."""

    title: str
    scene: Literal["knowledge_quiz", "random_knowledge_quiz", "scored_quiz", "outcome_quiz"]
    language: str | None
    """Locale code of the form."""

    publicToken: str | None
    """Short public token of the form."""

    shareUrl: str | None
    """Public URL of the form, built on the public token."""

    localization: dict[str, Any] | None
    isActive: bool | None
    createdAt: str
    updatedAt: str
    description: str | None
    layout: str | None
    """A layout name."""

    systemText: dict[str, Any] | None
    fields: list[Any] | None
    """Questions and page breaks; left out with `includeFields=false`."""

    report: dict[str, Any] | None
    """Configuration of report and dimension analysis; left out with `includeReport=false`."""

    changedAt: Required[str]
    """The timestamp of the entity's newest record in Kafka."""

    deleted: Required[bool]
    """`true`: the entity is deleted. The only other members are `id` and `changedAt`."""


class SubmissionChangeExaminee(TypedDict, total=False):
    id: str | None
    examineeId: str | None
    email: str | None
    name: str | None
    customData: Any


class SubmissionChangeMetadata(TypedDict, total=False):
    utmSource: str | None
    utmMedium: str | None
    utmCampaign: str | None
    utmTerm: str | None
    utmContent: str | None
    referrer: str | None
    ip: str | None
    userAgent: str | None


class SubmissionChangeResult(TypedDict, total=False):
    status: Literal["pending", "processing", "completed", "failed"]
    score: float | None
    maxScore: float | None
    level: str | None
    outcomeCode: str | None
    outcomeName: str | None


class SubmissionChangeReportResultOverallAnalysis(TypedDict, total=False):
    score: float | None
    maxScore: float | None
    level: str | None
    summary: str | None
    suggestions: str | None


class SubmissionChangeReportResultDimensionAnalysis(TypedDict, total=False):
    title: str | None
    radar: list[Any] | None
    items: list[Any] | None


class SubmissionChangeReportResultOutcome(TypedDict, total=False):
    code: str | None
    name: str | None
    ranking: Any


class SubmissionChangeReportResultAiSuggestion(TypedDict, total=False):
    status: str | None
    content: str | None


class SubmissionChangeReportResult(TypedDict, total=False):
    status: Literal["pending", "processing", "completed", "failed"] | None
    overallAnalysis: SubmissionChangeReportResultOverallAnalysis | None
    dimensionAnalysis: SubmissionChangeReportResultDimensionAnalysis | None
    outcome: SubmissionChangeReportResultOutcome | None
    aiSuggestion: SubmissionChangeReportResultAiSuggestion | None


class SubmissionChange(TypedDict, total=False):
    id: Required[str]
    """The submission identifier."""

    serialNumber: int | None
    """Integer serial of the submission."""

    formId: str
    """The form that the submission belongs to."""

    shareToken: str | None
    """Short token of the submission."""

    reportUrl: str | None
    """URL of the submission's report."""

    submittedAt: str
    """When the submission was created."""

    updatedAt: str
    examinee: SubmissionChangeExaminee | None
    """Null for anonymous submissions."""

    metadata: SubmissionChangeMetadata | None
    data: dict[str, Any] | None
    """Answers by the `code` of each form field."""

    result: SubmissionChangeResult
    """Compact summary of the report."""

    reportResult: SubmissionChangeReportResult | None
    """The full report."""

    changedAt: Required[str]
    """The timestamp of the entity's newest record in Kafka."""

    deleted: Required[bool]
    """`true`: the entity is deleted. The only other members are `id` and `changedAt`."""


class FormChanges(TypedDict, total=False):
    items: Required[list[FormChange]]
    """In no particular order. Empty only if `hasMore` is false."""

    cursor: Required[str]
    """The parameter `cursor` of the next request."""

    hasMore: Required[bool]
    """`true`: more rows are ready; request them at once."""


class SubmissionChanges(TypedDict, total=False):
    items: Required[list[SubmissionChange]]
    """In no particular order. Empty only if `hasMore` is false."""

    cursor: Required[str]
    """The parameter `cursor` of the next request."""

    hasMore: Required[bool]
    """`true`: more rows are ready; request them at once."""


class ErrorError(TypedDict, total=False):
    code: Required[Literal["bad_request", "unauthorized", "not_found", "method_not_allowed", "request_timeout", "cursor_expired", "uri_too_long", "rate_limited", "headers_too_long", "internal_error", "service_unavailable"]]
    message: Required[str]
    """For people; its text may change."""


class Error(TypedDict, total=False):
    error: Required[ErrorError]
