/**
 * The contract tests in which cached answers are served: they run a second time without any (project `uncached`). The others never ask twice
 * about one version of a list, so that nothing that is kept is ever served. A file that is missing here fails (api.ts).
 */
export const repeating = [
  ...['apiConditional', 'apiCsv', 'apiDescription', 'apiExports', 'apiFullView', 'apiHead', 'apiLinks'],
  ...['apiRestartedRedis', 'apiWaiting'],
].map((name) => `contract/${name}`)

/** These ask processes with and without cached answers side by side, or do not look at bodies. */
export const sideBySide = ['cachedAnswers', 'apiOracle', 'apiCountOracle', 'hostileHeaders'].map(
  (name) => `contract/${name}`,
)
