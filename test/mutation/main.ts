import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Command } from 'commander'
import { installPackages } from '../support/installPackages.ts'

const folder = 'var/mutation'
/** After this time a change that makes a test run for ever counts as noticed. */
const timeoutMs = 10_000
/** Without a change each test has to pass. On a busy machine one with thousands of runs takes longer than the 5 s of Jest. */
const testTimeoutMs = 60_000

type Options = { readonly tests: readonly string[]; readonly static?: true }

export const command = new Command()
  .argument('<paths...>', 'what to change: files or folders, such as src/core/model')
  .option('--tests <paths...>', 'unit tests to run instead of those in the same folders of test/unit', [])
  .option(
    '--static',
    'also change what runs once, when its file is loaded; such a change takes a run of all these tests',
  )
  .action(async (paths: readonly string[], options: Options) => {
    const missing = [...paths, ...options.tests].filter((path) => !existsSync(path))
    if (missing.length > 0) return complain(`there is no ${missing.join(', ')}`)
    const packages = await installPackages('test/mutation/stryker', folder)
    const config = join(folder, 'stryker.config.json')
    await mkdir(folder, { recursive: true })
    await writeFile(config, JSON.stringify(configOf(paths, options)))
    const program = join(packages, 'node_modules/@stryker-mutator/core/bin/stryker.js')
    const [code] = await once(spawn(process.execPath, [program, 'run', config], { stdio: 'inherit' }), 'exit')
    process.exitCode = code === 0 ? 0 : 1
  })

/** Options of StrykerJS: https://stryker-mutator.io/docs/stryker-js/configuration */
const configOf = (paths: readonly string[], { tests, static: isStatic }: Options) => ({
  mutate: paths.map((path) => (isFile(path) ? path : `${path}/**/*.ts`)),
  testRunner: 'jest',
  testRunnerNodeArgs: ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'],
  jest: {
    config: {
      // Those of jest.config.mjs would start engines for each change.
      projects: [],
      extensionsToTreatAsEsm: ['.ts'],
      transform: { '\\.ts$': '<rootDir>/test/support/stripTypes.mjs' },
      testTimeout: testTimeoutMs,
      testMatch: (tests.length > 0 ? tests : paths.map(unitTestsOf)).map((path) =>
        isFile(path) ? `<rootDir>/${path}` : `<rootDir>/${path}/**/*.test.ts`,
      ),
    },
  },
  coverageAnalysis: 'perTest',
  ignoreStatic: isStatic === undefined,
  timeoutMS: timeoutMs,
  // Nothing is compiled, and to read the project's file Stryker would need the programming interface of an older compiler.
  tsconfigFile: 'none',
  tempDirName: `${folder}/sandbox`,
  ignorePatterns: ['/var'],
  reporters: ['clear-text', 'progress-append-only', 'json', 'html'],
  clearTextReporter: { logTests: false, reportTests: false },
  jsonReporter: { fileName: `${folder}/report.json` },
  htmlReporter: { fileName: `${folder}/report.html` },
})

const isFile = (path: string): boolean => path.endsWith('.ts')

/** The folder of unit tests that belongs to a file or folder of the source. */
const unitTestsOf = (path: string): string => `test/unit/${(isFile(path) ? dirname(path) : path).replace(/^src\//, '')}`

function complain(message: string): void {
  process.stderr.write(`mutation: ${message}\n`)
  process.exitCode = 1
}
