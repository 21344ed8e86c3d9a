import { setImmediate as nextTurn } from 'node:timers/promises'
import { forEachAtOnce } from '../../../../indexer/generations/forEachAtOnce.ts'

test('each item is worked on once, several at a time', async () => {
  const done: number[] = []
  let underWay = 0
  let mostUnderWay = 0
  const work = async (item: number): Promise<void> => {
    mostUnderWay = Math.max(mostUnderWay, ++underWay)
    await nextTurn()
    underWay--
    done.push(item)
  }
  await forEachAtOnce([1, 2, 3, 4, 5], 2, work, () => undefined)
  expect(done).toEqual([1, 2, 3, 4, 5])
  expect(mostUnderWay).toBe(2)
})

test('the first error ends the work under way and starts no other, and is the only one that counts', async () => {
  const ended: number[] = []
  const end = Promise.withResolvers<unknown>()
  const work = async (item: number): Promise<void> => {
    if (item === 2) throw new Error('the second fails')
    await end.promise
    await nextTurn()
    ended.push(item)
    throw new Error('ended')
  }
  const errors: unknown[] = []
  const working = forEachAtOnce([1, 2, 3, 4], 2, work, (error) => {
    errors.push(error)
    end.resolve(undefined)
  })
  await expect(working).rejects.toThrow('the second fails')
  expect(ended).toEqual([1])
  expect(errors).toEqual([new Error('the second fails')])
})
