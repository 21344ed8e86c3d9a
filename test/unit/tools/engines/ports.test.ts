import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { choosePort, portFree } from '../../../../tools/engines/ports.ts'

test('a free port is chosen as preferred, a taken one is not', async () => {
  const free = await choosePort()
  expect(await choosePort(free)).toBe(free)

  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const other = await choosePort(port)
  expect(other).not.toBe(port)
  expect(await portFree(other)).toBe(true)
  server.close()
})
