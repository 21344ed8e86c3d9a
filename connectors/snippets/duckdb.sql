-- Submissions as they are now, from the files that curl.sh has left in FOLDER: duckdb -c "SET VARIABLE folder = '…'" -f duckdb.sql
-- A file holds an entity at most once; of several files the one with the later name has the newer state.
CREATE OR REPLACE TABLE records AS
SELECT item.* EXCLUDE (deleted)
FROM (
  SELECT filename, unnest(items) AS item
  FROM read_json(
    getvariable('folder') || '/records-*.json',
    format = 'unstructured', filename = true, maximum_object_size = 100_000_000,
    columns = {
      items: 'STRUCT(
        id VARCHAR, "changedAt" TIMESTAMPTZ, deleted BOOLEAN, "serialNumber" BIGINT, "formId" VARCHAR, "shareToken" VARCHAR,
        "reportUrl" VARCHAR, "submittedAt" TIMESTAMPTZ, "updatedAt" TIMESTAMPTZ, examinee JSON, metadata JSON, data JSON, result JSON)[]'
    })
)
QUALIFY row_number() OVER (PARTITION BY item.id ORDER BY filename DESC) = 1 AND NOT item.deleted;
