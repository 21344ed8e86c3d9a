-- Submissions as they are now, from the files that curl.sh has left in FOLDER: duckdb -c "SET VARIABLE folder = '…'" -f duckdb.sql
-- A file holds an entity at most once; of several files the one with the later name has the newer state.
CREATE OR REPLACE TABLE records AS
SELECT * EXCLUDE (filename, deleted)
FROM (
  SELECT *
  FROM read_json(
    getvariable('folder') || '/records-*.ndjson',
    format = 'newline_delimited', filename = true, union_by_name = true, ignore_errors = false,
    columns = {
      id: 'VARCHAR', deleted: 'BOOLEAN', serialNumber: 'BIGINT', formId: 'VARCHAR', shareToken: 'VARCHAR', reportUrl: 'VARCHAR',
      submittedAt: 'TIMESTAMPTZ', updatedAt: 'TIMESTAMPTZ', examinee: 'JSON', metadata: 'JSON', data: 'JSON', result: 'JSON'
    })
  QUALIFY row_number() OVER (PARTITION BY id ORDER BY filename DESC) = 1
)
WHERE deleted IS NULL;
