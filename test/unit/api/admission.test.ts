import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { createTeamAdmission } from '../../../src/api/admission.ts'
import type { RouteState } from '../../../src/api/context.ts'
import type { TeamId } from '../../../src/core/model/ids.ts'
import { HttpError } from '../../../src/core/process/httpError.ts'

const maxOfTeam = 512

type Request = { readonly isAdmitted: boolean; pause(): () => void; close(): void }

/** Starts requests of teams. */
function admission(): (teamId: string, isClosed?: boolean) => Request {
  const admit = createTeamAdmission()
  return (teamId, isClosed = false) => {
    const response = Object.assign(new EventEmitter(), { closed: isClosed })
    const ctx = { res: response as unknown as ServerResponse, state: {} as RouteState }
    const close = () => {
      response.closed = true
      response.emit('close')
    }
    const pause = () => {
      ctx.state.permit.pause()
      return ctx.state.permit.resume
    }
    try {
      admit(ctx, teamId as TeamId)
      return { isAdmitted: true, pause, close }
    } catch (error) {
      if (error instanceof HttpError) return { isAdmitted: false, pause, close }
      throw error
    }
  }
}

test('a team uses up its own permits and no others, and gets one back when a response closes', () => {
  const start = admission()
  const admitted = Array.from({ length: maxOfTeam }, () => start('acme'))
  expect(admitted.every(({ isAdmitted }) => isAdmitted)).toBe(true)
  expect(start('acme').isAdmitted).toBe(false)
  expect(start('other').isAdmitted).toBe(true)
  admitted[0]?.close()
  expect(start('acme').isAdmitted).toBe(true)
  expect(start('acme').isAdmitted).toBe(false)
})

test('a client that disconnects before its request is admitted takes no permit', () => {
  const start = admission()
  for (let at = 0; at < 2 * maxOfTeam; at++) start('acme', true)
  expect(start('acme').isAdmitted).toBe(true)
})

test('a request that waits has no permit, and takes it again whatever the limit', () => {
  const start = admission()
  const [first, ...others] = Array.from({ length: maxOfTeam }, () => start('acme'))
  const resume = first?.pause()
  const replacement = start('acme')
  expect(replacement.isAdmitted).toBe(true)
  resume?.()
  others[0]?.close()
  expect(start('acme').isAdmitted).toBe(false)
  first?.close()
  expect(start('acme').isAdmitted).toBe(true)
})

test('a request whose client disconnects while it waits takes no permit again', () => {
  const start = admission()
  const admitted = Array.from({ length: maxOfTeam }, () => start('acme'))
  const resumes = admitted.map(({ pause }) => pause())
  for (const { close } of admitted) close()
  for (const resume of resumes) resume()
  for (let at = 0; at < maxOfTeam; at++) expect(start('acme').isAdmitted).toBe(true)
  expect(start('acme').isAdmitted).toBe(false)
})
