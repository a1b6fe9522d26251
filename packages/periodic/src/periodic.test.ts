import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { Periodic, type PeriodicOptions } from './periodic.js'

const EVERY = 60_000

beforeEach(() => {
  jest.useFakeTimers()
})
afterEach(() => {
  jest.useRealTimers()
})

/** Runs that end when the test says so. */
function held() {
  const ends: (() => void)[] = []
  const run = jest.fn(() => new Promise<void>((end) => ends.push(end)))
  return { run, endFirst: () => ends.shift()?.() }
}

const fail = (error: unknown) => {
  throw error
}
const periodic = (options: Partial<PeriodicOptions> & Pick<PeriodicOptions, 'run'>) =>
  new Periodic({ everyMs: EVERY, onError: fail, ...options })

describe('Periodic', () => {
  it('runs at once and then at its interval, whether a run failed or threw', async () => {
    const failure = new Error('no database')
    const run = jest
      .fn<() => Promise<void>>()
      .mockRejectedValueOnce(failure)
      .mockImplementationOnce(() => fail(failure))
      .mockResolvedValue()
    const onError = jest.fn()
    const work = periodic({ run, onError })
    work.start()
    await jest.advanceTimersByTimeAsync(0)
    expect(run).toHaveBeenCalledTimes(1)
    await jest.advanceTimersByTimeAsync(3 * EVERY)
    expect(run).toHaveBeenCalledTimes(4)
    expect(onError.mock.calls).toEqual([[failure], [failure]])
    await work.stop()
  })

  it('waits before the first run where that is wanted', async () => {
    const run = jest.fn(() => Promise.resolve())
    const work = periodic({ run, firstMs: 1000 })
    work.start()
    await jest.advanceTimersByTimeAsync(999)
    expect(run).not.toHaveBeenCalled()
    await jest.advanceTimersByTimeAsync(1)
    expect(run).toHaveBeenCalledTimes(1)
    await work.stop()
  })

  it('begins no run while one is under way, however long that takes', async () => {
    const { run, endFirst } = held()
    const work = periodic({ run })
    work.start()
    await jest.advanceTimersByTimeAsync(10 * EVERY)
    expect(run).toHaveBeenCalledTimes(1)
    endFirst()
    await jest.advanceTimersByTimeAsync(EVERY)
    expect(run).toHaveBeenCalledTimes(2)
    const stopped = work.stop()
    endFirst()
    await stopped
  })

  it('runs once more for any number of requests during a run, and the interval begins after that', async () => {
    const { run, endFirst } = held()
    const work = periodic({ run })
    work.start()
    const requests = [work.request(), work.request()]
    endFirst()
    await jest.advanceTimersByTimeAsync(0)
    expect(run).toHaveBeenCalledTimes(2)
    endFirst()
    await Promise.all(requests)
    await jest.advanceTimersByTimeAsync(EVERY - 1)
    expect(run).toHaveBeenCalledTimes(2)
    await jest.advanceTimersByTimeAsync(1)
    expect(run).toHaveBeenCalledTimes(3)
    const stopped = work.stop()
    endFirst()
    await stopped
  })

  it('has one timer after a request between two runs', async () => {
    const run = jest.fn(() => Promise.resolve())
    const work = periodic({ run })
    work.start()
    await jest.advanceTimersByTimeAsync(EVERY / 2)
    await work.request()
    expect(run).toHaveBeenCalledTimes(2)
    expect(jest.getTimerCount()).toBe(1)
    await work.stop()
    expect(jest.getTimerCount()).toBe(0)
  })

  it('runs on request before it is started, and then not again by itself', async () => {
    const run = jest.fn(() => Promise.resolve())
    await periodic({ run }).request()
    expect(run).toHaveBeenCalledTimes(1)
    expect(jest.getTimerCount()).toBe(0)
  })

  it('tells a run to stop, waits for it, and begins no other', async () => {
    const ended: string[] = []
    const run = jest.fn(
      (stopping: AbortSignal) =>
        new Promise<void>((resolve) => {
          stopping.addEventListener('abort', () => {
            ended.push('run')
            resolve()
          })
        }),
    )
    const work = periodic({ run })
    work.start()
    void work.request()
    await work.stop()
    expect(ended).toEqual(['run'])
    await work.request()
    await jest.advanceTimersByTimeAsync(3 * EVERY)
    expect(run).toHaveBeenCalledTimes(1)
  })

  it('never begins when it is stopped before its first run', async () => {
    const run = jest.fn(() => Promise.resolve())
    const work = periodic({ run, firstMs: 1000 })
    work.start()
    await work.stop()
    await jest.advanceTimersByTimeAsync(3 * EVERY)
    expect(run).not.toHaveBeenCalled()
  })
})
