import { Counter, type Registry } from 'prom-client'
import { type RequestMetrics, requestMetrics } from '../core/process/requestMetrics.ts'
import { type RejectionReason, rejectionReasons } from './requestError.ts'

export type ApiMetrics = {
  readonly requests: RequestMetrics<RejectionReason>
  readonly ignoredParameters: Counter<'route'>
}

/** What the API counts and measures beside its calls to the engines. */
export const apiMetrics = (registry: Registry): ApiMetrics => ({
  requests: requestMetrics(registry, rejectionReasons),
  ignoredParameters: new Counter({
    name: 'tidemark_http_ignored_parameters_total',
    help: 'Query parameters that requests carried and no route knows',
    labelNames: ['route'],
    registers: [registry],
  }),
})
