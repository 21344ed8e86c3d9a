import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { choosePort } from '../../../tools/engines/ports.ts'
import { startSupervised } from '../../../tools/engines/supervisedProgram.ts'
import { eventually } from '../../support/eventually.ts'
import { describeWith } from './describeWith.ts'

const program = '/usr/sbin/nginx'
const temporaryPaths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']

export const describeNginx = describeWith('nginx', existsSync(program))

/** An nginx of its own on loopback. */
export type Nginx = {
  readonly url: string
  close(): Promise<void>
}

/** Starts nginx with the `http` block that `configure` makes for the port it shall listen on. */
export async function startNginx(configure: (port: number) => string): Promise<Nginx> {
  if (!existsSync(program)) throw new Error(`there is no ${program}: install Debian's package "nginx"`)
  const port = await choosePort()
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-nginx-'))
  const configuration = [
    // As root, nginx would let its workers run as a user who may not write into the folder.
    process.getuid?.() === 0 ? 'user root;' : '',
    'daemon off; worker_processes 1; pid nginx.pid; error_log error.log info;',
    'events {}',
    'http {',
    'access_log off;',
    ...temporaryPaths.map((name) => `${name}_temp_path ${name};`),
    configure(port),
    '}',
  ].join('\n')
  await writeFile(join(folder, 'nginx.conf'), configuration)
  const order = { command: program, args: ['-p', folder, '-c', 'nginx.conf', '-e', 'error.log'], cwd: folder, env: {} }
  const logPath = join(folder, 'said.log')
  const nginx = await startSupervised(order, { logPath }, new AbortController().signal)
  await eventually(async () => {
    if (nginx.hasEnded()) throw new Error(`nginx has ended; it said:\n${await readFile(logPath, 'utf8')}`)
    return isTaken(port)
  })
  const close = async (): Promise<void> => {
    await nginx.stop()
    await rm(folder, { recursive: true })
  }
  return { url: `http://127.0.0.1:${port}`, close }
}

const isTaken = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('error', () => resolve(false))
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
  })
