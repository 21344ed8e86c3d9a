import { runService } from '../src/core/process/service.ts'
import { startIndexer } from './indexer.ts'

// Documents of a few kilobytes by the thousand: each an allocation of its own costs more than filling it.
Buffer.poolSize = 256 * 1024

await runService({
  name: 'indexer',
  needs: ['ELASTICSEARCH_URL', 'KAFKA_BROKERS', 'REDIS_URL'],
  adminPort: 9102,
  start: startIndexer,
})
