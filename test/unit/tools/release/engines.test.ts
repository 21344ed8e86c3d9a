import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { minVersion, satisfies } from 'semver'
import { useFolder } from '../../../support/temporaryFolder.ts'

type Package = { readonly version?: string; readonly engines?: { readonly node?: string } }

const project = JSON.parse(readFileSync('package.json', 'utf8')) as {
  readonly engines: { readonly node: string }
}
const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
  readonly packages: Readonly<Record<string, Package>>
}
const ranges = project.engines.node.split(' || ')
const oldest = ranges.map((range) => minVersion(range)?.version ?? '')

test('the project and the lock file name the same versions of Node', () => {
  expect(oldest).toEqual(['22.19.0', '24.0.0'])
  expect(packages['']?.engines?.node).toBe(project.engines.node)
})

test.each(oldest)('every dependency accepts Node %s', (version) => {
  const refusing = Object.entries(packages).filter(([, { engines }]) => !satisfies(version, engines?.node ?? '*'))
  expect(refusing.map(([path, { engines }]) => `${path}: ${engines?.node}`)).toEqual([])
})

const check = './src/core/process/requiredNode.cjs'
const folder = useFolder()

test.each(['18.20.0', '20.20.2', '22.18.0', '22.19.0', '22.21.1', '23.11.0', '24.0.0', '25.2.0'])(
  'Node %s runs Tidemark if the project allows it; if not, the command ends with exit code 78 and the reason',
  (version) => {
    const disguise = join(folder, `${version}.cjs`)
    writeFileSync(disguise, `Object.defineProperty(process, 'version', { value: 'v${version}' })`)
    const { status, stderr } = spawnSync(process.execPath, ['--require', disguise, check], { encoding: 'utf8' })
    const suffices = satisfies(version, project.engines.node)
    expect(status).toBe(suffices ? 0 : 78)
    expect(stderr).toMatch(suffices ? /^$/ : new RegExp(`^Node 22\\.19 .* is needed; this is v${version} `))
  },
)
