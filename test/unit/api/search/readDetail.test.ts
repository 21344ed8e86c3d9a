import fc from 'fast-check'
import { withoutParts } from '../../../../src/api/forms.ts'
import { readDetail } from '../../../../src/api/search/details.ts'
import type { SearchClient, SearchRequest } from '../../../../src/api/search/searchClient.ts'
import type { TeamId } from '../../../../src/core/model/ids.ts'

const { signal } = new AbortController()
const team = 'team:1' as TeamId
const forms = { type: 'forms', teamId: team } as const

const answering = (text: string, isFound = true): { indexReader: SearchClient; asked: SearchRequest[] } => {
  const asked: SearchRequest[] = []
  const send: SearchClient['send'] = async (question) => {
    asked.push(question)
    return { isFound, bytes: Buffer.from(text) }
  }
  return { indexReader: { indexPrefix: 'tidemark', send }, asked }
}
const missing = (type: string): string => `{"error":{"root_cause":[],"type":"${type}"},"status":404}`

describe('readDetail', () => {
  test('asks for the one document of the team, percent-encoded, as the last refresh shows it', async () => {
    const { indexReader, asked } = answering('{}')
    await readDetail(indexReader, forms, 'a:b', signal)
    expect(asked).toEqual([
      {
        method: 'GET',
        path: '/tidemark-form-details/_source/team%3A1%2Fa%3Ab',
        querystring: { routing: 'team:1', realtime: false },
      },
    ])
  })

  test('gives the source byte for byte', async () => {
    const source = '{ "10":1, "2":1.50, "x":"\\u00e9" }'
    const read = await readDetail(answering(source).indexReader, forms, 'a', signal)
    expect(String(read)).toBe(source)
  })

  test('gives nothing for a missing or deleted document', async () => {
    const answers = [
      answering(missing('resource_not_found_exception'), false),
      answering('{"tombstone":{"teamId":"team:1"}}'),
    ]
    for (const { indexReader } of answers) expect(await readDetail(indexReader, forms, 'a', signal)).toBeUndefined()
  })

  test.each([missing('index_not_found_exception'), '', '<html>'])(
    'a missing index is an outage, not a missing document: %p',
    async (text) => {
      const { indexReader } = answering(text, false)
      const reading = readDetail(indexReader, forms, 'a', signal)
      await expect(reading).rejects.toMatchObject({ reason: 'missing-index' })
    },
  )

  test('does not ask for what cannot be an id', async () => {
    const malformed = fc.string({ unit: 'binary' }).filter((id) => !/^[A-Za-z0-9._:-]{1,128}$/.test(id))
    await fc.assert(
      fc.asyncProperty(malformed, async (id) => {
        const { indexReader, asked } = answering('{}')
        expect(await readDetail(indexReader, forms, id, signal)).toBeUndefined()
        expect(asked).toEqual([])
      }),
    )
  })
})

describe('a form', () => {
  const form = '{"id":"a","10":1.50,"2":{"fields":1},"fields":[{"report":1}],"report":{"x":1E2}}'

  test.each([
    [true, true, form],
    [false, true, '{"id":"a","10":1.50,"2":{"fields":1},"report":{"x":1E2}}'],
    [true, false, '{"id":"a","10":1.50,"2":{"fields":1},"fields":[{"report":1}]}'],
    [false, false, '{"id":"a","10":1.50,"2":{"fields":1}}'],
  ])('with fields: %p, report: %p', (includeFields, includeReport, expected) => {
    expect(String(withoutParts(Buffer.from(form), { includeFields, includeReport }))).toBe(expected)
  })
})
