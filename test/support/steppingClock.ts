import { execFile } from 'node:child_process'
import { open, writeFile } from 'node:fs/promises'
import { endianness } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findOnPath } from '../../tools/engines/permissions.ts'
import { describeWith } from '../foreign/support/describeWith.ts'

const compileTimeoutMs = 60_000
const source = `${import.meta.dirname}/c/steppingClock.c`

/** The wall clock of a program that was started with `environment`. */
export type SteppingClock = {
  readonly environment: Readonly<Record<string, string>>
  /** From now on the program's clock differs by so much from that of the machine. */
  stepTo(offsetMs: number): Promise<void>
}

/** `describe` where a clock can be made to step. */
export async function describeSteppingClock(): Promise<typeof describe | typeof describe.skip> {
  const isPossible = process.platform === 'linux' && (await findOnPath('cc', process.env)) !== undefined
  return describeWith('a C compiler on Linux', isPossible)
}

/** Compiles the library that lets a clock step, into a folder that lasts as long as the program runs. */
export async function makeSteppingClock(folder: string): Promise<SteppingClock> {
  const [library, offsets] = [join(folder, 'steppingClock.so'), join(folder, 'clock-offset-ms')]
  const flags = ['-shared', '-fPIC', '-O2', '-Wall', '-Wextra', '-Werror']
  await promisify(execFile)('cc', [...flags, '-o', library, source], { timeout: compileTimeoutMs })
  await writeFile(offsets, inBytes(0))
  return {
    environment: { LD_PRELOAD: library, STEPPING_CLOCK: offsets },
    stepTo: async (offsetMs) => {
      // In place: the program has mapped this very file.
      const file = await open(offsets, 'r+')
      try {
        await file.write(inBytes(offsetMs), 0, 8, 0)
      } finally {
        await file.close()
      }
    },
  }
}

function inBytes(offsetMs: number): Buffer {
  const bytes = Buffer.alloc(8)
  if (endianness() === 'LE') bytes.writeBigInt64LE(BigInt(offsetMs))
  else bytes.writeBigInt64BE(BigInt(offsetMs))
  return bytes
}
