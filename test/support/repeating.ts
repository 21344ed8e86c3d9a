/**
 * Contract tests in which cached answers are served, so that they run again without the answer cache (project `uncached`). The others never
 * repeat a request for one version of a list. A test file that is missing here fails (api.ts).
 */
export const repeating = [
  ...['apiConditional', 'apiCsv', 'apiDescription', 'apiExports', 'apiFullView', 'apiHead', 'apiLinks'],
  ...['apiRestartedRedis', 'apiWaiting'],
].map((name) => `contract/${name}`)

/** Tests that compare processes with and without the answer cache themselves, or do not check bodies. */
export const sideBySide = ['cachedAnswers', 'apiOracle', 'apiCountOracle', 'hostileHeaders'].map(
  (name) => `contract/${name}`,
)
