import type { Command } from './supervisedProgram.ts'

export const engineNames = ['elasticsearch', 'kafka', 'redis'] as const
export type EngineName = (typeof engineNames)[number]

/** How one kind of engine is set up and run. */
export type EngineDefinition = {
  name: EngineName
  defaultPort: number
  /** From its start until it answers; more than a slow machine needs. */
  startDeadlineMs: number
  dataFolder: string
  url(port: number): string
  /** Brings data folder and settings into shape for a start at `port`, whatever the last start left. */
  prepare(port: number, signal: AbortSignal): Promise<Command>
  /** Whether this very engine, not another one at its port, takes requests. */
  answers(running: Running, signal: AbortSignal): Promise<boolean>
}
export type Running = {
  port: number
  pid: number
  /** What it has written to its log since this start. */
  output(): Promise<string>
}
