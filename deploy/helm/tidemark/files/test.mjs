// `helm test`: asks each URL of CHECKS until it answers with the status beside it, for a minute at most.
import { setTimeout as sleep } from 'node:timers/promises'

const deadlineMs = Date.now() + 60_000
const attemptMs = 5_000

const statusOf = (url) =>
  fetch(url, { signal: AbortSignal.timeout(attemptMs) }).then(
    ({ status }) => status,
    ({ message, cause }) => cause?.code ?? message,
  )

for (const [url, wanted] of Object.entries(JSON.parse(process.env.CHECKS))) {
  let status = await statusOf(url)
  while (status !== wanted && Date.now() < deadlineMs) {
    await sleep(1_000)
    status = await statusOf(url)
  }
  process.stdout.write(`${url}: ${status}${status === wanted ? '' : `, not ${wanted}`}\n`)
  if (status !== wanted) process.exitCode = 1
}
