import { generate } from 'selfsigned'

const days = 2

/**
 * Makes PEM texts for one test file: an engine's certificate for 127.0.0.1 with its key, its certificate authority, and another authority
 * of the same name, which has not signed it.
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
