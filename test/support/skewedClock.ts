import { readFileSync } from 'node:fs'
import { Redis } from 'ioredis'

/**
 * Preload (`--import`) that shifts the clock of a process, and the time that Redis returns to it, by the offsets in the file `SKEW_FILE`:
 * `{"ownMs", "redisMs"}`. Changes of the file make the clocks step. The broker's clock is not shifted.
 */
let skew = { ownMs: 0, redisMs: 0 }
const read = (): void => {
  try {
    skew = JSON.parse(readFileSync(process.env['SKEW_FILE'] ?? '', 'utf8')) as typeof skew
  } catch {
    // The file is being written.
  }
}
read()
setInterval(read, 100).unref()

const now = Date.now.bind(Date)
Date.now = () => now() + skew.ownMs

const time = Redis.prototype.time
Redis.prototype.time = async function skewedTime(this: Redis) {
  const [seconds, microseconds] = await time.call(this)
  const milliseconds = Number(seconds) * 1_000 + Number(microseconds) / 1_000 + skew.redisMs
  return [Math.floor(milliseconds / 1_000), Math.floor((milliseconds % 1_000) * 1_000)]
} as typeof time
