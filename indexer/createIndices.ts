import { type Client, errors } from '@elastic/elasticsearch'
import { aliasOf, documentKinds, physicalName, readDefinition } from '../src/replica/indices.ts'

const timeoutMs = 30_000

/** Creates each index that no alias points at, with its alias in the same call. Safe to call from several processes at once. */
export async function createIndices(client: Client, prefix: string, signal: AbortSignal): Promise<void> {
  for (const kind of documentKinds) {
    const alias = aliasOf(prefix, kind)
    const options = { signal, requestTimeout: timeoutMs }
    if (await client.indices.existsAlias({ name: alias }, options)) continue
    const { version, settings, mappings } = await readDefinition(kind)
    try {
      await client.indices.create(
        {
          index: physicalName(prefix, kind, version, 1),
          settings,
          mappings,
          aliases: { [alias]: { is_write_index: true } },
        },
        options,
      )
    } catch (error) {
      if (!isAlreadyThere(error)) throw error
    }
  }
}

const isAlreadyThere = (error: unknown): boolean =>
  error instanceof errors.ResponseError && error.message.includes('resource_already_exists_exception')
