import { runService } from '../core/process/service.ts'
import { defaultPort, startApi } from './startApi.ts'

await runService({
  name: 'api',
  needs: ['ELASTICSEARCH_URL', 'REDIS_URL'],
  port: defaultPort,
  adminPort: 9101,
  start: startApi,
})
