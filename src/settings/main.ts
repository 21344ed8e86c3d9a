import { runService } from '../core/process/service.ts'
import { startSettings } from './startSettings.ts'

await runService({
  name: 'settings',
  needs: ['KAFKA_BROKERS', 'REDIS_URL', 'sign-in'],
  listensOn: ['HOST', 'ADMIN_HOST'],
  adminPort: 9103,
  start: startSettings,
})
