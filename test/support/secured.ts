import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Engine, EngineDefinition, EngineName } from '../../tools/engines/engines.ts'
import { makeCertificates } from './certificates.ts'
import { startBeside } from './ownEngines.ts'
import { temporaryFolder } from './temporaryFolder.ts'

/** An engine that speaks TLS and asks who connects, beside the two others of all tests. */
export type Secured = {
  readonly engine: Engine
  /** Of the authority that vouches for the engine, and of one that does not. */
  readonly caFile: string
  readonly foreignCaFile: string
  readonly ca: string
  stop(): Promise<void>
}

/** Where an engine finds its certificate and key. */
export type OwnFiles = { readonly certificate: string; readonly key: string }

/** Starts one engine as `secure` makes it. */
export async function startSecured(
  name: EngineName,
  secure: (definition: EngineDefinition, files: OwnFiles, ca: string) => EngineDefinition,
): Promise<Secured> {
  const made = await makeCertificates()
  const files = await temporaryFolder('tidemark-secured-')
  const write = async (file: string, text: string): Promise<string> => {
    await writeFile(join(files, file), text)
    return join(files, file)
  }
  const own = { certificate: await write('engine.pem', made.certificate), key: await write('engine.key', made.key) }
  const { engine, stop } = await startBeside([name], { adapt: (definition) => secure(definition, own, made.ca) })
  return {
    engine: engine(name),
    ca: made.ca,
    caFile: await write('ca.pem', made.ca),
    foreignCaFile: await write('foreign-ca.pem', made.foreignCa),
    stop: async () => {
      await stop()
      await rm(files, { recursive: true, force: true })
    },
  }
}
