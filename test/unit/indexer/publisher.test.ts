import { pino } from 'pino'
import { PartitionLedger } from '../../../indexer/ledger.ts'
import { type PartitionEnds, Publisher } from '../../../indexer/publisher.ts'
import type { Offset } from '../../../src/domain/identifiers.ts'

const forms = 'forms/0'

function setting(options: { ends: PartitionEnds; nowMs?: number }) {
  const ledger = new PartitionLedger()
  const current = { ledger }
  const steps: string[] = []
  const failing = new Set<string>()
  /** What happens once while a step is under way. */
  const during = new Map<string, () => void>()
  const step = async (name: string, detail = ''): Promise<void> => {
    if (failing.has(name)) throw new Error(`${name} fails`)
    steps.push(name + detail)
    during.get(name)?.()
    during.delete(name)
    await new Promise((resolve) => setImmediate(resolve))
  }
  const publisher = new Publisher({
    assigned: () => [{ topic: 'forms', partition: 0, ledger: current.ledger }],
    ends: async () => new Map([[forms, options.ends]]),
    refresh: () => step('refresh'),
    commit: (positions) => step('commit', positions.map(({ position }) => ` ${position}`).join('')),
    publish: (marks) => step('publish', [...marks].map(([name, mark]) => ` ${name}=${mark}`).join('')),
    isBehind: () => false,
    clock: () => options.nowMs ?? 100_000,
    log: pino({ level: 'silent' }),
  })
  return { ledger, current, publisher, steps, failing, during }
}

const at = (offset: number): Offset => BigInt(offset) as Offset

test('what was written is refreshed first, then committed, then promised', async () => {
  const { ledger, publisher, steps } = setting({ ends: { low: 0n, high: 2n, committed: undefined } })
  for (const offset of [0, 1]) ledger.add(at(offset), 50)()
  publisher.noteWrite()
  await publisher.publish()
  expect(steps).toEqual(['refresh', 'commit 2', `publish ${forms}=99000`])
})

test('nothing is committed or promised when the refresh fails, and the next round makes up for it', async () => {
  const { ledger, publisher, steps, failing } = setting({ ends: { low: 0n, high: 1n, committed: undefined } })
  ledger.add(at(0), 50)()
  publisher.noteWrite()
  failing.add('refresh')
  await expect(publisher.publish()).rejects.toThrow('refresh fails')
  expect(steps).toEqual([])
  failing.clear()
  await publisher.publish()
  expect(steps).toEqual(['refresh', 'commit 1', `publish ${forms}=99000`])
})

test('nothing is promised when the commit fails, and it is tried again without another refresh', async () => {
  const { ledger, publisher, steps, failing } = setting({ ends: { low: 0n, high: 1n, committed: undefined } })
  ledger.add(at(0), 50)()
  publisher.noteWrite()
  failing.add('commit')
  await expect(publisher.publish()).rejects.toThrow('commit fails')
  failing.clear()
  await publisher.publish()
  expect(steps).toEqual(['refresh', 'commit 1', `publish ${forms}=99000`])
})

test('a record that settles while the refresh is under way waits for the next round', async () => {
  const { ledger, publisher, steps, during } = setting({ ends: { low: 0n, high: 2n, committed: undefined } })
  const [first, second] = [ledger.add(at(0), 50), ledger.add(at(1), 60)]
  first()
  publisher.noteWrite()
  during.set('refresh', () => {
    second()
    publisher.noteWrite()
  })
  await publisher.publish()
  await publisher.publish()
  expect(steps).toEqual(['refresh', 'commit 1', `publish ${forms}=60`, 'refresh', 'commit 2', `publish ${forms}=99000`])
})

test('a round that is asked for while another refreshes begins after it, and commits nothing it has not refreshed', async () => {
  const { ledger, publisher, steps, during } = setting({ ends: { low: 0n, high: 1n, committed: undefined } })
  ledger.add(at(0), 50)()
  publisher.noteWrite()
  let second: Promise<void> | undefined
  during.set('refresh', () => {
    second = publisher.publish()
  })
  await publisher.publish()
  await second
  expect(steps.slice(0, 3)).toEqual(['refresh', 'commit 1', `publish ${forms}=99000`])
  expect(steps.filter((each) => each.startsWith('commit'))).toHaveLength(1)
})

test('a partition that was given to another indexer meanwhile is not committed any more', async () => {
  const { ledger, current, publisher, steps, during } = setting({ ends: { low: 0n, high: 1n, committed: undefined } })
  ledger.add(at(0), 50)()
  publisher.noteWrite()
  during.set('refresh', () => {
    current.ledger = new PartitionLedger()
  })
  await publisher.publish()
  expect(steps).toEqual(['refresh', `publish ${forms}=99000`])
})

test('a position committed beyond the end, in a topic that was created anew, promises nothing', async () => {
  const { publisher, steps } = setting({ ends: { low: 0n, high: 5n, committed: 1_000n } })
  await publisher.publish()
  expect(steps).toEqual(['publish'])
})

test('a partition with an unsettled record promises no more than that record was appended at', async () => {
  const { ledger, publisher, steps } = setting({ ends: { low: 0n, high: 3n, committed: undefined } })
  ledger.add(at(0), 50)()
  ledger.add(at(1), 60)
  ledger.add(at(2), 70)()
  publisher.noteWrite()
  await publisher.publish()
  expect(steps).toEqual(['refresh', 'commit 1', `publish ${forms}=60`])
})

test('an idle partition at its committed end promises the time of asking, less the allowed skew, and commits nothing', async () => {
  const { publisher, steps } = setting({ ends: { low: 0n, high: 7n, committed: 7n } })
  await publisher.publish()
  expect(steps).toEqual([`publish ${forms}=99000`])
})

test('a partition that has records ahead of what was committed, none of them fetched yet, promises nothing', async () => {
  const { publisher, steps } = setting({ ends: { low: 0n, high: 9n, committed: 7n } })
  await publisher.publish()
  expect(steps).toEqual(['publish'])
})
