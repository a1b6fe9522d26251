import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { Schedule } from './schedule.js'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

beforeEach(() => {
  jest.useFakeTimers()
})
afterEach(() => {
  jest.useRealTimers()
})

describe('Schedule', () => {
  it('runs a job after a minute and then at its interval, whether it failed or not', async () => {
    const failure = new Error('no database')
    const run = jest.fn(() => Promise.reject(failure))
    const onError = jest.fn()
    const schedule = new Schedule([{ name: 'clean-up', everyMs: HOUR, run }], onError)
    await jest.advanceTimersByTimeAsync(MINUTE - 1)
    expect(run).toHaveBeenCalledTimes(0)
    await jest.advanceTimersByTimeAsync(1)
    expect(run).toHaveBeenCalledTimes(1)
    await jest.advanceTimersByTimeAsync(2 * HOUR)
    expect(run).toHaveBeenCalledTimes(3)
    expect(onError).toHaveBeenLastCalledWith('clean-up', failure)
    await schedule.close()
  })

  it('starts nothing after it was closed, neither the first run nor a later one', async () => {
    const run = jest.fn(() => Promise.resolve())
    const young = new Schedule([{ name: 'young', everyMs: HOUR, run }], () => undefined)
    await young.close()
    await jest.advanceTimersByTimeAsync(3 * HOUR)
    expect(run).toHaveBeenCalledTimes(0)
    const old = new Schedule([{ name: 'old', everyMs: HOUR, run }], () => undefined)
    await jest.advanceTimersByTimeAsync(MINUTE)
    await old.close()
    await jest.advanceTimersByTimeAsync(3 * HOUR)
    expect(run).toHaveBeenCalledTimes(1)
  })

  it('tells a run that is under way to stop, and waits for it', async () => {
    const ended: string[] = []
    const run = (stop: AbortSignal) =>
      new Promise<void>((resolve) => {
        stop.addEventListener('abort', () => {
          ended.push('run')
          resolve()
        })
      })
    const schedule = new Schedule([{ name: 'long', everyMs: HOUR, run }], () => undefined)
    await jest.advanceTimersByTimeAsync(MINUTE)
    await schedule.close()
    expect(ended).toEqual(['run'])
  })
})
