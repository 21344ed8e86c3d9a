/** `describe` where a program of others is installed, and in CI, where its absence is a failure; else the tests are skipped, and this says so. */
export function describeWith(program: string, isThere: boolean): typeof describe | typeof describe.skip {
  if (isThere || process.env['CI'] !== undefined) return describe
  process.stderr.write(`${program}: skipped, not installed\n`)
  return describe.skip
}
