import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { createTeamLimit } from '../../../src/api/requestsInFlight.ts'
import type { TeamId } from '../../../src/core/model/ids.ts'
import { HttpError } from '../../../src/core/process/httpError.ts'

const maxOfTeam = 512

type Request = { readonly isAdmitted: boolean; close(): void }

/** Starts requests of teams. */
function admission(): (teamId: string, isClosed?: boolean) => Request {
  const admit = createTeamLimit()
  return (teamId, isClosed = false) => {
    const response = Object.assign(new EventEmitter(), { closed: isClosed })
    const close = () => {
      response.closed = true
      response.emit('close')
    }
    try {
      admit(response as unknown as ServerResponse, teamId as TeamId)
      return { isAdmitted: true, close }
    } catch (error) {
      if (error instanceof HttpError) return { isAdmitted: false, close }
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
