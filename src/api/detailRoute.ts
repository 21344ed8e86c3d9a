import type { z } from 'zod'
import type { TeamId } from '../core/model/ids.ts'
import type { EntityType } from '../core/model/teamList.ts'
import type { Rendered } from './answerCache.ts'
import type { Route } from './context.ts'
import { apiError } from './errors.ts'
import { respond } from './respond.ts'
import { weighDetail } from './search/large.ts'
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
    const validators = validatorsOf(ctx, type, parameters)
    const { holder, runQuery, holdAnswer } = ctx.state
    const { teamId } = holder
    const id = ctx.params['id'] ?? ''
    const whole = async (): Promise<Rendered> => {
      const bytes = await weighDetail(indexReader, type, { teamId, version: validators.version }, id, runQuery)
      await holdAnswer(bytes)
      const found = await runQuery((signal) => read(indexReader, teamId, id, parameters, signal), bytes)
      if (found === undefined) throw apiError('not_found', `no such ${what}`)
      return { body: found }
    }
    await respond(ctx, answers, validators, { whole, mayBeMissing: true })
  }
