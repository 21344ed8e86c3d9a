import { runRounds, runsIn } from '../../../../tools/bench/rounds.ts'

test('every round runs each contender once and begins with another one; warm-ups are forgotten', async () => {
  const order: string[] = []
  const contenders = ['a', 'b', 'c'].map((name) => ({
    name,
    run: async (round: number) => {
      order.push(`${name}${round}`)
      return round
    },
  }))
  const reported: number[] = []
  const rounds = { warmUps: 1, measured: 2 }
  const samples = await runRounds(contenders, { ...rounds, report: (runs) => reported.push(runs) })
  expect(order).toEqual(['a0', 'b0', 'c0', 'b1', 'c1', 'a1', 'c2', 'a2', 'b2'])
  expect([...samples]).toEqual([
    ['a', [1, 2]],
    ['b', [1, 2]],
    ['c', [1, 2]],
  ])
  expect(reported).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9])
  expect(runsIn(rounds, contenders.length)).toBe(9)
})
