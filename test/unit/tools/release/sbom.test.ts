import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { type LockFile, writeSbom } from '../../../../tools/release/sbom.ts'
import { useFolder } from '../../../support/temporaryFolder.ts'

const folder = useFolder()

const readJson = async <Content>(path: string): Promise<Content> => JSON.parse(await readFile(path, 'utf8')) as Content

test('the bill of materials lists every package that ships, and no development dependency', async () => {
  const path = join(folder, 'sbom.json')
  const count = await writeSbom(resolve('.'), path, new AbortController().signal)
  const [text, lock] = [await readFile(path, 'utf8'), await readJson<LockFile>('package-lock.json')]
  const { dependencies, devDependencies } = await readJson<Record<string, Record<string, string>>>('package.json')
  expect(count).toBeGreaterThan(Object.keys(dependencies ?? {}).length)
  expect(JSON.parse(text)).toMatchObject({ bomFormat: 'CycloneDX', metadata: { component: { name: 'tidemark' } } })
  for (const [name, version] of Object.entries(dependencies ?? {})) expect(text).toContain(purl(name, version))
  const needed = new Set(Object.entries(lock.packages).flatMap(([at, { dev }]) => (dev ? [] : [at])))
  for (const [name, version] of Object.entries(devDependencies ?? {}))
    if (!needed.has(`node_modules/${name}`)) expect(text).not.toContain(`"${purl(name, version)}`)
})

const purl = (name: string, version: string): string => `pkg:npm/${name.replace('@', '%40')}@${version}`
