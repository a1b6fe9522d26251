import { expect, it } from '@jest/globals'
import { Supervisor } from './supervisor.js'

const part = (name: string, stopped: string[]) => () =>
  Promise.resolve({
    name,
    stop: () => {
      stopped.push(name)
      return Promise.resolve()
    },
  })

it('stops what was started last first, and only once', async () => {
  const stopped: string[] = []
  const supervisor = new Supervisor()
  await supervisor.start(part('database', stopped), part('queue', stopped))
  await supervisor.start(part('service', stopped))
  await Promise.all([supervisor.stop(), supervisor.stop()])
  expect(stopped).toEqual(['service', 'database', 'queue'])
})

it('still stops the parts whose neighbour failed to start', async () => {
  const stopped: string[] = []
  const supervisor = new Supervisor()
  const starting = supervisor.start(part('database', stopped), () => Promise.reject(new Error('no Redis')))
  await expect(starting).rejects.toThrow('no Redis')
  await supervisor.stop()
  expect(stopped).toEqual(['database'])
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
