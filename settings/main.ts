import { runService } from '../src/core/process/service.ts'
import { composeSettings } from './composeSettings.ts'

await runService({
  name: 'settings',
  needs: ['KAFKA_BROKERS', 'REDIS_URL', 'sign-in'],
  listensOn: ['HOST', 'ADMIN_HOST'],
  adminPort: 9103,
  start: composeSettings,
})
