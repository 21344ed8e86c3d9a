import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { jest } from '@jest/globals'
import { withinDeadline } from '../../../src/http/deadline.ts'

const untilAborted = (signal: AbortSignal): Promise<string> =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve('aborted')))

let response: ServerResponse

beforeEach(() => {
  jest.useFakeTimers()
  response = new EventEmitter() as ServerResponse
})
afterEach(() => {
  jest.useRealTimers()
})

describe('withinDeadline', () => {
  test('gives the answer and leaves nothing behind', async () => {
    expect(await withinDeadline(response, async () => 'answer')).toBe('answer')
    expect(jest.getTimerCount()).toBe(0)
    expect(response.listenerCount('close')).toBe(0)
  })

  test('leaves nothing behind when the query fails', async () => {
    await expect(withinDeadline(response, () => Promise.reject(new Error('failed')))).rejects.toThrow('failed')
    expect(jest.getTimerCount()).toBe(0)
    expect(response.listenerCount('close')).toBe(0)
  })

  test('aborts the query after five seconds', async () => {
    const ended = withinDeadline(response, untilAborted)
    jest.advanceTimersByTime(4_999)
    expect(jest.getTimerCount()).toBe(1)
    jest.advanceTimersByTime(1)
    expect(await ended).toBe('aborted')
  })

  test('aborts the query when the client is gone', async () => {
    const ended = withinDeadline(response, untilAborted)
    response.emit('close')
    expect(await ended).toBe('aborted')
  })
})
