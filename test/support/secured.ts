import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { EngineDefinition, EngineName } from '../../tools/engines/engines.ts'
import { makeCertificates } from './certificates.ts'
import { startBeside } from './ownEngines.ts'
import { temporaryFolder } from './temporaryFolder.ts'

/** Paths of an engine's certificate and key. */
export type OwnFiles = { readonly certificate: string; readonly key: string }

/** Starts an engine with TLS and authentication, configured by `secure`; the two other engines are the shared ones. */
export async function startSecured(
  name: EngineName,
  secure: (definition: EngineDefinition, files: OwnFiles, ca: string) => EngineDefinition,
) {
  const certificates = await makeCertificates()
  const files = await temporaryFolder('tidemark-secured-')
  const write = async (file: string, text: string): Promise<string> => {
    await writeFile(join(files, file), text)
    return join(files, file)
  }
  const own = {
    certificate: await write('engine.pem', certificates.certificate),
    key: await write('engine.key', certificates.key),
  }
  const { engine, stop } = await startBeside([name], {
    adapt: (definition) => secure(definition, own, certificates.ca),
  })
  return {
    engine: engine(name),
    ca: certificates.ca,
    /** PEM files of the engine's certificate and key, which a client may have, too. */
    own,
    /** PEM files of the engine's certificate authority, and of another one. */
    caFile: await write('ca.pem', certificates.ca),
    foreignCaFile: await write('foreign-ca.pem', certificates.foreignCa),
    stop: async (): Promise<void> => {
      await stop()
      await rm(files, { recursive: true, force: true })
    },
  }
}
