import { runService } from '../src/service.ts'
import { startIndexer } from './indexer.ts'

await runService({
  name: 'indexer',
  needs: ['ELASTICSEARCH_URL', 'KAFKA_BROKERS', 'REDIS_URL'],
  adminPort: 9102,
  start: startIndexer,
})
