import { generate } from 'selfsigned'

const days = 2

/**
 * PEM texts of one test file's engines, of which nothing outlives it: the engine's certificate and key, for 127.0.0.1 alone, the authority
 * that vouches for it, and one of the same name which does not.
 */
export async function makeCertificates() {
  const [own, foreign] = await Promise.all([makeAuthority(), makeAuthority()])
  const engine = await generate([{ name: 'commonName', value: 'engine' }], {
    ...common(),
    ca: { key: own.private, cert: own.cert },
    extensions: [
      { name: 'basicConstraints', cA: false },
      { name: 'subjectAltName', altNames: [{ type: 7, ip: '127.0.0.1' }] },
    ],
  })
  return { ca: own.cert, foreignCa: foreign.cert, certificate: engine.cert, key: engine.private }
}

const makeAuthority = (): ReturnType<typeof generate> =>
  generate([{ name: 'commonName', value: 'test authority' }], {
    ...common(),
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, critical: true },
    ],
  })

const common = () => ({
  keyType: 'ec' as const,
  algorithm: 'sha256',
  notAfterDate: new Date(Date.now() + days * 86_400_000),
})
