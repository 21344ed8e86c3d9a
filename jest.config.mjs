import { fileURLToPath } from 'node:url'

// For everything that tests start, directly or not: a program whose code Node finds compiled starts in two thirds of the time.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('var/test/compile-cache', import.meta.url))

const shared = {
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '\\.ts$': '<rootDir>/test/support/stripTypes.mjs' },
}

const withEngines = {
  ...shared,
  globalSetup: '<rootDir>/test/support/startEngines.ts',
  globalTeardown: '<rootDir>/test/support/stopEngines.ts',
}

/** @type {import('jest').Config} */
export default {
  testSequencer: '<rootDir>/test/support/slowestFirst.mjs',
  testTimeout: 240_000,
  // A worker that has run hundreds of files takes more than the default 500 ms to end; one that leaks never ends.
  workerGracefulExitTimeout: 10_000,
  reporters: ['default', '<rootDir>/test/support/countReporter.mjs'],
  projects: [
    // On three nodes of each engine, which a test file starts itself: `npm run test:cluster`.
    { ...shared, displayName: 'cluster', testMatch: ['<rootDir>/test/cluster/**/*.test.ts'] },
    { ...shared, displayName: 'unit', testMatch: ['<rootDir>/test/unit/**/*.test.ts'] },
    {
      ...withEngines,
      displayName: 'engines',
      testMatch: ['<rootDir>/test/{contract,integration,e2e,security}/**/*.test.ts'],
    },
    {
      ...withEngines,
      displayName: 'uncached',
      testMatch: ['<rootDir>/test/contract/{api,title}*.test.ts'],
      setupFiles: ['<rootDir>/test/support/withoutAnswerCache.ts'],
    },
    { ...withEngines, displayName: 'faults', testMatch: ['<rootDir>/test/fault/**/*.test.ts'] },
  ],
}
