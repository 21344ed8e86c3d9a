import { readFile } from 'node:fs/promises'

/** What a process has taken so far. */
export type Usage = {
  readonly cpuMs: number
  readonly residentBytes: number
  /** The most it ever had. */
  readonly peakResidentBytes: number
}

const kibibyte = 1_024
/** Linux tells every program of hundredths of a second, whatever its own clock does. */
const tickMs = 10

/** Undefined when no such process runs, and where the system has no `/proc`. */
export async function readUsage(pid: number): Promise<Usage | undefined> {
  try {
    const [stat, status] = await Promise.all(
      ['stat', 'status'].map((file) => readFile(`/proc/${pid}/${file}`, 'latin1')),
    )
    return usageFrom(stat ?? '', status ?? '')
  } catch {
    return undefined
  }
}

/** What `/proc/<pid>/stat` and `/proc/<pid>/status` say; undefined for what has ended and holds no memory any more. */
export function usageFrom(stat: string, status: string): Usage | undefined {
  // The command in brackets may itself hold blanks and brackets; the fields that count follow the last one.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const ticks = Number(fields[11]) + Number(fields[12])
  const [residentBytes, peakResidentBytes] = [bytesOf(status, 'VmRSS'), bytesOf(status, 'VmHWM')]
  if (!Number.isFinite(ticks) || residentBytes === undefined || peakResidentBytes === undefined) return undefined
  return { cpuMs: ticks * tickMs, residentBytes, peakResidentBytes }
}

function bytesOf(status: string, name: string): number | undefined {
  const [, kibibytes] = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status) ?? []
  return kibibytes === undefined ? undefined : Number(kibibytes) * kibibyte
}
