import type { Checks } from '../../src/core/process/health.ts'

/** What every check says now that has a problem, as `name: problem`. */
export const readinessOf = (checks: Checks) => async (): Promise<string[]> => {
  const said = Object.entries(checks).map(async ([name, check]) => {
    const problem = await check(AbortSignal.timeout(2_000)).catch((error: Error) => error.message)
    return problem === undefined ? [] : [`${name}: ${problem}`]
  })
  return (await Promise.all(said)).flat()
}
