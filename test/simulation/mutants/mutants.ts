import type { Theme } from '../history.ts'

/** A fault to be planted in the product: in `file`, the text `from` is replaced by `to`. */
export type Mutant = {
  readonly name: string
  /** What has to happen for the fault to show: its histories have these themes. */
  readonly themes: readonly Theme[]
  readonly file: string
  readonly from: string
  readonly to: string
}

/** Faults that an engineer could make, each of which breaks a promise to readers. */
export const mutants: readonly Mutant[] = [
  {
    name: 'commit-before-refresh',
    themes: ['crashes'],
    file: 'indexer/watermarkPublisher.ts',
    from: 'const searchable = await this.#makeSearchable()\n',
    to: 'await this.#commit(partitions)\n    const searchable = await this.#makeSearchable()\n',
  },
  {
    name: 'written-lists-forgotten-when-a-step-fails',
    themes: ['redis', 'refusals'],
    file: 'indexer/watermarkPublisher.ts',
    from: 'await this.#noteRaised(partitions)\n',
    to: `const written = this.#written
    this.#written = new Set()
    await this.#noteRaised(partitions)
    for (const list of written) this.#written.add(list)
`,
  },
  {
    name: 'promise-of-a-commit-not-kept',
    themes: ['redis', 'crashes', 'late'],
    file: 'indexer/assignedPartition.ts',
    from: 'Math.max(claimed.watermarkMs ?? 0, start.promisedMs)',
    to: 'claimed.watermarkMs',
  },
  {
    name: 'change-tokens-after-the-watermark',
    themes: ['groups'],
    file: 'indexer/watermarkPublisher.ts',
    from: `    await this.#replaceChangeTokens()
    if (searchable !== undefined) await pending?.settle(searchable)
    await this.#commit(partitions)
    return await this.#publishWatermarks(partitions, ranges)`,
    to: `    if (searchable !== undefined) await pending?.settle(searchable)
    await this.#commit(partitions)
    const result = await this.#publishWatermarks(partitions, ranges)
    await this.#replaceChangeTokens()
    return result`,
  },
  {
    name: 'clock-read-after-the-end-offsets',
    themes: ['network', 'freezes'],
    file: 'indexer/watermarkPublisher.ts',
    from: `    const askedAtMs = await this.#readClocks()
    const ranges = await offsetRanges()`,
    to: `    const ranges = await offsetRanges()
    const askedAtMs = await this.#readClocks()`,
  },
  {
    name: 'dead-letter-not-awaited',
    themes: ['contract', 'network'],
    file: 'indexer/pipeline.ts',
    from: 'serving.deadLetters.reject(record, result, start, this.#writing.signal).then(count)',
    to: "(async () => serving.deadLetters.reject(record, result, start, this.#writing.signal))().catch(() => undefined) && Promise.resolve(count('dead-letter'))",
  },
  {
    name: 'commit-of-another-generation-counts',
    themes: ['generations'],
    file: 'indexer/startOffsets.ts',
    from: '(generation === undefined || own.generation === generation.tag)',
    to: '(generation === undefined || own.generation !== undefined)',
  },
  {
    name: 'changed-at-below-the-watermark',
    themes: ['clocks'],
    file: 'indexer/changeTimes.ts',
    from: 'watermarkDecided(watermarkMs: number): void {\n    this.#latestMs = Math.max(this.#latestMs, watermarkMs)',
    to: 'watermarkDecided(_watermarkMs: number): void {',
  },
  {
    name: 'claim-tells-no-watermark',
    themes: ['clocks', 'groups'],
    file: 'indexer/changeTimes.ts',
    from: 'this.#watermarkMs = watermarkMs ?? Number.NEGATIVE_INFINITY',
    to: 'this.#watermarkMs = (watermarkMs, Number.NEGATIVE_INFINITY)',
  },
  {
    name: 'watermark-in-the-future',
    themes: ['clocks'],
    file: 'indexer/watermarkPublisher.ts',
    from: 'Math.min(known, askedAtMs)',
    to: 'known',
  },
  {
    name: 'not-modified-while-a-change-is-pending',
    themes: ['groups'],
    file: 'src/api/respond.ts',
    from: 'holdsVersion(ctx, etag) && (isSettled || matchesAny(ctx))',
    to: 'holdsVersion(ctx, etag)',
  },
  {
    name: 'revoked-key-accepted',
    themes: ['keys'],
    file: 'src/api/authenticate.ts',
    from: "state === 'active' && (expiresAtMs",
    to: 'state !== undefined && (expiresAtMs',
  },
  {
    name: 'eleven-keys',
    themes: ['keys'],
    file: 'src/core/stores/accountKeyStore.ts',
    from: 'local isFull = taken >= max',
    to: 'local isFull = false',
  },
  {
    name: 'switch-without-marker',
    themes: ['switch'],
    file: 'indexer/generations/generations.ts',
    from: '[...markers, ...moved]',
    to: 'moved',
  },
  {
    name: 'hold-not-renewed-nor-checked',
    themes: ['switch', 'late'],
    file: 'indexer/generations/rebuild.ts',
    from: `    if (!(await extendWatermarkHold(redis, holder, maxHoldMs))) throw new Error('the hold on the watermark has expired')`,
    to: '',
  },
  {
    name: 'watermark-of-an-earlier-run-of-redis',
    themes: ['redis'],
    file: 'src/core/stores/listVersions.ts',
    from: 'published === null || run !== runId ? null',
    to: 'published === null ? null',
  },
  {
    name: 'kept-answer-while-a-change-is-pending',
    themes: ['groups'],
    file: 'src/api/respond.ts',
    from: 'if (isSettled) return',
    to: 'if (isSettled || true) return',
  },
  {
    name: 'account-keys-not-replayed',
    themes: ['redis', 'keys'],
    file: 'indexer/accountKeys.ts',
    from: 'if (!(await store.isComplete())) log.info',
    to: 'if (false) log.info',
  },
  {
    name: 'joined-without-an-assignment',
    themes: ['groups'],
    file: 'src/core/kafka/client.ts',
    from: '\nannounceJoining()\n',
    to: '\n',
  },
  {
    name: 'no-mark-of-pending-writes',
    themes: ['groups'],
    file: 'indexer/bulk/bulkApi.ts',
    from: 'await mark()\n      const stop',
    to: 'const stop',
  },
  {
    name: 'writes-go-on-unmarked',
    themes: ['redis', 'groups'],
    file: 'indexer/pendingWrites.ts',
    from: 'await Promise.all(this.#marking)',
    to: 'await Promise.allSettled(this.#marking)',
  },
  {
    // biome-ignore-start lint/suspicious/noTemplateCurlyInString: source of the product
    name: 'version-of-an-earlier-run-of-redis',
    themes: ['redis'],
    file: 'src/core/stores/listVersions.ts',
    from: '`${runId} ${generation} ${token}`',
    to: '`${generation} ${token}`',
    // biome-ignore-end lint/suspicious/noTemplateCurlyInString: source of the product
  },
  {
    name: 'change-tokens-read-before-the-watermark',
    themes: ['delays'],
    file: 'src/core/stores/accountKeyStore.ts',
    from: ': freshnessIn(read, redis.runId())',
    to: ": await redis.client.hmget(redis.keys.watermark, 'published', 'run', 'generation').then((later) => freshnessIn([...later, ...read.slice(3)] as never, redis.runId()))",
  },
  {
    name: 'watermark-behind-one-that-redis-lost',
    themes: ['redis', 'clocks'],
    file: 'src/core/stores/watermark.ts',
    from: "if published < highest then return 'behind' end",
    to: '',
  },
  {
    name: 'every-team-of-the-shard',
    themes: ['contract'],
    file: 'src/api/search/clauses.ts',
    from: 'bool: { filter: [{ term: { teamId } }, ...filter] }',
    to: 'bool: { filter: [...filter] }',
  },
  {
    name: 'redis-away-is-an-internal-error',
    themes: ['network'],
    file: 'src/api/errors.ts',
    from: "  if (thrown instanceof RedisUnavailable) return unavailable('redis', thrown)\n",
    to: '  if (thrown instanceof RedisUnavailable) thrown.message += String(unavailable)\n',
  },
  {
    name: 'run-of-redis-asked-once',
    themes: ['redis', 'refusals'],
    file: 'src/core/stores/redis.ts',
    from: 'setTimeout(readRunId, runIdRetryMs, connection).unref()',
    to: '',
  },
  {
    name: 'tombstone-with-an-ordinary-version',
    themes: ['crashes'],
    file: 'src/core/stores/renderDocuments.ts',
    from: 'write(kind, change, deletedRevision, source)',
    to: 'write(kind, change, 10 as Revision, source)',
  },
  {
    name: 'revoked-in-kafka-only',
    themes: ['keys', 'network'],
    file: 'src/core/stores/accountKeyStore.ts',
    from: 'const [kind, newest] = (await applyScript',
    to: "if (state.key?.state === 'revoked' && position === undefined) return { kind: 'applied', newest: undefined }\n    const [kind, newest] = (await applyScript",
  },
  {
    name: 'stale-write-leaves-no-token',
    themes: ['crashes', 'groups'],
    file: 'indexer/pipeline.ts',
    from: 'this.publisher.noteWrite(list)',
    to: "if (outcome.kind !== 'stale') this.publisher.noteWrite(list)",
  },
  {
    name: 'any-copy-of-a-shard',
    themes: ['copies', 'delays'],
    file: 'src/api/search/readPrimaries.ts',
    // biome-ignore-start lint/suspicious/noTemplateCurlyInString: source of the product
    from: '`_only_nodes:${primary.node}`',
    to: '`team:${primary.node}`',
    // biome-ignore-end lint/suspicious/noTemplateCurlyInString: source of the product
  },
  {
    name: 'other-content-is-stale',
    themes: ['contract'],
    file: 'indexer/bulk/job.ts',
    from: "stored.version === version ? 'conflict' : 'stale'",
    to: "stored.version === version ? 'stale' : 'stale'",
  },
  {
    name: 'open-transaction-ends-a-topic',
    themes: ['keys', 'transactions'],
    file: 'src/core/kafka/readTopic.ts',
    from: '&& BigInt(lastStableOffset) >= span.to',
    to: '',
  },
  {
    name: 'forgotten-deletion-not-noticed',
    themes: ['forgotten-deletions'],
    file: 'indexer/coverage.ts',
    from: 'if (end.askedAtMs - this.#coveredAtMs > this.#keptMs()) this.#coveredAtMs = notCovered',
    to: '',
  },
  {
    name: 'failing-document-is-an-outage',
    themes: ['failing-document'],
    file: 'indexer/bulk/bulkFailure.ts',
    from: "outageStatuses.has(status) ? 'retry' : 'suspect'",
    to: "outageStatuses.has(status) ? 'retry' : 'retry'",
  },
  {
    name: 'later-content-counts',
    themes: ['contract'],
    file: 'indexer/bulk/job.ts',
    from: 'one.order < other.order',
    to: 'one.order > other.order',
  },
]
