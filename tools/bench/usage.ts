import { readdirSync, readFileSync } from 'node:fs'
import { attempt } from '../../src/core/model/schema.ts'

export type Usage = { readonly cpuMs: number; readonly peakResidentBytes: number }

const kibibyte = 1_024
/** Unit of CPU time in `/proc` (ms). */
const tickMs = 10

/** Undefined if no such process runs or has memory, and on a system without `/proc`. */
export function usageOf(pid: number): Usage | undefined {
  const cpuMs = statOf(pid)?.cpuMs
  const [, peakKibibytes] = /^VmHWM:\s+(\d+) kB$/m.exec(textOf(pid, 'status') ?? '') ?? []
  if (cpuMs === undefined || peakKibibytes === undefined) return undefined
  return { cpuMs, peakResidentBytes: Number(peakKibibytes) * kibibyte }
}

/** CPU time (ms) of the processes in the group of `leader`; undefined if none runs, and on a system without `/proc`. */
export function groupCpuMs(leader: number): number | undefined {
  const pids = attempt(() => readdirSync('/proc'))?.filter((name) => /^\d+$/.test(name)) ?? []
  const members = pids.flatMap((pid) => statOf(Number(pid)) ?? []).filter(({ group }) => group === leader)
  return members.length === 0 ? undefined : members.reduce((sum, { cpuMs }) => sum + cpuMs, 0)
}

function statOf(pid: number): { readonly group: number; readonly cpuMs: number } | undefined {
  const stat = textOf(pid, 'stat')
  if (stat === undefined) return undefined
  // The command, in brackets, may contain spaces and brackets: the needed fields follow the last bracket.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return { group: Number(fields[2]), cpuMs: (Number(fields[11]) + Number(fields[12])) * tickMs }
}

const textOf = (pid: number, file: string): string | undefined =>
  attempt(() => readFileSync(`/proc/${pid}/${file}`, 'latin1'))
