import { composeApi } from './startApi.ts'
import { runService } from '../core/process/service.ts'

await runService({
  name: 'api',
  needs: ['ELASTICSEARCH_URL', 'REDIS_URL'],
  listensOn: ['HOST', 'ADMIN_HOST'],
  adminPort: 9101,
  start: composeApi,
})
