import { describeApi } from '../../src/api/openapi/openapi.ts'

// `npm run types` makes src/openapi.ts of it.
process.stdout.write(JSON.stringify(describeApi('/api/v1')))
