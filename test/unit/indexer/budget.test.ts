import { ByteBudget } from '../../../indexer/budget.ts'

test('there is room until the bound is reached, and taking beyond it never fails', () => {
  const budget = new ByteBudget(100)
  budget.take(99)
  expect(budget.hasRoom()).toBe(true)
  budget.take(50)
  expect([budget.hasRoom(), budget.takenBytes]).toEqual([false, 149])
})

test('who was woken waits on when another took the room first', async () => {
  const budget = new ByteBudget(100)
  budget.take(100)
  let hasRoom = false
  const waiting = budget.room().then(() => {
    hasRoom = true
  })
  budget.release(100)
  budget.take(100)
  await new Promise((resolve) => setImmediate(resolve))
  expect(hasRoom).toBe(false)
  budget.release(100)
  await waiting
  expect(hasRoom).toBe(true)
})
