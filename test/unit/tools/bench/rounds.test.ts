import { runRounds } from '../../../../tools/bench/rounds.ts'

test('every round runs each contender once and begins with another one; warm-ups are forgotten', async () => {
  const order: string[] = []
  const contenders = ['a', 'b', 'c'].map((name) => ({
    name,
    run: async (round: number) => {
      order.push(`${name}${round}`)
      return round
    },
  }))
  const samples = await runRounds('Comparing', contenders, { warmUps: 1, measured: 2 })
  expect(order).toEqual(['a0', 'b0', 'c0', 'b1', 'c1', 'a1', 'c2', 'a2', 'b2'])
  expect([...samples]).toEqual([
    ['a', [1, 2]],
    ['b', [1, 2]],
    ['c', [1, 2]],
  ])
})
