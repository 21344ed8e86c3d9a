import type { z } from 'zod'
import type { TeamId } from '../core/model/ids.ts'
import type { EntityType } from '../core/model/teamList.ts'
import type { Rendered } from './answerCache.ts'
import type { Route } from './context.ts'
import { apiError } from './errors.ts'
import { respond } from './respond.ts'
import type { SearchClient } from './search/searchClient.ts'
import { validatorsOf } from './validators.ts'

/** Reads the detail of an entity as raw JSON; undefined if the team has no such entity. */
type ReadDetail<Parameters> = (
  client: SearchClient,
  teamId: TeamId,
  id: string,
  parameters: Parameters,
  signal: AbortSignal,
) => Promise<Buffer | undefined>

/** What is counted for a single entity: as much as a record may have unless the broker's limit is raised. */
const detailBytes = 1024 * 1024

/** The route of a single entity, whose error answers call it `what`. */
export const detailRoute =
  <Schema extends z.ZodObject>(
    type: EntityType,
    what: 'form' | 'record',
    schema: Schema,
    read: ReadDetail<z.output<Schema>>,
  ): Route =>
  async (ctx, { readParameters, indexReader, answers }) => {
    const parameters = readParameters(ctx, schema)
    const whole = async (): Promise<Rendered> => {
      await ctx.state.holdAnswer(detailBytes)
      const found = await ctx.state.runQuery(
        (signal) => read(indexReader, ctx.state.holder.teamId, ctx.params['id'] ?? '', parameters, signal),
        detailBytes,
      )
      if (found === undefined) throw apiError('not_found', `no such ${what}`)
      return { body: found }
    }
    await respond(ctx, answers, validatorsOf(ctx, type, parameters), { whole, mayBeMissing: true })
  }
