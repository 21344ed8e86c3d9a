import { execFile } from 'node:child_process'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { chooseDistinctPorts } from '../../../tools/engines/ports.ts'
import { signalGroup } from '../../../tools/engines/runningProcess.ts'
import { type SupervisedProgram, startSupervised } from '../../../tools/engines/supervisedProgram.ts'
import { eventually } from '../../support/eventually.ts'
import type { Json } from '../../support/randomHistory.ts'
import { temporaryFolder } from '../../support/temporaryFolder.ts'
import type { N8nPackage } from './n8nPackage.ts'

const commandMs = 5 * 60_000

/** The folder into which a person has installed n8n by npm; undefined without one. */
export const n8nFolder = process.env['N8N_FOLDER']

/** A real n8n with its own SQLite database, and the package in its user folder, installed from what `npm pack` makes. */
export async function openN8n(installed: string, package_: N8nPackage) {
  const folder = await temporaryFolder('tidemark-n8n-home-')
  const [port = 0, brokerPort = 0] = await chooseDistinctPorts(2)
  const n8n = join(installed, 'node_modules/.bin/n8n')
  const env = {
    ...{ PATH: process.env['PATH'] ?? '', HOME: folder, N8N_USER_FOLDER: folder, N8N_ENCRYPTION_KEY: 'of a test' },
    ...{ N8N_PORT: String(port), N8N_LISTEN_ADDRESS: '127.0.0.1', N8N_RUNNERS_BROKER_PORT: String(brokerPort) },
    ...{ N8N_DIAGNOSTICS_ENABLED: 'false', N8N_VERSION_NOTIFICATIONS_ENABLED: 'false', N8N_TEMPLATES_ENABLED: 'false' },
    ...{ N8N_PERSONALIZATION_ENABLED: 'false', N8N_LOG_LEVEL: 'debug', NO_COLOR: '1', EXECUTIONS_DATA_PRUNE: 'false' },
  }
  const run = async (command: string, args: readonly string[], cwd: string): Promise<string> => {
    const { stdout, stderr } = await promisify(execFile)(command, args, { cwd, env, timeout: commandMs })
    return stdout + stderr
  }
  const nodes = join(folder, '.n8n/nodes')
  await mkdir(nodes, { recursive: true })
  await run('npm', ['pack', '--ignore-scripts', '--pack-destination', folder], package_.folder)
  const { version } = JSON.parse(await readFile(join(package_.folder, 'package.json'), 'utf8'))
  const archive = join(folder, `n8n-nodes-tidemark-${version}.tgz`)
  await run('npm', ['install', '--offline', '--legacy-peer-deps', '--no-audit', '--no-fund', archive], nodes)
  const logPath = join(folder, 'n8n.log')
  let program: SupervisedProgram | undefined
  const importing = async (what: 'credentials' | 'workflow', content: Json): Promise<void> => {
    const file = join(folder, `${what}.json`)
    await writeFile(file, JSON.stringify([content]))
    await run(n8n, [`import:${what}`, `--input=${file}`], folder)
  }
  let cookie: string | undefined
  const post = async (path: string, body: Json): Promise<Json> => {
    const headers = { 'content-type': 'application/json', ...(cookie !== undefined && { cookie }) }
    const url = `http://127.0.0.1:${port}/rest/${path}`
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
    cookie ??= response.headers.get('set-cookie')?.split(';')[0]
    const answer: Json = await response.json()
    if (!response.ok) throw new Error(`${path}: ${JSON.stringify(answer)}`)
    return answer.data
  }
  return {
    /** Signs the editor up as the owner. */
    signUp: (): Promise<Json> =>
      post('owner/setup', {
        email: 'ada@quiz.example',
        firstName: 'Ada',
        lastName: 'L',
        password: 'Passw0rd-of-a-test',
      }),
    /** Sends what the editor sends; resolves with the `data` of the answer. */
    post,
    /** What the editor knows of all nodes; only after `signUp`. */
    nodeTypes: async (): Promise<Json[]> => {
      const headers = { ...(cookie !== undefined && { cookie }) }
      return (await (await fetch(`http://127.0.0.1:${port}/types/nodes.json`, { headers })).json()) as Json[]
    },
    importCredential: (credential: Json) => importing('credentials', credential),
    /** Imports a workflow and publishes it, so that the next start activates it. */
    importWorkflow: async (workflow: Json): Promise<void> => {
      await importing('workflow', workflow)
      await run(n8n, ['publish:workflow', `--id=${workflow.id}`], folder)
    },
    /** Starts n8n, and waits until it has started the trigger. */
    start: async (): Promise<void> => {
      await rm(logPath, { force: true })
      program = await startSupervised(
        { command: n8n, args: ['start'], cwd: folder, env },
        { logPath },
        new AbortController().signal,
      )
      await eventually(async () => {
        const log = await readFile(logPath, 'utf8')
        if (program?.hasEnded()) throw new Error(`n8n has ended; it said:\n${log}`)
        return log.includes('Activated trigger node')
      })
    },
    /** Ends n8n at once, as a lack of memory or power does. */
    kill: async (): Promise<void> => {
      if (program !== undefined) signalGroup(program.pid, 'SIGKILL')
      await program?.ended
    },
    /** Ends n8n in order. */
    stop: async (): Promise<void> => program?.stop(),
    log: () => readFile(logPath, 'utf8'),
    close: async (): Promise<void> => {
      await program?.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
