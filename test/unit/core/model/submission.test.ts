import { rawMembers } from '../../../../src/core/json/rawJson.ts'
import { readSubmissionRecord } from '../../../../src/core/model/record.ts'
import { submissionEntity } from '../../../support/entities.ts'

const common = 'id serialNumber formId shareToken reportUrl submittedAt updatedAt examinee metadata data'
const utmAndReferrer = 'utmSource utmMedium utmCampaign utmTerm utmContent referrer'

/** What is served of a submission. */
function submissionOf(text: string): { readonly summary: string; readonly detail: string } {
  const read = readSubmissionRecord(Buffer.from('acme/s1'), Buffer.from(`{"revision":1,"submission":${text}}`))
  if (!read.ok || read.value.live === null) throw new Error(JSON.stringify(read))
  const { summary, detail } = read.value.live.entity
  return { summary: summary.toString(), detail: detail.toString() }
}
const full = submissionOf(JSON.stringify({ ...submissionEntity({ id: 's1' }), secret: 1 }))
/** The names of the object at `path` of what is rendered. */
function namesAt(rendered: string, ...path: string[]): string {
  const object = path.reduce((text, name) => rawMembers(text).get(name) ?? '', rendered)
  return [...rawMembers(object).keys()].join(' ')
}

test('a submission in a list has the fields of the submission summary, in their order', () => {
  const summary = full.summary
  expect(namesAt(summary)).toBe(`${common} result`)
  expect(namesAt(summary, 'examinee')).toBe('id examineeId email name customData')
  expect(namesAt(summary, 'metadata')).toBe(utmAndReferrer)
  expect(namesAt(summary, 'result')).toBe('status score maxScore level outcomeCode outcomeName')
})

test('a single submission has the whole report for the compact result, and other fields of examinee and metadata', () => {
  const detail = full.detail
  expect(namesAt(detail)).toBe(`${common} reportResult`)
  expect(namesAt(detail, 'examinee')).toBe('id email name')
  expect(namesAt(detail, 'metadata')).toBe(`${utmAndReferrer} ip userAgent`)
  expect(namesAt(detail, 'reportResult')).toBe('status overallAnalysis dimensionAnalysis outcome aiSuggestion')
  expect(namesAt(detail, 'reportResult', 'overallAnalysis')).toBe('score maxScore level summary suggestions')
  expect(namesAt(detail, 'reportResult', 'dimensionAnalysis')).toBe('title radar items')
  expect(namesAt(detail, 'reportResult', 'outcome')).toBe('code name ranking')
  expect(namesAt(detail, 'reportResult', 'aiSuggestion')).toBe('status content')
})

test.each(['null', '7', '"vip"', '[ 1.0, {"10":1,"9":2} ]', '{"a" : "\\ud800"}', '1e400'])(
  'custom data and ranking may be any JSON, such as %s, and are served as they came',
  (json) => {
    const text = JSON.stringify(submissionEntity({ id: 's1' }))
      .replace('"customData":null', `"customData":${json}`)
      .replace('"ranking":null', `"ranking":${json}`)
    const { summary, detail } = submissionOf(text)
    expect(summary).toContain(`"customData":${json}}`)
    expect(detail).toContain(`"ranking":${json}}`)
  },
)

test('answers, radar and items are served byte for byte, in the order they came', () => {
  const data = '{"10": "x", "2":[1.0,  "\\/"], "__proto__":{"a":12345678901234567890}}'
  const text = JSON.stringify(submissionEntity({ id: 's1' }))
    .replace('{"q1":"A","q2":["B","C"]}', data)
    .replace('[{"name":"accuracy","value":0.8}]', '[{"value" :0.80}]')
  const { summary, detail } = submissionOf(text)
  expect(summary).toContain(`"data":${data},`)
  expect(detail).toContain(`"data":${data},`)
  expect(detail).toContain('"radar":[{"value" :0.80}]')
})
