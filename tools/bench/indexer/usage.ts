import { readFile } from 'node:fs/promises'
import { pause } from '../../engines/waiting.ts'
import type { Stage } from '../stage.ts'

/** What a process has taken so far, or at most. */
export type Usage = { readonly cpuMs: number; readonly peakResidentBytes: number }

const kibibyte = 1_024
/** Linux tells every program of hundredths of a second, whatever its own clock does. */
const tickMs = 10
/** Elasticsearch tells of CPU time up to a second ago. */
const settleMs = 1_100

/** Undefined when no such process runs, and where the system has no `/proc`. */
export async function readUsage(pid: number): Promise<Usage | undefined> {
  const files = ['stat', 'status'].map((file) => readFile(`/proc/${pid}/${file}`, 'latin1'))
  const [stat, status] = await Promise.all(files).catch(() => [])
  return stat === undefined || status === undefined ? undefined : usageFrom(stat, status)
}

/** Reads `/proc/<pid>/stat` and `/proc/<pid>/status`; undefined for a process that has ended and holds no memory any more. */
export function usageFrom(stat: string, status: string): Usage | undefined {
  // The command in brackets may itself hold blanks and brackets; the fields that count follow the last one.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const ticks = Number(fields[11]) + Number(fields[12])
  const [, peakKibibytes] = /^VmHWM:\s+(\d+) kB$/m.exec(status) ?? []
  if (!Number.isFinite(ticks) || peakKibibytes === undefined) return undefined
  return { cpuMs: ticks * tickMs, peakResidentBytes: Number(peakKibibytes) * kibibyte }
}

/** CPU time that Elasticsearch has taken since it started, up to the call; returns a second after it. */
export async function elasticsearchCpuMs({ client, signal }: Stage): Promise<number> {
  await pause(settleMs, signal)
  const { nodes } = await client.nodes.stats({ metric: 'process' }, { signal })
  return Number(Object.values(nodes)[0]?.process?.cpu?.total_in_millis)
}
