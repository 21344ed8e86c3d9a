import { execFile } from 'node:child_process'
import { copyFile, readFile, symlink, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { useFolder } from '../support/temporaryFolder.ts'
import { engineServices, useNamespace } from './support/cluster.ts'

const page = 'docs/kubernetes.md'
const deadlineMs = 300_000
const namespace = useNamespace()
const folder = useFolder()

/** The section "The first answer" of the page: its commands in the order of the text, and the values that it tells to write. */
async function firstAnswer(): Promise<{ commands: readonly string[]; values: string }> {
  const [, section = ''] = /^## The first answer\n(.*?)^## /ms.exec(await readFile(page, 'utf8')) ?? []
  const [, values = ''] = /^```yaml\n(.*?)^```/ms.exec(section) ?? []
  return { commands: [...section.matchAll(/`((?:docker|kubectl|helm) [^`]+)`/g)].map(([, text = '']) => text), values }
}

/** Runs a command as a user would who has chosen the namespace. */
async function shell(command: string): Promise<string> {
  const kubeconfig = join(folder, 'kubeconfig')
  const path = `${dirname(process.env['KUBECTL'] ?? '')}:${process.env['PATH']}`
  const env = { ...process.env, KUBECONFIG: kubeconfig, PATH: path }
  const { stdout } = await promisify(execFile)('bash', ['-c', command], { cwd: folder, env, timeout: deadlineMs })
  return stdout
}

const withoutPassword = (command: string): string => command.replace('redis://:…@', 'redis://')

test('the page leads from an empty namespace to an answer, command by command', async () => {
  const { commands, values } = await firstAnswer()
  const [build = '', secret = '', install = '', getPods = '', health = '', helmTest = '', sample = '', uninstall = ''] =
    commands
  expect(commands).toHaveLength(8)
  await copyFile(process.env['KUBECONFIG'] ?? '', join(folder, 'kubeconfig'))
  await shell(`kubectl config set-context --current --namespace ${namespace.name}`)
  await symlink(resolve('deploy'), join(folder, 'deploy'))
  await namespace.apply(engineServices())

  // The image is there already, by the first half of this command; there is no registry.
  expect(build).toBe(
    'docker build -t registry.example.com/tidemark:0.1.0 . && docker push registry.example.com/tidemark:0.1.0',
  )
  await shell(withoutPassword(secret))
  await writeFile(join(folder, 'values.yaml'), values)
  const notes = await shell(install)
  expect(await shell(getPods)).toMatch(/tidemark-api-\S+ +1\/1 +Running/)
  // It prints what fails, and nothing fails.
  expect(await shell(health)).toBe('')
  expect(await shell(helmTest)).toMatch(/Phase: +Succeeded/)

  const [, request = ''] = /^The first request.*\n\n((?: {2}.*\n)+)/m.exec(notes) ?? []
  const lines = request.trim().split('\n')
  expect(lines).toHaveLength(3)
  const answer = await shell(`${lines.join('\n')}\nstatus=$?; kill %1; exit $status`)
  expect(answer).toMatch(/^HTTP\/1.1 200 OK/m)
  expect(answer).toContain('"totalDocs":0')

  expect(await shell(sample)).toContain('curl')
  expect(await shell(uninstall)).toContain('uninstalled')
})
