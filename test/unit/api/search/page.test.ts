import fc from 'fast-check'
import { type PageRequest, renderPage } from '../../../../src/api/search/pageEnvelope.ts'

const render = ({ items, totalDocs, ...request }: PageRequest & { totalDocs: number; items: string[] }): string =>
  renderPage(request, { total: totalDocs, rows: items.map((item) => Buffer.from(item)) }).toString()

describe('renderPage', () => {
  test('puts items into the envelope as they are', () => {
    const items = ['{"10":1,"2":1.50}', '{ "b" : 1E2 }']
    expect(render({ totalDocs: 7, page: 2, limit: 2, items })).toBe(
      '{"totalDocs":7,"page":2,"limit":2,"items":[{"10":1,"2":1.50},{ "b" : 1E2 }]}',
    )
  })

  test('is JSON for any page', () => {
    const anyPage = fc.record({ totalDocs: fc.nat(), page: fc.nat(), limit: fc.nat(), items: fc.array(fc.json()) })
    fc.assert(
      fc.property(anyPage, (page) => {
        const items = page.items.map((item) => JSON.parse(item) as unknown)
        expect(JSON.parse(render(page))).toEqual({ ...page, items })
      }),
    )
  })
})
