import fc from 'fast-check'
import { html } from '../../../../src/core/pages/html.ts'

test('values are escaped, markup is kept, lists are joined, and undefined is empty', () => {
  const inner = html`<b>${'<1> & "2" & \'3\''}</b>`
  expect(String(html`<p title="${'"'}">${inner}${[inner, [' ', 0]]}${undefined}${null}${false}</p>`)).toBe(
    `<p title="&#34;"><b>&#60;1&#62; &#38; &#34;2&#34; &#38; &#39;3&#39;</b><b>&#60;1&#62; &#38; &#34;2&#34; &#38; &#39;3&#39;</b> 0</p>`,
  )
})

test('no escaped text ends an element or an attribute', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(String(html`${text}`)).not.toMatch(/[<>"']|&(?!(amp|lt|gt|quot|#39);)/)
    }),
  )
})
