/** @type {import('jest').Config} */
export default {
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '\\.ts$': '<rootDir>/test/support/stripTypes.mjs' },
  testEnvironment: 'node',
  maxWorkers: 2,
  testTimeout: 60_000,
}
