import fc from 'fast-check'
import type { ContentDigest } from '../../../../indexer/verify/content.ts'
import { decodeEntry, encodeDocument, encodeRecord } from '../../../../indexer/verify/entries.ts'
import { Spool } from '../../../../indexer/verify/spool.ts'
import type { DocumentId, Offset, Revision } from '../../../../src/core/model/ids.ts'
import { entityTypes } from '../../../../src/core/model/teamList.ts'
import { documentKinds } from '../../../../src/core/stores/indices.ts'

const id = fc.stringMatching(/^[A-Za-z0-9._:-]{1,128}\/[A-Za-z0-9._:-]{1,128}$/).map((text) => text as DocumentId)
const version = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }).map((value) => value as Revision)
const digest = fc
  .uint8Array({ minLength: 16, maxLength: 16 })
  .map((bytes) => Buffer.from(bytes).toString('latin1') as ContentDigest)
const timeMs = fc.integer({ min: -1e14, max: 1e14 })

test('an entry is read as it was written', () => {
  const record = fc.record({
    ...{ type: fc.constantFrom(...entityTypes), id, version, isCommitted: fc.boolean() },
    ...{ partition: fc.nat(), offset: fc.bigInt(0n, 2n ** 62n).map((value) => value as Offset) },
    ...{ changedAtLeastMs: fc.oneof(timeMs, fc.constant(Number.NEGATIVE_INFINITY)) },
    digests: fc.record({ list: digest, detail: digest }),
  })
  const content = fc.record({ digest, changedAtMs: fc.option(timeMs), isTombstone: fc.boolean() })
  const document = fc.record({ kind: fc.constantFrom(...documentKinds), id, version, content })
  fc.assert(fc.property(record, (entry) => expect(decodeEntry(encodeRecord(entry))).toEqual({ record: entry })))
  fc.assert(fc.property(document, (entry) => expect(decodeEntry(encodeDocument(entry))).toEqual({ document: entry })))
})

test('everything about one name is in one bucket, in its order, however much there is', async () => {
  const spool = await Spool.open()
  try {
    const [names, rounds] = [200, 150]
    for (let round = 0; round < rounds; round++)
      for (let name = 0; name < names; name++)
        await spool.append(`forms/acme/${name}`, Buffer.from(`${name} ${round} ${'x'.repeat(300 + name)}`))
    const seen = new Map<string, number>()
    const bucketOf = new Map<string, number>()
    for (let bucket = 0; bucket < spool.buckets; bucket++)
      for await (const entry of spool.entries(bucket)) {
        const [name = '', round] = entry.toString().split(' ')
        expect(Number(round)).toBe(seen.get(name) ?? 0)
        expect(bucketOf.get(name) ?? bucket).toBe(bucket)
        seen.set(name, Number(round) + 1)
        bucketOf.set(name, bucket)
      }
    expect([...seen.values()]).toEqual(Array.from({ length: names }, () => rounds))
    expect(new Set(bucketOf.values()).size).toBeGreaterThan(names / 4)
    expect(spool.bytes).toBeGreaterThan(names * rounds * 300)
  } finally {
    await spool.close()
  }
})
