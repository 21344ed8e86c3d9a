import { existsSync } from 'node:fs'
import { choosePort } from '../../../tools/engines/ports.ts'
import { describeWith } from './describeWith.ts'
import { startOwnProgram } from './ownProgram.ts'

const program = '/usr/sbin/nginx'
const temporaryPaths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']

export const describeNginx = describeWith('nginx', existsSync(program))

/** An nginx on loopback, for one test file. */
export type Nginx = {
  readonly url: string
  close(): Promise<void>
}

/** Starts nginx; `configure` returns the `http` block for its port. */
export async function startNginx(configure: (port: number) => string): Promise<Nginx> {
  if (!existsSync(program)) throw new Error(`there is no ${program}: install Debian's package "nginx"`)
  const port = await choosePort()
  const content = [
    // As root, nginx would run its workers as a user without write permission to the folder.
    process.getuid?.() === 0 ? 'user root;' : '',
    'daemon off; worker_processes 1; pid nginx.pid; error_log error.log info;',
    'events {}',
    'http {',
    'access_log off;',
    ...temporaryPaths.map((name) => `${name}_temp_path ${name};`),
    configure(port),
    '}',
  ].join('\n')
  const url = `http://127.0.0.1:${port}`
  const args = ['-p', '.', '-c', 'nginx.conf', '-e', 'error.log']
  return { url, ...(await startOwnProgram(program, args, { name: 'nginx.conf', content }, url)) }
}
