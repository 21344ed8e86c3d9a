import fc from 'fast-check'
import type { TeamId } from '../../../src/domain/identifiers.ts'
import { getForm } from '../../../src/queries/getForm.ts'
import { readDetail } from '../../../src/queries/readDetail.ts'
import type { Question, Replica } from '../../../src/queries/replica.ts'

const { signal } = new AbortController()
const team = 'team:1' as TeamId

const answering = (text: string): { replica: Replica; asked: Question[] } => {
  const asked: Question[] = []
  const ask: Replica['ask'] = async (question) => {
    asked.push(question)
    return { isFound: true, text }
  }
  return { replica: { indexPrefix: 'tidemark', deepPageFrom: 1_000, ask }, asked }
}
const found = (source: string, version = '7'): string => `{"_version":${version},"found":true,"_source":${source}}`

describe('readDetail', () => {
  test('asks for the one document of the team, percent-encoded', async () => {
    const { replica, asked } = answering(found('{}'))
    await readDetail(replica, 'form-details', team, 'a:b', signal)
    expect(asked).toEqual([
      { method: 'GET', path: '/tidemark-form-details/_doc/team%3A1%2Fa%3Ab', querystring: { routing: 'team:1' } },
    ])
  })

  test('gives the source byte for byte', async () => {
    const source = '{ "10":1, "2":1.50, "x":"\\u00e9" }'
    expect(await readDetail(answering(found(source)).replica, 'form-details', team, 'a', signal)).toBe(source)
  })

  test('gives nothing for a missing or deleted document', async () => {
    for (const text of ['{"_id":"x","found":false}', found('{"tombstone":{}}', '9007199254740991')])
      expect(await readDetail(answering(text).replica, 'form-details', team, 'a', signal)).toBeUndefined()
  })

  test('a missing index is an outage, not a missing document', async () => {
    const { replica } = answering('{"error":{"type":"index_not_found_exception"},"status":404}')
    await expect(readDetail(replica, 'form-details', team, 'a', signal)).rejects.toMatchObject({
      reason: 'missing-index',
    })
  })

  test('does not ask for what cannot be an id', async () => {
    const malformed = fc.string({ unit: 'binary' }).filter((id) => !/^[A-Za-z0-9._:-]{1,128}$/.test(id))
    await fc.assert(
      fc.asyncProperty(malformed, async (id) => {
        const { replica, asked } = answering(found('{}'))
        expect(await readDetail(replica, 'form-details', team, id, signal)).toBeUndefined()
        expect(asked).toEqual([])
      }),
    )
  })
})

describe('getForm', () => {
  const form = '{"id":"a","10":1.50,"2":{"fields":1},"fields":[{"report":1}],"report":{"x":1E2}}'

  test.each([
    [true, true, form],
    [false, true, '{"id":"a","10":1.50,"2":{"fields":1},"report":{"x":1E2}}'],
    [true, false, '{"id":"a","10":1.50,"2":{"fields":1},"fields":[{"report":1}]}'],
    [false, false, '{"id":"a","10":1.50,"2":{"fields":1}}'],
  ])('with fields: %p, report: %p', async (includeFields, includeReport, expected) => {
    const parts = { includeFields, includeReport }
    expect(await getForm(answering(found(form)).replica, team, 'a', parts, signal)).toBe(expected)
  })
})
