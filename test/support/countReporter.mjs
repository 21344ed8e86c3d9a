import { appendFileSync } from 'node:fs'

/**
 * Ends a run with one line of passed and failed counts; a file that cannot run counts as a failure. Appends the paths of failed files to
 * the file named by FAILED_TEST_FILES, one per line.
 */
export default class CountReporter {
  onRunComplete(
    _contexts,
    { numPassedTests, numFailedTests, numRuntimeErrorTestSuites, numPendingTests, testResults },
  ) {
    const list = process.env.FAILED_TEST_FILES
    const failed = testResults.filter(({ numFailingTests, testExecError }) => numFailingTests > 0 || testExecError)
    const paths = new Set(failed.map(({ testFilePath }) => testFilePath))
    if (list !== undefined) appendFileSync(list, [...paths].map((path) => `${path}\n`).join(''))
    const skipped = numPendingTests > 0 ? `, ${numPendingTests} skipped` : ''
    process.stdout.write(`${numPassedTests} passed, ${numFailedTests + numRuntimeErrorTestSuites} failed${skipped}\n`)
  }
}
