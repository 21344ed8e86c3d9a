import fc from 'fast-check'
import { documentKinds, physicalName, readPhysicalName } from '../../../../src/core/elasticsearch/indices.ts'

test('kind, version and generation can be read from an index name, also if its prefix looks like a kind', () => {
  const prefix = fc.stringMatching(/^[a-z0-9][a-z0-9_-]{0,20}$/)
  const versions = fc.nat({ max: 1_000_000 }).map((halves) => halves / 2)
  fc.assert(
    fc.property(prefix, fc.constantFrom(...documentKinds), versions, fc.nat(), (name, kind, version, generation) => {
      const read = readPhysicalName(name, physicalName(name, kind, version, generation))
      expect(read).toEqual({ kind, version, generation })
    }),
  )
})

test.each([
  ...['t-forms', 't-forms-v1', 't-forms-v1-2-write', 't-forms-vx-2', 't2-forms-v1-2', 't-x-forms-v1-2', 'forms-v1-2'],
])('%s is no index of the prefix t', (name) => {
  expect(readPhysicalName('t', name)).toBeUndefined()
})
