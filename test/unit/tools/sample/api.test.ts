import { untilKeysAreComplete } from '../../../../tools/sample/api.ts'
import { useStarted } from '../../../support/lifecycle.ts'
import { startLocalServer } from '../../../support/localServer.ts'

const statuses = [503, 503, 401]
const api = useStarted('the API', () =>
  startLocalServer((_request, response) => {
    response.writeHead(statuses.shift() ?? 500).end()
  }),
)

test('keys are created once the API refuses an unknown key', async () => {
  await untilKeysAreComplete(api.url, AbortSignal.timeout(10_000))
  expect(statuses).toEqual([])
})
