/** A fault to be planted in the product: in `file`, the text `from` is replaced by `to`. `invariants`: those that may show it. */
export type Mutant = {
  readonly name: string
  readonly file: string
  readonly from: string
  readonly to: string
}

/** Faults that an engineer could make, each of which breaks a promise to readers. */
export const mutants: readonly Mutant[] = [
  {
    name: 'commit-before-refresh',
    file: 'indexer/publisher.ts',
    from: 'await this.#makeSearchable(written)\n    await this.#replaceChangeTokens()',
    to: 'await this.#commit(partitions)\n    await this.#makeSearchable(written)\n    await this.#replaceChangeTokens()',
  },
  {
    name: 'change-tokens-after-the-watermark',
    file: 'indexer/publisher.ts',
    from: `    await this.#replaceChangeTokens()
    if (acknowledged !== undefined) await pending?.settle(acknowledged)
    await this.#commit(partitions)
    this.#lags = partitions.map((each) => lagOf(each, ranges.get(partitionName(each))?.high, askedAtMs))
    return await this.#publishWatermarks(partitions, ranges)`,
    to: `    if (acknowledged !== undefined) await pending?.settle(acknowledged)
    await this.#commit(partitions)
    const result = await this.#publishWatermarks(partitions, ranges)
    await this.#replaceChangeTokens()
    return result`,
  },
  {
    name: 'clock-read-after-the-end-offsets',
    file: 'indexer/publisher.ts',
    from: `    const askedAtMs = await this.#readClocks()
    const ranges = await offsetRanges()`,
    to: `    const ranges = await offsetRanges()
    const askedAtMs = await this.#readClocks()`,
  },
  {
    name: 'dead-letter-not-awaited',
    file: 'indexer/pipeline.ts',
    from: "finish((await serving?.rejectRecord(record, problem, assigned.start, this.#writing.signal)) ?? 'stale')",
    to: "{ serving?.rejectRecord(record, problem, assigned.start, this.#writing.signal).catch(() => undefined); finish('dead-letter') }",
  },
  {
    name: 'commit-of-another-generation-counts',
    file: 'indexer/committedOffsets.ts',
    from: '(generation === undefined || own.generation === generation)',
    to: '(generation === undefined || own.generation !== undefined)',
  },
  {
    name: 'change-times-without-watermark',
    file: 'indexer/changeTimes.ts',
    from: 'appendedAtMs + this.#earlierRaisedByMs : Math.max(appendedAtMs, this.#watermarkMs)',
    to: 'appendedAtMs : appendedAtMs',
  },
  {
    name: 'published-by-whoever-claimed-before',
    file: 'src/core/stores/watermark.ts',
    from: "if owner and owner ~= ARGV[3] then return 'displaced' end",
    to: '',
  },
  {
    name: 'switch-without-marker',
    file: 'indexer/generations/generations.ts',
    from: 'actions: [...markers, ...aliases]',
    to: 'actions: aliases',
  },
  {
    name: 'hold-not-renewed-nor-checked',
    file: 'indexer/generations/rebuild.ts',
    from: `    if (!(await extendWatermarkHold(redis, keys, holder, maxHoldMs)))
      throw new Error('the hold on the watermark has expired')`,
    to: '',
  },
  {
    name: 'no-mark-of-pending-writes',
    file: 'indexer/pipeline.ts',
    from: 'await this.#pending?.mark()\n    const stop',
    to: 'const stop',
  },
  {
    // biome-ignore-start lint/suspicious/noTemplateCurlyInString: source of the product
    name: 'version-of-an-earlier-run-of-redis',
    file: 'src/core/stores/listVersions.ts',
    from: '`${runId} ${generation} ${token}`',
    to: '`${generation} ${token}`',
    // biome-ignore-end lint/suspicious/noTemplateCurlyInString: source of the product
  },
  {
    name: 'refresh-that-missed-a-copy-counts',
    file: 'indexer/refresh.ts',
    from: 'if (missed !== undefined) throw new Error(missed)',
    to: '',
  },
  {
    name: 'tombstone-with-its-revision',
    file: 'src/core/stores/documents.ts',
    from: 'write(kind, change, deletedRevision, source)',
    to: 'write(kind, change, 1_000 as Revision, source)',
  },
  {
    name: 'revoked-in-kafka-only',
    file: 'src/settings/accountKeyManager.ts',
    from: "key.state === 'revoked' ? 'applied' : await store.apply(teamId, id as EntityId, revoked)",
    to: "'applied' as const",
  },
  {
    name: 'stale-write-leaves-no-token',
    file: 'indexer/pipeline.ts',
    from: 'this.#publisher.noteWrite(list)',
    to: "if (outcome.kind !== 'stale') this.#publisher.noteWrite(list)",
  },
]
