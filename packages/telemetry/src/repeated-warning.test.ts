import { expect, it } from '@jest/globals'
import { createLogger } from './index.js'
import { RepeatedWarning } from './repeated-warning.js'

it('logs each message when it is new, then once a minute with how often it came, and again after the outage', () => {
  const lines: unknown[] = []
  const log = createLogger({ level: 'info', component: 'test', sink: (line) => lines.push(JSON.parse(line)) })
  let time = 0
  const warning = new RepeatedWarning(log, 'redis unavailable', () => new Date(time))
  const come = (times: number, message: string) => {
    for (let i = 0; i < times; i++) warning.warn(new Error(message), { queue: 'events' })
    return lines.splice(0)
  }
  const line = { level: 'warning', msg: 'redis unavailable', queue: 'events', error_message: 'refused' }
  const first = come(100, 'refused')
  expect(first).toMatchObject([line])
  expect(first[0]).not.toHaveProperty('repeats')
  expect(come(1, 'not found')).toMatchObject([{ error_message: 'not found' }])
  time = 59_999
  expect(come(50, 'refused')).toEqual([])
  time = 60_000
  expect(come(2, 'refused')).toMatchObject([{ ...line, repeats: 149 }])
  warning.reset()
  expect(come(1, 'refused')).toMatchObject([line])
})

it('forgets old messages, so that ones with changing parts cannot fill the memory', () => {
  const lines: string[] = []
  const log = createLogger({ level: 'info', component: 'test', sink: (line) => lines.push(line) })
  const warning = new RepeatedWarning(log, 'redis unavailable', () => new Date(0))
  const send = (from: number, to: number) => {
    for (let n = from; n < to; n++) warning.warn(new Error(`port ${n}`))
    return lines.splice(0).length
  }
  expect(send(0, 21)).toBe(21)
  expect(send(0, 1)).toBe(1)
  expect(send(0, 1)).toBe(0)
})

it('takes messages for one that differ in how long the client waits', () => {
  const lines: string[] = []
  const log = createLogger({ level: 'info', component: 'test', sink: (line) => lines.push(line) })
  const warning = new RepeatedWarning(log, 'redis unavailable', () => new Date(0))
  for (let ms = 10; ms < 1000; ms += 10)
    warning.warn(new Error(`All sentinels are unreachable. Retrying from scratch after ${ms}ms.`))
  expect(lines).toHaveLength(1)
})
