import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  type Engine,
  type EngineDefinition,
  type EngineName,
  type EngineUrls,
  startEngines,
  variableOf,
} from '../../tools/engines/engines.ts'
import { makeCertificates } from './certificates.ts'
import { startDeadlineMs } from './ownEngines.ts'
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
  const folder = await temporaryFolder('tidemark-secured-')
  const made = await makeCertificates()
  const write = async (file: string, text: string): Promise<string> => {
    await writeFile(join(folder, file), text)
    return join(folder, file)
  }
  const files = { certificate: await write('engine.pem', made.certificate), key: await write('engine.key', made.key) }
  const others = Object.values(variableOf).filter((variable) => variable !== variableOf[name])
  const external: Partial<EngineUrls> = Object.fromEntries(
    others.map((variable) => [variable, process.env[variable] ?? '']),
  )
  const engines = await startEngines({
    folder,
    distributions: 'var/engines',
    clean: true,
    quick: true,
    external,
    adapt: (definition) => secure(definition, files, made.ca),
    signal: AbortSignal.timeout(startDeadlineMs),
  })
  const engine = engines[name]
  if (engine === undefined) throw new Error(`${name} was not started`)
  return {
    engine,
    ca: made.ca,
    caFile: await write('ca.pem', made.ca),
    foreignCaFile: await write('foreign-ca.pem', made.foreignCa),
    stop: async () => {
      await engines.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
