import { nameOf, parsePins, parseReference, withDigests } from '../../../../tools/release/imagePins.ts'

const digest = `sha256:${'a'.repeat(64)}`

test.each([
  ['node:24-bookworm-slim', { host: undefined, repository: 'node', tag: '24-bookworm-slim', digest: undefined }],
  [`apache/kafka:4.3.1@${digest}`, { host: undefined, repository: 'apache/kafka', tag: '4.3.1', digest }],
  ['registry.example/team/app:1', { host: 'registry.example', repository: 'team/app', tag: '1', digest: undefined }],
  ['localhost:5000/app:1', { host: 'localhost:5000', repository: 'app', tag: '1', digest: undefined }],
])('%s is understood', (written, reference) => {
  expect(parseReference(written)).toEqual(reference)
  expect(nameOf(parseReference(written))).toBe(written.replace(/@.*/, ''))
})

test('digests are added and replaced; comments, other lines and images without a new digest stay', () => {
  const other = `sha256:${'b'.repeat(64)}`
  const text = `# The images\nNODE_IMAGE=node:24\nREDIS_IMAGE=redis:8@${other}\nKAFKA_IMAGE=apache/kafka:4.3.1\nOTHER=1\n`
  const pinned = withDigests(
    text,
    new Map([
      ['NODE_IMAGE', digest],
      ['REDIS_IMAGE', digest],
    ]),
  )
  expect(pinned).toBe(
    `# The images\nNODE_IMAGE=node:24@${digest}\nREDIS_IMAGE=redis:8@${digest}\nKAFKA_IMAGE=apache/kafka:4.3.1\nOTHER=1\n`,
  )
  expect(parsePins(pinned).map(({ variable, reference }) => [variable, reference.digest])).toEqual([
    ['NODE_IMAGE', digest],
    ['REDIS_IMAGE', digest],
    ['KAFKA_IMAGE', undefined],
  ])
})
