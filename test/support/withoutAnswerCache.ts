/** Every test of the API runs a second time without cached answers. */
process.env['ANSWER_CACHE_BYTES'] = '0'
