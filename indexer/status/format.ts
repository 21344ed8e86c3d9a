const minute = 60
const hour = 3_600
const day = 86_400
const kibi = 1024

/** A duration in the largest unit that is precise enough. */
export function duration(seconds: number): string {
  if (seconds === 0) return '0 s'
  if (seconds < 10) return `${(Math.floor(seconds * 10) / 10).toFixed(1)} s`
  if (seconds < 2 * minute) return `${Math.floor(seconds)} s`
  if (seconds < 2 * hour) return `${Math.floor(seconds / minute)} min`
  return seconds < 2 * day ? `${Math.floor(seconds / hour)} h` : `${Math.floor(seconds / day)} days`
}

/** A number of bytes in the largest unit that leaves it at 1 or above. */
export function size(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB']
  let [value, unit] = [bytes, 0]
  while (value >= kibi && unit < units.length - 1) {
    value /= kibi
    unit++
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`
}

export const count = (value: number): string => Math.round(value).toLocaleString('en')

/** A rate: with a decimal only where it is small. */
export const rate = (perSecond: number): string =>
  perSecond > 0 && perSecond < 10 ? perSecond.toFixed(1) : count(perSecond)

/** `14:03:22` in UTC. */
export const timeOfDay = (epochMs: number): string => new Date(epochMs).toISOString().slice(11, 19)
