import type { z } from 'zod'
import type { EntityType } from '../core/model/ids.ts'
import type { Route } from './context.ts'
import { apiError } from './errors.ts'
import { validatorsOf } from './etag.ts'
import { respond } from './respond.ts'
import { readDetail, weighDetail } from './search/details.ts'

/** The route of a single entity, which `render` makes of the stored JSON. */
export const detailRoute =
  <Schema extends z.ZodObject>(
    type: EntityType,
    schema: Schema,
    render: (detail: Buffer, parameters: z.output<Schema>) => Buffer,
  ): Route =>
  async (ctx, { readParameters, indexReader, answers }) => {
    const parameters = readParameters(ctx, schema)
    const validators = validatorsOf(ctx, type, parameters)
    const { holder, runQuery, holdAnswer } = ctx.state
    const { teamId } = holder
    const id = ctx.params['id'] ?? ''
    const whole = async () => {
      const list = { type, teamId, version: validators.version }
      const bytes = await weighDetail(indexReader, list, id, runQuery)
      await holdAnswer(bytes)
      const found = await runQuery((signal) => readDetail(indexReader, list, id, signal), bytes)
      if (found === undefined) throw apiError('not_found', type === 'forms' ? 'no such form' : 'no such record')
      return { body: render(found, parameters) }
    }
    await respond(ctx, answers, validators, { whole, mayBeMissing: true })
  }
