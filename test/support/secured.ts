import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  type Engine,
  type EngineDefinition,
  type EngineName,
  type EngineUrls,
  variableOf,
} from '../../tools/engines/engines.ts'
import { makeCertificates } from './certificates.ts'
import { startSpecial } from './ownEngines.ts'
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
  const others = Object.values(variableOf).filter((variable) => variable !== variableOf[name])
  const external: Partial<EngineUrls> = Object.fromEntries(
    others.map((variable) => [variable, process.env[variable] ?? '']),
  )
  const { engines, stop } = await startSpecial({ external, adapt: (definition) => secure(definition, own, made.ca) })
  const engine = engines[name]
  if (engine === undefined) throw new Error(`${name} was not started`)
  return {
    engine,
    ca: made.ca,
    caFile: await write('ca.pem', made.ca),
    foreignCaFile: await write('foreign-ca.pem', made.foreignCa),
    stop: async () => {
      await stop()
      await rm(files, { recursive: true, force: true })
    },
  }
}
