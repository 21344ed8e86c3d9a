import type { Client } from '@elastic/elasticsearch'
import type { Stage } from '../stage.ts'
import { fillInParts, fillWorld, type Weight, weigh } from './fill.ts'
import { liveHeapBytes } from './heap.ts'
import type { Plan } from './plan.ts'
import { type AccountKeys, createAccountKeys, type ServedWorld, serveWorld } from './serve.ts'
import { type World, writesOf } from './world.ts'

/** A world that is filled and served, and what it took. */
export type RaisedWorld = ServedWorld & {
  readonly weights: readonly Weight[]
  /** What it added to Elasticsearch's heap; undefined where that cannot be told. */
  readonly heapBytes: number | undefined
  /** Documents a second, where they were made beforehand. */
  readonly bulkRates: readonly number[]
}

export type RaisedWorlds = { readonly [Series in keyof Plan]: readonly RaisedWorld[] } & { readonly keys: AccountKeys }

/** Makes and fills the worlds one after the other; all of them are served when it returns. */
export async function raiseWorlds(client: Client, plan: Plan, stage: Stage): Promise<RaisedWorlds> {
  let keys: AccountKeys | undefined
  const raise = async (world: World, fill: () => Promise<readonly number[]>): Promise<RaisedWorld> => {
    const heapBefore = await liveHeapBytes(client, stage)
    const { served, keys: known } = await serveWorld(stage, world, async () => keys ?? createAccountKeys(stage, world))
    keys = known
    const bulkRates = await fill()
    const heapAfter = await liveHeapBytes(client, stage)
    const heapBytes = heapBefore === undefined || heapAfter === undefined ? undefined : heapAfter - heapBefore
    return { ...served, weights: await weigh(client, world, stage), heapBytes, bulkRates }
  }
  const raiseAll = async (worlds: readonly World[], fill: (world: World) => Promise<readonly number[]>) => {
    const raised: RaisedWorld[] = []
    for (const world of worlds) raised.push(await raise(world, () => fill(world)))
    return raised
  }
  const fillWhole = async (world: World): Promise<readonly number[]> => {
    await fillWorld(client, world, stage)
    return []
  }
  const documents = await raiseAll(plan.documents, fillWhole)
  const teams = await raiseAll(plan.teams, fillWhole)
  const [first] = plan.shards
  const made = first === undefined ? [] : [...writesOf(first)]
  const shards = await raiseAll(plan.shards, (world) => fillInParts(client, world, made, stage))
  if (keys === undefined) throw new Error('there is no world')
  return { documents, teams, shards, keys }
}
