import type { Host } from '../../network.ts'
import type { Catalog, Index } from './catalog.ts'
import { attempt, indexNotFound, notSimulated, Refusal, refused } from './refusal.ts'
import { isReachable, type Shard, type VersionType } from './shard.ts'

type Action = {
  readonly _index: string
  readonly _id: string
  readonly routing: string
  readonly version: number
  readonly version_type: VersionType
  /** The sequence number that the document must have; then no version is given. */
  readonly if_seq_no?: number
}

type BulkOptions = {
  /** Documents with this id are refused. */
  readonly failsAt: string | undefined
  /** How long the request waits for primaries that are missing. */
  readonly waitMs: number
}

/**
 * Writes the documents of a bulk request; returns a result for each. Other requests may run in between. Aliases are resolved once, before
 * the first document.
 */
export async function writeBulk(
  text: string,
  catalog: Catalog,
  host: Host,
  { failsAt, waitMs }: BulkOptions,
): Promise<object> {
  const lines = text.split('\n')
  const operations = Array.from({ length: Math.floor(lines.length / 2) }, (_, at) => {
    const action = readAction(lines[2 * at] ?? '')
    return { action, source: lines[2 * at + 1] ?? '', index: attempt(() => catalog.writeIndexOf(action._index)) }
  })
  const items: object[] = []
  // The shards of a request wait side by side.
  const patience = { leftMs: waitMs }
  let untilPause = groupSize(operations.length, host)
  for (const { action, source, index } of operations) {
    if (untilPause-- === 0) {
      await host.pause('part of a bulk request')
      untilPause = groupSize(operations.length, host)
    }
    const isRefused = action._id === failsAt
    items.push({
      index: await writeItem(
        action,
        source,
        isRefused ? refused(500, 'null_pointer_exception') : index,
        catalog,
        host,
        patience,
      ),
    })
  }
  const errors = items.some((item) => JSON.stringify(item).includes('"error"'))
  return { errors, took: 0, items }
}

const groupSize = (operations: number, host: Host): number => 1 + Math.floor(host.random() * operations)

async function writeItem(
  { _id, routing, version, version_type: versionType, if_seq_no: expectedSeqNo }: Action,
  source: string,
  index: Index | Refusal,
  catalog: Catalog,
  host: Host,
  patience: Patience,
): Promise<object> {
  try {
    if (index instanceof Refusal) throw index
    const shard = index.shardOf(routing)
    if (!canWrite(shard)) {
      await host.pause('copies that do not answer are dropped')
      shard.dropLost()
      await untilWritable(shard, patience, host)
    }
    if (!catalog.has(index)) throw indexNotFound(index.name)
    if (index.hasWriteBlock) throw writeBlocked(index)
    if (!canWrite(shard)) throw primaryMissing(index, shard)
    if (expectedSeqNo !== undefined) throw notWrittenBefore(_id, expectedSeqNo)
    const status = shard.write({ id: _id, routing, version, source, fields: index.mapping.read(source) }, versionType)
    return { _index: index.name, _id, _version: version, _seq_no: shard.lastSeqNo, _primary_term: 1, status }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const { root_cause: _, ...cause } = error.error
    return { _id, status: error.status, error: cause }
  }
}

/** How long a request may still wait for primaries. */
export type Patience = { leftMs: number }

const lookMs = 500

/** Waits, as Elasticsearch does, until a shard has its primary again. */
export async function untilWritable(shard: Shard, patience: Patience, host: Host): Promise<void> {
  while (!canWrite(shard) && patience.leftMs > 0) {
    const forMs = Math.min(lookMs, patience.leftMs)
    await new Promise<void>((resolve) => host.after(forMs, 'wait for a primary', resolve))
    patience.leftMs -= forMs
    shard.dropLost()
  }
}

/** Whether a write reaches every active copy. */
const canWrite = ({ primary, copies }: Shard): boolean =>
  isReachable(primary) && copies.every((copy) => !copy.isActive || isReachable(copy))

function readAction(line: string): Action {
  const { index, ...others } = JSON.parse(line)
  const { _index, _id, routing, version, version_type, if_seq_no, if_primary_term, ...more } = index ?? {}
  const isConditional = if_seq_no === 0 && if_primary_term === 1 && _id === 'probe' && version === undefined
  const isVersioned = typeof version === 'number' && ['external', 'external_gte'].includes(version_type)
  const isSimulated =
    Object.keys({ ...others, ...more }).length === 0 && typeof routing === 'string' && isVersioned !== isConditional
  if (!isSimulated) throw notSimulated(`the bulk action ${line}`)
  return index as Action
}

/** The conflict of a conditional write to a missing document. */
const notWrittenBefore = (id: string, seqNo: number): Refusal =>
  new Refusal(409, {
    type: 'version_conflict_engine_exception',
    reason: `[${id}]: version conflict, required seqNo [${seqNo}], primary term [1]. but no document was found`,
  })

const writeBlocked = ({ name }: Index): Refusal =>
  new Refusal(403, {
    type: 'cluster_block_exception',
    reason: `index [${name}] blocked by: [FORBIDDEN/8/index write (api)];`,
  })

const primaryMissing = ({ name }: Index, { number }: Shard): Refusal =>
  new Refusal(503, { type: 'unavailable_shards_exception', reason: `[${name}][${number}] primary shard is not active` })
