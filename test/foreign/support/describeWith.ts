/** `describe` where a third-party program is installed, and always in CI; else skips the tests and prints that. */
export function describeWith(program: string, isThere: boolean): typeof describe | typeof describe.skip {
  if (isThere || process.env['CI'] !== undefined) return describe
  process.stderr.write(`${program}: skipped, not installed\n`)
  return describe.skip
}
