import { join } from 'node:path'
import { aliasOf, type DocumentKind } from '../../../src/core/stores/indices.ts'
import { untilTopicsExist } from '../../demo/indexing.ts'
import { connect, createServedKey, startApi, untilServed } from '../replica.ts'
import type { Stage } from '../stage.ts'
import { storeWrites, weigh } from '../storeWrites.ts'
import { fixedTeam, largestTeam, type MeasuredTeam, type World, writesOf } from './world.ts'

/** A key of each team that is measured; every world knows it. */
export type AccountKeys = Readonly<Record<MeasuredTeam, string>>

/** What an index takes on disk. */
type Weight = { readonly kind: DocumentKind } & Awaited<ReturnType<typeof weigh>>

/** A filled world that an API of its own serves. */
export type ServedWorld = World & { readonly origin: string; readonly weights: readonly Weight[] }

/** Fills and serves worlds one after the other. The keys are made in the first one; the indexers of the others read them from Kafka. */
export async function serveWorlds(
  stage: Stage,
  worlds: readonly World[],
): Promise<{ readonly served: readonly ServedWorld[]; readonly keys: AccountKeys }> {
  const served: ServedWorld[] = []
  let keys: AccountKeys | undefined
  for (const world of worlds) {
    const one = await serveEmpty(stage, world, keys)
    keys = one.keys
    await fill(stage, world)
    served.push({ ...world, origin: one.origin, weights: await weighAll(stage, world) })
  }
  if (keys === undefined) throw new Error('there is no world')
  return { served, keys }
}

/** Has an indexer make the empty indices of a world and stops it; starts an API that stays, and knows the keys. */
async function serveEmpty(
  stage: Stage,
  { name, shards }: World,
  known: AccountKeys | undefined,
): Promise<{ readonly origin: string; readonly keys: AccountKeys }> {
  const logs = join(stage.logsFolder, name)
  const own = { INDEX_PREFIX: name, CONSUMER_GROUP: name }
  const indexer = await stage.start('indexer', { ...own, INDEX_SHARDS: String(shards) }, logs)
  const origin = await startApi(stage, own, logs)
  const [admin] = await connect(stage)
  await untilTopicsExist(admin, stage.config, stage.signal)
  const keyOf = async (team: MeasuredTeam): Promise<string> => {
    if (known === undefined) return await createServedKey(stage, origin, team, own)
    await untilServed(stage, origin, known[team])
    return known[team]
  }
  const keys = { [fixedTeam]: await keyOf(fixedTeam), [largestTeam]: await keyOf(largestTeam) }
  await indexer.stop()
  return { origin, keys }
}

async function fill(stage: Stage, world: World): Promise<void> {
  const indices = kindsIn(world).map((kind) => aliasOf(world.name, kind))
  const writes = Iterator.from(writesOf(world)).map(({ kind, id, teamId, version, source }) => ({
    index: aliasOf(world.name, kind),
    id,
    teamId,
    version,
    source: source.toString(),
  }))
  const total = world.submissions * indices.length
  await storeWrites(stage, writes, { label: `Storing ${world.name}`, total, indices })
}

/** Rejects when the list does not hold every submission. */
async function weighAll(stage: Stage, world: World): Promise<readonly Weight[]> {
  const weights: Weight[] = []
  for (const kind of kindsIn(world)) weights.push({ kind, ...(await weigh(stage, aliasOf(world.name, kind))) })
  const [list] = weights
  if (list?.documents !== world.submissions) throw new Error(`${world.name} does not hold every submission`)
  return weights
}

const kindsIn = ({ hasDetails }: World): DocumentKind[] => [
  'submissions',
  ...(hasDetails ? ['submission-details' as const] : []),
]
