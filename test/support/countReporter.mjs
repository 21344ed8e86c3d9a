/** Ends a run with one line that says how many tests passed and failed; a file that cannot run counts as a failure. */
export default class CountReporter {
  onRunComplete(_contexts, { numPassedTests, numFailedTests, numRuntimeErrorTestSuites, numPendingTests }) {
    const skipped = numPendingTests > 0 ? `, ${numPendingTests} skipped` : ''
    process.stdout.write(`${numPassedTests} passed, ${numFailedTests + numRuntimeErrorTestSuites} failed${skipped}\n`)
  }
}
