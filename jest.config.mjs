import { fileURLToPath } from 'node:url'

// For everything that tests start, directly or not: a program whose code Node finds compiled starts in two thirds of the time.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('var/test/compile-cache', import.meta.url))

const shared = {
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '\\.ts$': '<rootDir>/test/support/stripTypes.mjs' },
  // Copies of packages of this repository, which tests install there.
  modulePathIgnorePatterns: ['<rootDir>/var/'],
}

const withEngines = {
  ...shared,
  globalSetup: '<rootDir>/test/support/startEngines.ts',
  globalTeardown: '<rootDir>/test/support/stopEngines.ts',
}

/**
 * `npm run test:faults` runs these, too, beside `test/fault` and `test/foreign`. They take long: for engines of their own, a browser, or
 * dozens of processes.
 */
const long = [
  ...['security/elasticsearch', 'security/kafka', 'security/kafkaTokens', 'security/redis'],
  'security/redisCertificates',
  ...['integration/engines', 'e2e/demo', 'e2e/verify', 'e2e/erase'],
  ...['e2e/tracing', 'e2e/docsPage', 'e2e/frontPage', 'e2e/settings', 'e2e/status', 'e2e/explore', 'e2e/scalePage'],
]

/** @type {import('jest').Config} */
export default {
  testSequencer: '<rootDir>/test/support/slowestFirst.mjs',
  testTimeout: 240_000,
  // Modules that Node has loaded for a file are never collected: after a hundred files a worker would hold more than 1 GB.
  workerIdleMemoryLimit: '600MB',
  // A large worker takes more than the default 500 ms to end; one that leaks never ends.
  workerGracefulExitTimeout: 10_000,
  reporters: ['default', '<rootDir>/test/support/countReporter.mjs'],
  projects: [
    // On three nodes of Elasticsearch and three brokers, which the test file starts itself: `npm run test:cluster`.
    { ...shared, displayName: 'cluster', testMatch: ['<rootDir>/test/cluster/**/*.test.ts'] },
    { ...shared, displayName: 'unit', testMatch: ['<rootDir>/test/unit/**/*.test.ts'] },
    { ...shared, displayName: 'simulation', testMatch: ['<rootDir>/test/simulation/simulation.test.ts'] },
    {
      ...withEngines,
      displayName: 'engines',
      testMatch: ['<rootDir>/test/{contract,integration,e2e,security}/**/*.test.ts'],
      testPathIgnorePatterns: ['/node_modules/', ...long.map((path) => `/test/${path}[.]`)],
    },
    // With `npm run test:kubernetes`, on Linux as root: a Kubernetes of this machine alone.
    {
      ...shared,
      displayName: 'kubernetes',
      testMatch: ['<rootDir>/test/kubernetes/**/*.test.ts'],
      globalSetup: '<rootDir>/test/kubernetes/support/start.ts',
      globalTeardown: '<rootDir>/test/kubernetes/support/stop.ts',
    },
    // With `npm run test:mutants`, for minutes: each planted fault is looked for in histories of its own.
    { ...shared, displayName: 'mutants', testMatch: ['<rootDir>/test/simulation/mutants.test.ts'] },
    {
      ...withEngines,
      displayName: 'faults',
      testMatch: [
        '<rootDir>/test/{fault,foreign}/**/*.test.ts',
        ...long.map((path) => `<rootDir>/test/${path}.test.ts`),
      ],
    },
  ],
}
