-- Submissions as they are now, from the pages that a Singer target has loaded into PostgreSQL with the configuration records.json beside this
-- file. Each has its members as JSON: SELECT item ->> 'id', item -> 'result' ->> 'score' FROM records.
-- For forms: form_pages instead of record_pages.
CREATE OR REPLACE VIEW records AS
SELECT item
FROM (
  SELECT DISTINCT ON (item ->> 'id') item
  FROM
    record_pages,
    -- PostgreSQL has no NUL, for which U+FFFD stands. The tap writes a number beyond a double as Infinity, which is no JSON but for its quotes.
    regexp_replace(items, '(?<!\\)((?:\\\\)*)\\u0000', '\1\\ufffd', 'g') AS without_nul,
    regexp_replace(without_nul, '((?<!\\)": |[[]|, )(-?Infinity)(?=[],}])', '\1"\2"', 'g') AS page,
    json_array_elements(page::json) AS item
  ORDER BY item ->> 'id', _sdc_extracted_at DESC
) AS newest
WHERE NOT (item ->> 'deleted')::boolean;
