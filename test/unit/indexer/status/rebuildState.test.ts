import { rebuildSection } from '../../../../indexer/status/rebuildSection.ts'
import { rebuildStateOf } from '../../../../indexer/status/rebuildState.ts'
import type { GroupSurvey } from '../../../../indexer/status/surveyGroup.ts'
import type { ReportedRebuild } from '../../../../src/core/redis/rebuildProgress.ts'

const nowMs = Date.parse('2026-11-29T10:05:00.000Z')
const filling: ReportedRebuild = {
  ...{ generation: 2, phase: 'fill', done: 12_000, total: 23_000, perSecond: 1_100, ageMs: 1_000 },
}
const reading: GroupSurvey['rebuild'] = { isRunning: true, members: 3, progress: 0.5 }
const left: GroupSurvey['rebuild'] = { isRunning: false, members: 0, progress: 0.5 }

const stateOf = (rebuild: GroupSurvey['rebuild'], progress: ReportedRebuild | undefined, atMs = nowMs) =>
  rebuildStateOf({ value: { rebuild }, atMs: nowMs }, { value: { progress }, atMs }, 1, nowMs)
/** What a person reads. */
const textOf = (...state: Parameters<typeof stateOf>): string =>
  String(rebuildSection(stateOf(...state), nowMs))
    .replaceAll(/<dt>(.*?)<\/dt><dd>(.*?)<\/dd>/g, '$1: $2; ')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()

test('a rebuild shows phase, records, rate, time left and members', () => {
  expect(textOf(reading, filling)).toBe(
    'Rebuild A rebuild is running It builds generation 2. 52 % Phase: 2 of 5: reads the topics; Records read: 12,000 of 23,000; Rate: 1,100 records a second; Time left in this phase: about 10 s; Members that help: 2; Last sign of life: a few seconds ago;',
  )
  const comparing: ReportedRebuild = { ...filling, phase: 'compare', done: 5, total: 10, perSecond: 0 }
  expect(textOf({ ...reading, members: 1 }, comparing)).toMatch(
    'Documents compared: 5 of 10; Rate: 0 documents a second; Time left in this phase: not known; Last sign',
  )
})

test('a rebuild that does not read any more runs until it stores nothing more', () => {
  const removing: ReportedRebuild = { ...filling, phase: 'remove', done: null, total: null, perSecond: null }
  expect(textOf(undefined, removing)).toMatch('5 of 5: waits until the old generation has no readers')
  // It has served already: nothing is left to continue.
  expect(rebuildStateOf({ value: { rebuild: undefined }, atMs: nowMs }, undefined, 2, nowMs)?.kind).toBe('none')
  const silent = { value: { progress: { ...removing, ageMs: 60_000 } }, atMs: nowMs }
  expect(rebuildStateOf({ value: { rebuild: undefined }, atMs: nowMs }, silent, 2, nowMs)?.kind).toBe('none')
})

test('a rebuild that is silent is shown with the age of its last sign of life, and as left half way once Kafka has forgotten it', () => {
  const silent = { ...filling, ageMs: 20_000 }
  expect(textOf(reading, silent)).toMatch('Last sign of life: 20 s ago')
  expect(textOf(reading, undefined)).toMatch(/50 % of the records.*Members that help: 2; Last sign of life: not known/)
  expect(textOf(left, silent)).toBe(
    'Rebuild A rebuild was left half way 50 % of the records are in the next generation. Run it again to go on. Ended in phase: 2 of 5: reads the topics; Records read: 12,000 of 23,000; Last sign of life: 20 s ago, at 10:04:40;',
  )
  expect(textOf(left, undefined)).toMatch(/left half way.*Run it again to go on\.$/)
  // Nothing was committed yet; an answer of Redis grows old while Redis is away.
  expect(textOf(undefined, filling, nowMs - 15_000)).toMatch('Last sign of life: 16 s ago')
})

test('no rebuild runs, also if one has ended before it made a generation', () => {
  expect(textOf(undefined, undefined)).toBe('Rebuild No rebuild runs.')
  expect(stateOf(undefined, { ...filling, phase: 'prepare', generation: null, ageMs: 60_000 })?.kind).toBe('none')
  expect(rebuildStateOf(undefined, undefined, 1, nowMs)).toBeUndefined()
})
