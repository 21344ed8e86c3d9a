import { readFile } from 'node:fs/promises'
import { availableParallelism, cpus, release, totalmem, type } from 'node:os'

const gibibyte = 1024 ** 3

/** What the figures were measured on, as lines of Markdown; `versions` are those of the engines. */
export async function describeMachine(versions: readonly string[]): Promise<string[]> {
  return [
    `${cpus()[0]?.model ?? 'unknown CPU'}, ${availableParallelism()} cores, ${Math.round(totalmem() / gibibyte)} GiB of memory`,
    `${await systemName()}, Node ${process.versions.node}`,
    ...versions,
  ]
}

async function systemName(): Promise<string> {
  const kernel = `${type()} ${release()}`
  const about = await readFile('/etc/os-release', 'utf8').catch(() => '')
  const name = /^PRETTY_NAME="(.*)"$/m.exec(about)?.[1]
  return name === undefined ? kernel : `${name} (${kernel})`
}
