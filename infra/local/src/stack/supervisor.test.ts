import { afterEach, beforeEach, expect, it, jest } from '@jest/globals'
import { Supervisor } from './supervisor.js'

beforeEach(() => {
  jest.spyOn(console, 'log').mockImplementation(() => {})
})
afterEach(() => {
  jest.restoreAllMocks()
})

const part = (name: string, stopped: string[], stop = () => Promise.resolve()) => ({
  name,
  stop: () => {
    stopped.push(name)
    return stop()
  },
})

it('stops what was started last first, and only once', async () => {
  const stopped: string[] = []
  const supervisor = new Supervisor()
  for (const name of ['database', 'queue', 'service'])
    await supervisor.start(() => Promise.resolve(part(name, stopped)))
  await Promise.all([supervisor.stop(), supervisor.stop()])
  expect(stopped).toEqual(['service', 'queue', 'database'])
})

it('still stops the parts whose neighbor failed to start, or to stop', async () => {
  const stopped: string[] = []
  const supervisor = new Supervisor()
  await supervisor.start(() => Promise.resolve(part('database', stopped)))
  await supervisor.start(() =>
    Promise.resolve(part('mail', stopped, () => Promise.reject(new Error('busy')))),
  )
  const starting = supervisor.start(() => Promise.reject(new Error('no Redis')))
  await expect(starting).rejects.toThrow('no Redis')
  await supervisor.stop()
  expect(stopped).toEqual(['mail', 'database'])
})

it('reports a part that ends by itself, with its last output, but not one that was stopped', async () => {
  const supervisor = new Supervisor()
  let end: (exit: { code: number; signal: null }) => void = () => {}
  await supervisor.start(() =>
    Promise.resolve({
      name: 'webhooks',
      exited: new Promise<{ code: number; signal: null }>((resolve) => (end = resolve)),
      lastOutput: () => 'out of memory',
    }),
  )
  end({ code: 1, signal: null })
  expect(await supervisor.unexpectedEnd).toBe('webhooks ended by itself (exit code 1):\nout of memory')
})
