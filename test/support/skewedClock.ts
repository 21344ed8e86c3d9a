import { readFileSync } from 'node:fs'
import { Redis } from 'ioredis'

/**
 * Loaded into a process before its own code (`--import`), it sets the clock of the process, and the one that Redis tells it, ahead or
 * behind by what the file `SKEW_FILE` says: `{"ownMs", "redisMs"}`. The file may change at any time, so that clocks step. The broker keeps
 * its clock.
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
