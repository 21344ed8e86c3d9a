import type { Theme } from '../history.ts'
import { feedMutants } from './feedMutants.ts'

/** A fault to plant in the product: in `file`, the text `from` is replaced by `to`. */
export type Mutant = {
  /** Themes of histories that reveal the fault. */
  readonly themes: readonly Theme[]
  /** The history that revealed it last, where the search begins. Any change of the order of calls may move it to another one. */
  readonly seed: number
  readonly file: string
  readonly from: string
  readonly to: string
}

/** Plausible bugs by name, each of which breaks a promise to readers. */
export const mutants: Readonly<Record<string, Mutant>> = {
  'commit-before-refresh': {
    themes: ['crashes'],
    seed: 2,
    file: 'indexer/progressPublisher.ts',
    from: 'await this.#makeSearchable(ranges)\n',
    to: 'await this.#commit(progress)\n    await this.#makeSearchable(ranges)\n',
  },
  'written-lists-forgotten-when-a-step-fails': {
    themes: ['redis', 'refusals'],
    seed: 127,
    file: 'indexer/progressPublisher.ts',
    from: '      for (const list of written) this.#written.add(list)\n',
    to: '',
  },
  'clock-read-after-the-end-offsets': {
    themes: ['delays'],
    seed: 74,
    file: 'indexer/progressPublisher.ts',
    from: `    const beforeQueryMs = await this.#readClocks()
    const ranges = await offsetRanges()`,
    to: `    const ranges = await offsetRanges()
    const beforeQueryMs = await this.#readClocks()`,
  },
  'dead-letter-not-awaited': {
    themes: ['contract', 'network'],
    seed: 21,
    file: 'indexer/recordHandler.ts',
    from: 'this.#failUnlessDone(rejecting.then((outcome) => this.#countProcessed(record, outcome, onProcessed)))',
    to: "rejecting.catch(() => undefined)\n      this.#countProcessed(record, 'dead-letter', onProcessed)",
  },
  'commit-of-another-generation-counts': {
    themes: ['generations'],
    seed: 2,
    file: 'indexer/startOffsets.ts',
    from: '(generation === undefined || own.generation === generation.tag)',
    to: '(generation === undefined || own.generation !== undefined)',
  },
  'watermark-in-the-future': {
    themes: ['clocks'],
    seed: 2,
    file: 'indexer/progressPublisher.ts',
    from: 'Math.min(beforeMs, redisMs)',
    to: 'Math.max(beforeMs, redisMs)',
  },
  'revoked-key-accepted': {
    themes: ['keys'],
    seed: 1,
    file: 'src/core/redis/keyLookups.ts',
    from: "state === 'active' && (expiresAtMs",
    to: 'state !== undefined && (expiresAtMs',
  },
  'eleven-keys': {
    themes: ['keys'],
    seed: 2,
    file: 'src/core/redis/accountKeyScripts.ts',
    from: 'local isFull = taken >= max',
    to: 'local isFull = false',
  },
  'switch-without-lock-or-comparison': {
    themes: ['switch'],
    seed: 9,
    file: 'src/core/redis/switchServing.ts',
    from: "if redis.call('GET', KEYS[2]) ~= ARGV[1] then return {'lock lost'} end",
    to: "ARGV[5], ARGV[10] = '', ''",
  },
  'search-the-alias': {
    themes: ['switch'],
    seed: 12,
    file: 'src/api/search/searchClient.ts',
    from: 'alias: named ?? aliasOf(indexPrefix, kind)',
    to: 'alias: aliasOf(indexPrefix, kind) ?? named',
  },
  'unfinished-switch-left-alone': {
    themes: ['switch'],
    seed: 2,
    file: 'indexer/generations/finishSwitch.ts',
    from: 'if (switched === undefined) return found',
    to: 'if (switched !== null) return found',
  },
  'account-keys-not-replayed': {
    themes: ['redis', 'keys'],
    seed: 1,
    file: 'indexer/accountKeys.ts',
    from: 'if (run === undefined || hasNewRun)',
    to: 'if (false)',
  },
  'joined-without-an-assignment': {
    themes: ['groups'],
    seed: 65,
    file: 'src/core/kafka/client.ts',
    from: '\nannounceJoining()\n',
    to: '\n',
  },
  'change-tokens-read-before-the-watermark': {
    themes: ['delays'],
    seed: 619,
    file: 'src/core/redis/keyLookups.ts',
    from: 'for (const [at, pending] of lookups.entries()) {',
    to: `const serving = (await redis.client.get(redis.keys.serving)) as never
    const later = async (type: 'forms' | 'submissions') =>
      await redis.client.hget(redis.keys.visiblePositions(type, serving), 'watermark')
    const [forms, submissions] = [await later('forms'), await later('submissions')]
    for (const reply of replies) if (reply !== null) Object.assign(reply, { 4: forms, 9: submissions })
    for (const [at, pending] of lookups.entries()) {`,
  },
  'every-team-of-the-shard': {
    themes: ['contract'],
    seed: 1,
    file: 'src/api/search/clauses.ts',
    from: 'bool: { filter: [{ term: { teamId } }, ...filter] }',
    to: 'bool: { filter: [...filter] }',
  },
  'redis-away-is-an-internal-error': {
    themes: ['network'],
    seed: 1,
    file: 'src/api/errors.ts',
    from: "  if (thrown instanceof RedisUnavailable) return unavailable('redis', thrown)\n",
    to: '  if (thrown instanceof RedisUnavailable) thrown.message += String(unavailable)\n',
  },
  'run-of-redis-asked-once': {
    themes: ['redis', 'refusals'],
    seed: 46,
    file: 'src/core/redis/redis.ts',
    from: 'setTimeout(readRunId, runIdRetryMs, connection).unref()',
    to: '',
  },
  'frozen-rebuild-writes-on': {
    themes: ['switch', 'rebuild'],
    seed: 45,
    file: 'indexer/generations/generations.ts',
    from: '...writersOf(indices[kind]).map((alias) => ({ remove: { index: indices[kind], alias, must_exist: true } })),',
    to: '',
  },
  'failover-back-is-the-same-run': {
    themes: ['redis', 'keys'],
    seed: 60,
    file: 'src/core/redis/redis.ts',
    from: "/[^0]/.test(fieldIn(info, 'master_replid2') ?? '')",
    to: 'false',
  },
  'tombstone-with-an-ordinary-version': {
    themes: ['crashes'],
    seed: 1,
    file: 'indexer/convertRecord.ts',
    from: 'documentWrite(kind, key, deletedRevision,',
    to: 'documentWrite(kind, key, 10 as Revision,',
  },
  'revoked-in-kafka-only': {
    themes: ['keys', 'network'],
    seed: 5,
    file: 'src/core/redis/accountKeyStore.ts',
    from: 'const [kind, newest] = (await applyScript',
    to: "if (state.key?.state === 'revoked' && !position?.includes('/')) return { kind: 'applied', newest: undefined }\n    const [kind, newest] = (await applyScript",
  },
  'stale-write-leaves-no-token': {
    themes: ['crashes', 'groups'],
    seed: 318,
    file: 'indexer/recordHandler.ts',
    from: 'assigned.visible.noteWrite(list, record.offset)\n      publisher.noteWrite(list)',
    to: "if (outcome.kind !== 'stale') {\n        assigned.visible.noteWrite(list, record.offset)\n        publisher.noteWrite(list)\n      }",
  },
  'other-content-is-stale': {
    themes: ['contract'],
    seed: 1,
    file: 'indexer/bulk/job.ts',
    from: "stored.version === version ? 'conflict' : 'stale'",
    to: "stored.version === version ? 'stale' : 'stale'",
  },
  'open-transaction-ends-a-topic': {
    themes: ['keys', 'transactions'],
    seed: 7,
    file: 'src/core/kafka/readTopic.ts',
    from: '&& BigInt(lastStableOffset) >= span.to',
    to: '',
  },
  'forgotten-deletion-not-noticed': {
    themes: ['forgotten-deletions'],
    seed: 1,
    file: 'indexer/deletionCoverage.ts',
    from: 'if (end.beforeQueryMs - this.coveredUntilMs > this.#keptMs()) this.coveredUntilMs = notCovered',
    to: '',
  },
  'failing-document-is-an-outage': {
    themes: ['failing-document'],
    seed: 2,
    file: 'indexer/bulk/bulkFailure.ts',
    from: "outageStatuses.has(status) ? 'retry' : 'suspect'",
    to: "outageStatuses.has(status) ? 'retry' : 'retry'",
  },
  'later-content-counts': {
    themes: ['contract'],
    seed: 2,
    file: 'indexer/bulk/job.ts',
    from: 'one.order < other.order',
    to: 'one.order > other.order',
  },
  ...feedMutants,
}
