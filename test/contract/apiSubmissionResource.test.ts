import { opaque, submissionEntity } from '../support/entities.ts'
import { useApi } from '../support/useApi.ts'

const team = 'team-1'
const common = 'id serialNumber formId shareToken reportUrl submittedAt updatedAt examinee metadata data'.split(' ')

const api = useApi({
  submissions: [
    { team, id: 'full', entity: submissionEntity({ id: 'full' }) },
    {
      team,
      id: 'opaque',
      entity: `{"id":"opaque","formId":"form-2","serialNumber":9007199254740993,"submittedAt":"2026-02-01T00:00:00Z",
        "updatedAt":"2026-02-01T00:00:00Z","data":${opaque},"result":{"status":"completed","score":1.50},
        "examinee":{"id":"m2","customData":${opaque}},
        "reportResult":{"dimensionAnalysis":{"radar":[${opaque}],"items":[${opaque}]},"outcome":{"ranking":${opaque}}}}`,
    },
  ],
})

const read = async (target: string): Promise<string> => {
  const { status, text } = await api.get(`/api/v1${target}`)
  expect(status).toBe(200)
  return text
}

test('a summary holds its fields in the documented order, without ip and userAgent', async () => {
  const [full] = JSON.parse(await read('/records')).items
  expect(Object.keys(full)).toEqual([...common, 'result'])
  expect(Object.keys(full.metadata)).not.toEqual(expect.arrayContaining(['ip']))
})

test('a single submission has ip and userAgent, a smaller examinee, and reportResult instead of result', async () => {
  const json = JSON.parse(await read('/records/full'))
  const { result: _result, ...sent } = submissionEntity({ id: 'full' })
  expect(json).toEqual({ ...sent, examinee: { id: 'm1', email: 'ada@example.com', name: 'Ada' } })
  expect(Object.keys(json)).toEqual([...common, 'reportResult'])
})

test('data, customData and numbers come back in the list as they were sent', async () => {
  const text = await read('/records')
  for (const part of [`"data":${opaque}`, `"customData":${opaque}`, '"serialNumber":9007199254740993', '"score":1.50'])
    expect(text).toContain(part)
})

test('data, radar, items and ranking come back as they were sent', async () => {
  const text = await read('/records/opaque')
  for (const part of [`"data":${opaque}`, `"radar":[${opaque}]`, `"items":[${opaque}]`, `"ranking":${opaque}`])
    expect(text).toContain(part)
})
