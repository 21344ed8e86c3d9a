const shared = {
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '\\.ts$': '<rootDir>/test/support/stripTypes.mjs' },
}

/** @type {import('jest').Config} */
export default {
  maxWorkers: 2,
  testSequencer: '<rootDir>/test/support/slowestFirst.mjs',
  testTimeout: 120_000,
  // A worker that has run hundreds of files takes more than the default 500 ms to end; one that leaks never ends.
  workerGracefulExitTimeout: 10_000,
  reporters: ['default', '<rootDir>/test/support/countReporter.mjs'],
  projects: [
    { ...shared, displayName: 'unit', testMatch: ['<rootDir>/test/unit/**/*.test.ts'] },
    {
      ...shared,
      displayName: 'engines',
      testMatch: ['<rootDir>/test/{contract,integration,fault,e2e,security}/**/*.test.ts'],
      globalSetup: '<rootDir>/test/support/startEngines.ts',
      globalTeardown: '<rootDir>/test/support/stopEngines.ts',
    },
  ],
}
