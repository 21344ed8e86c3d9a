import { redisDistribution } from '../../../../tools/engines/redis.ts'

test.each(['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64'])('a Redis can be fetched for %s', (platform) => {
  expect(redisDistribution(platform)).toBeDefined()
})
