import { type Agent, fetch } from 'undici'

/** More are not under way at once: on a machine that carries less than the rate, a backlog would delay all others until they are answered 503. */
const maxRunning = 6
const timers = new Set<NodeJS.Timeout>()
// Also when the test has failed: the requests would slow down all others.
afterAll(() => {
  for (const timer of timers) clearInterval(timer)
})

/** Requests `url` at a constant rate until stopped, as far as the machine carries it; returns how often there was which result. */
export function askSteadily(url: string, authorization: string, agent: Agent, rate: number) {
  const told = new Map<string, number>()
  const running = new Set<Promise<void>>()
  const ask = async (): Promise<void> => {
    const what = await fetch(url, { headers: { authorization }, dispatcher: agent, redirect: 'manual' }).then(
      async (answer) => (await answer.arrayBuffer()) && String(answer.status),
      (error: Error) => String(error.cause ?? error),
    )
    told.set(what, (told.get(what) ?? 0) + 1)
  }
  const timer = setInterval(() => {
    if (running.size >= maxRunning) return
    const asked = ask().finally(() => running.delete(asked))
    running.add(asked)
  }, 1_000 / rate)
  timers.add(timer)
  return async () => {
    clearInterval(timer)
    await Promise.all(running)
    return Object.fromEntries(told)
  }
}
