import { cacheToken, signAwsToken } from '../../../../src/core/kafka/tokens.ts'

describe('a token of AWS', () => {
  const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' }
  const nowMs = Date.UTC(2026, 10, 26, 8, 30, 15)
  const urlOf = async (given: Parameters<typeof signAwsToken>[0]): Promise<URL> =>
    new URL(Buffer.from((await signAwsToken(given, 'eu-west-1', nowMs)).value, 'base64url').toString())

  // Made by SigV4QueryAuth of botocore 1.43.11, for the same time, region and credentials.
  test.each([
    [undefined, '80f42ba7b8450fa9f331094e7264ed92d52a8730a0176d1aeb1d0a7fa14a39a8'],
    ['session/token+with=signs==', '4063b2f71f6e3e4bc3f2f4f60735077b6debdae53a10e01cfdabf7688961c4c3'],
  ])('with the session token %s is signed as botocore signs', async (sessionToken, signature) => {
    const url = await urlOf({ ...credentials, ...(sessionToken !== undefined && { sessionToken }) })
    expect(`${url.origin}${url.pathname}`).toBe('https://kafka.eu-west-1.amazonaws.com/')
    expect(Object.fromEntries(url.searchParams)).toEqual({
      Action: 'kafka-cluster:Connect',
      'User-Agent': 'tidemark',
      'X-Amz-Algorithm': 'AWS4-HMAC-SHA256',
      'X-Amz-Credential': 'AKIDEXAMPLE/20261126/eu-west-1/kafka-cluster/aws4_request',
      'X-Amz-Date': '20261126T083015Z',
      'X-Amz-Expires': '900',
      ...(sessionToken !== undefined && { 'X-Amz-Security-Token': sessionToken }),
      'X-Amz-Signature': signature,
      'X-Amz-SignedHeaders': 'host',
    })
  })

  test('ends with the credentials, in whole seconds', async () => {
    const ending = { ...credentials, expiration: new Date(nowMs + 61_900) }
    expect((await urlOf(ending)).searchParams.get('X-Amz-Expires')).toBe('61')
    expect(await signAwsToken(ending, 'eu-west-1', nowMs)).toMatchObject({ lifetimeMs: 61_000 })
  })
})

describe('a token that is kept', () => {
  const source = (lifetimeMs: number) => {
    const state = { fetched: 0, fails: false }
    const token = cacheToken(async () => {
      if (state.fails) throw new Error('no token')
      return { value: `token ${++state.fetched}`, lifetimeMs }
    })
    return { state, ...token }
  }

  test('is fetched once for all connections', async () => {
    const { state, read } = source(60_000)
    expect(await Promise.all([read(), read(), read()])).toEqual(['token 1', 'token 1', 'token 1'])
    expect([await read(), state.fetched]).toEqual(['token 1', 1])
  })

  test('is renewed before its end', async () => {
    const { read } = source(29_000)
    expect([await read(), await read()]).toEqual(['token 1', 'token 2'])
  })

  test('is used until its end if no new one can be fetched', async () => {
    const { state, read } = source(29_000)
    await read()
    state.fails = true
    expect(await read()).toBe('token 1')
  })

  test('is not used after its end, nor after Kafka has refused it', async () => {
    const over = source(0)
    await over.read()
    over.state.fails = true
    await expect(over.read()).rejects.toThrow('no token')
    const { read, forget } = source(60_000)
    await read()
    forget()
    expect(await read()).toBe('token 2')
  })
})
