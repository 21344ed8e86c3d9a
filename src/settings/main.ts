import { runService } from '../core/process/service.ts'
import { defaultPort, startSettings } from './startSettings.ts'

await runService({
  name: 'settings',
  needs: ['KAFKA_BROKERS', 'REDIS_URL', 'sign-in'],
  port: defaultPort,
  adminPort: 9103,
  start: startSettings,
})
