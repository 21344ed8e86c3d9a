import { chmod, mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findJdks, majorOf } from '../../../../tools/engines/jdk.ts'

let folder: string
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'tidemark-jdk-')))
})
afterEach(() => rm(folder, { recursive: true }))

const layJdk = async (name: string, version: string, tools = ['java', 'jar']): Promise<string> => {
  const home = join(folder, name)
  await mkdir(join(home, 'bin'), { recursive: true })
  await writeFile(join(home, 'release'), `IMPLEMENTOR="Some One"\nJAVA_VERSION="${version}"\n`)
  for (const tool of tools) {
    await writeFile(join(home, 'bin', tool), '#!/bin/sh\n')
    await chmod(join(home, 'bin', tool), 0o755)
  }
  return home
}

test.each([
  ['JAVA_VERSION="25.0.3"', 25],
  ['IMPLEMENTOR="x"\nJAVA_RUNTIME_VERSION="17.0.15+6"\nJAVA_VERSION="17.0.15"\n', 17],
  ['JAVA_VERSION="21"', 21],
  ['JAVA_VERSION="26-ea"', 26],
  ['JAVA_VERSION="1.8.0_392"', 8],
  ['JAVA_RUNTIME_VERSION="25"', undefined],
  ['', undefined],
])('reads the major version in %j', (release, major) => {
  expect(majorOf(release)).toBe(major)
})

test('looks in ES_JAVA_HOME, then JAVA_HOME, then PATH', async () => {
  const [first, second, third] = [await layJdk('a', '21.0.1'), await layJdk('b', '17.0.2'), await layJdk('c', '25')]
  const env = { ES_JAVA_HOME: first, JAVA_HOME: second, PATH: `/nowhere:${join(third, 'bin')}` }
  expect((await findJdks(env)).slice(0, 3)).toEqual([
    { home: first, major: 21 },
    { home: second, major: 17 },
    { home: third, major: 25 },
  ])
})

test('names a JDK once, and passes over a runtime without jar and over what is no JDK', async () => {
  const jdk = await layJdk('jdk', '21.0.1')
  const runtime = await layJdk('jre', '25', ['java'])
  const found = await findJdks({ ES_JAVA_HOME: runtime, JAVA_HOME: jdk, PATH: `${join(jdk, 'bin')}:${folder}` })
  const homes = found.map(({ home }) => home).filter((home) => home.startsWith(folder))
  expect(homes).toEqual([jdk])
})
