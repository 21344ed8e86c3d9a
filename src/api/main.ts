import { runService } from '../core/process/service.ts'
import { startApi } from './startApi.ts'

await runService({
  name: 'api',
  needs: ['ELASTICSEARCH_URL', 'REDIS_URL'],
  listensOn: ['HOST', 'ADMIN_HOST'],
  adminPort: 9101,
  start: startApi,
})
