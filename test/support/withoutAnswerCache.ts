/** Disables the answer cache, for the second run of API tests (project `uncached`). */
process.env['ANSWER_CACHE_BYTES'] = '0'
