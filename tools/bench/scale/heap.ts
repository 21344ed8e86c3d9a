import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Client } from '@elastic/elasticsearch'
import { elasticsearchMinJdk } from '../../engines/elasticsearch.ts'
import { chooseJdk, findJdks } from '../../engines/jdk.ts'
import { pause } from '../../engines/waiting.ts'
import type { Stage } from '../stage.ts'

/** Elasticsearch answers from figures that are up to a second old. */
const refreshMs = 1_100
const deadlineMs = 30_000
const run = promisify(execFile)

/** What Elasticsearch holds in its heap after a full collection; undefined where it cannot be told to collect. */
export async function liveHeapBytes(client: Client, { signal }: Stage): Promise<number | undefined> {
  const jdk = chooseJdk(await findJdks(process.env), elasticsearchMinJdk)
  if (jdk === undefined) return undefined
  const { nodes } = await client.nodes.info({ metric: 'process' }, { signal })
  const pid = Object.values(nodes)[0]?.process?.id
  try {
    await run(join(jdk.home, 'bin', 'jcmd'), [String(pid), 'GC.run'], { signal, timeout: deadlineMs })
  } catch {
    signal.throwIfAborted()
    return undefined
  }
  await pause(refreshMs, signal)
  const stats = await client.nodes.stats({ metric: 'jvm' }, { signal })
  return Object.values(stats.nodes)[0]?.jvm?.mem?.heap_used_in_bytes
}

/** CPU time that Elasticsearch has taken since it started, up to a second ago. */
export async function elasticsearchCpuMs(client: Client, { signal }: Stage): Promise<number> {
  const { nodes } = await client.nodes.stats({ metric: 'process' }, { signal })
  return Number(Object.values(nodes)[0]?.process?.cpu?.total_in_millis)
}
