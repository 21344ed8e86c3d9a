import type { Client } from '@elastic/elasticsearch'
import type { CommandTools } from '../../../../indexer/engineCommand.ts'
import { foreignSettings, readTag } from '../../../../indexer/generations/generation.ts'
import { Generations, unlessRemoved } from '../../../../indexer/generations/generations.ts'
import { Reconciliation } from '../../../../indexer/generations/reconciliation.ts'
import type { Indices } from '../../../../src/core/elasticsearch/indices.ts'
import { responseError } from '../../../support/bulkRecords.ts'

test.each([undefined, '', '1', 'x-0123456789abcdef', '1-0123'])('%j is not a tag of a generation', (text) => {
  expect(readTag(text)).toBeUndefined()
})

test.each([
  [{ settings: { index: { lifecycle: { name: 'hot-warm' } } } }, ['forms has index.lifecycle.name=hot-warm']],
  [{ mappings: { _source: { excludes: ['b'] } } }, ['forms has _source={"excludes":["b"]}']],
  [{ mappings: { _source: { includes: ['b'] } } }, ['forms has _source={"includes":["b"]}']],
  [{ mappings: { _source: { enabled: false } } }, ['forms has _source={"enabled":false}']],
  [{ settings: { index: { uuid: 'u' } }, mappings: { _source: { enabled: true } } }, []],
  [{}, []],
])('whether the settings %j lose documents or parts of them: %j', (state, problems) => {
  expect(foreignSettings('forms', state)).toEqual(problems)
})

test('a missing index of another generation does not mean that this one is removed', () => {
  const indices = { forms: 'f-v1-2' } as unknown as Indices
  const missing = (index: string) => {
    const reason = { type: 'index_not_found_exception', reason: `no such index [${index}]` }
    return responseError(404, { error: { ...reason, root_cause: [reason] } })
  }
  expect(unlessRemoved({ indices })(missing('f-v1-2'))).toBeUndefined()
  expect(() => unlessRemoved({ indices })(missing('f-v1-4'))).toThrow('no such index [f-v1-4]')
})

test('if a node does not report its shards, a generation may have readers, and a reconciliation is incomplete', async () => {
  let failed = 1
  const stats = async () => ({
    _shards: { failed },
    _all: { total: { search: { open_contexts: 0 } } },
    indices: { 'f-v1-2': { shards: { 0: [{ routing: { primary: true }, seq_no: { local_checkpoint: 7 } }] } } },
  })
  const { signal } = new AbortController()
  const elasticsearch = { indices: { stats } } as unknown as Client
  const generation = { indices: { forms: 'f-v1-2' } as unknown as Indices, shards: 1 }
  const generations = new Generations(elasticsearch, {} as never, { signal, requestTimeout: 1_000 })
  expect(await generations.countReaders(generation)).toBe(Number.POSITIVE_INFINITY)
  const tools = { elasticsearch, signal } as unknown as CommandTools
  const pass = () => new Reconciliation(tools, generation as never, generation as never, new Set()).pass()
  await expect(pass()).rejects.toThrow('answers for 1 of 1 shards, and not for 1 copies')
  failed = 0
  generation.shards = 2
  await expect(pass()).rejects.toThrow('answers for 1 of 2 shards')
})
