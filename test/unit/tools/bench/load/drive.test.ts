import { setTimeout as sleep } from 'node:timers/promises'
import { drive } from '../../../../../tools/bench/load/drive.ts'

const pace = { atOnce: 1, leadInTurns: 2, maxTurns: 3, maxMs: 60_000 }

test('turns are taken one after the other; the lead-in is not counted', async () => {
  const turns: number[] = []
  const { latenciesMs, busyShare } = await drive(async (turn) => {
    turns.push(turn)
    await sleep(5)
  }, pace)
  expect(turns).toEqual([0, 1, 2, 3, 4])
  expect(latenciesMs).toHaveLength(3)
  expect(Math.min(...latenciesMs)).toBeGreaterThan(4)
  expect(busyShare).toBeLessThan(1)
})

test('so many are under way as the pace says, and never more', async () => {
  let underWay = 0
  let most = 0
  await drive(
    async () => {
      most = Math.max(most, ++underWay)
      await sleep(1)
      underWay -= 1
    },
    { ...pace, atOnce: 4, maxTurns: 40 },
  )
  expect(most).toBe(4)
})

test('time ends it as well', async () => {
  const { latenciesMs, elapsedMs } = await drive(() => sleep(5), {
    ...pace,
    maxTurns: Number.POSITIVE_INFINITY,
    maxMs: 50,
  })
  expect(latenciesMs.length).toBeLessThan(20)
  expect(elapsedMs).toBeGreaterThan(49)
})

test('a question without an answer ends it with the error', async () => {
  await expect(drive(() => Promise.reject(new Error('no answer')), pace)).rejects.toThrow('no answer')
})
