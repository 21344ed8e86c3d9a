import { KeyChangeIncomplete } from './accountKeys.ts'

/** Shorter than a browser waits, longer than an election of Kafka's brokers takes. */
const changeDeadlineMs = 15_000

/** A change of a key, or after fifteen seconds the news that nobody knows yet; it goes on, and asking again completes it. */
export async function withinDeadline<T>(change: Promise<T>): Promise<T> {
  const deadline = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    deadline.reject(new KeyChangeIncomplete(`not done within ${changeDeadlineMs} ms`))
  }, changeDeadlineMs)
  try {
    return await Promise.race([change, deadline.promise])
  } finally {
    clearTimeout(timer)
  }
}
