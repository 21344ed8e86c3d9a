import { existsSync, readFileSync } from 'node:fs'
import { choosePort } from '../../../tools/engines/ports.ts'
import { describeWith } from './describeWith.ts'
import { startOwnProgram } from './ownProgram.ts'

const program = '/usr/sbin/nginx'
const temporaryPaths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']

export const describeNginx = describeWith('nginx', existsSync(program))

type Configure = (port: number) => string

/** The nginx configuration that the project ships, with other `servers`. */
export const shippedFor = (port: number, servers: string): string =>
  readFileSync('deploy/nginx.conf', 'utf8')
    .replace('listen 80;', `listen 127.0.0.1:${port};`)
    .replace('server 127.0.0.1:3000 max_fails=0;', servers)
    .replaceAll('/var/log/nginx/', '')

/** An nginx on loopback, for one test file. */
export type Nginx = {
  readonly url: string
  /** Has nginx take up another configuration; requests that are under way are answered by the former one. */
  reload(configure: Configure): Promise<void>
  /** A file of its folder. */
  read(name: string): Promise<string>
  close(): Promise<void>
}

/** Starts nginx; `configure` returns the `http` block for its port. */
export async function startNginx(configure: Configure): Promise<Nginx> {
  if (!existsSync(program)) throw new Error(`there is no ${program}: install Debian's package "nginx"`)
  const port = await choosePort()
  const render = (how: Configure): string =>
    [
      // As root, nginx would run its workers as a user without write permission to the folder.
      process.getuid?.() === 0 ? 'user root;' : '',
      'daemon off; worker_processes 1; pid nginx.pid; error_log error.log info;',
      'events {}',
      'http {',
      'access_log off;',
      ...temporaryPaths.map((name) => `${name}_temp_path ${name};`),
      how(port),
      '}',
    ].join('\n')
  const url = `http://127.0.0.1:${port}`
  const args = ['-p', '.', '-c', 'nginx.conf', '-e', 'error.log']
  const file = { name: 'nginx.conf', content: render(configure) }
  const { read, reload, close } = await startOwnProgram(program, args, file, url)
  return { url, read, close, reload: (how) => reload(render(how)) }
}
