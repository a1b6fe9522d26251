import { describe, expect, it } from '@jest/globals'
import type { MarkdownResult } from '../markdown/markdown-worker.js'
import { ConversionScheduler, type Convert } from './conversion-scheduler.js'

const MEBIBYTE = 1024 * 1024

/** Conversions end only when the test ends them, and the clock stands still unless the test moves it. */
function controlledScheduler(jobs = 100, threads = 1) {
  let time = 0
  const running: { html: string; limitMs: number; end: (result: MarkdownResult) => void }[] = []
  const convert: Convert = (html, limitMs = Infinity) =>
    new Promise((resolve) => running.push({ html, limitMs, end: resolve }))
  const conversions = new ConversionScheduler({ convert, jobs, threads, now: () => time })
  return {
    conversions,
    running,
    pass: (ms: number) => (time += ms),
    /** Ends the conversion in progress. */
    end: async (result: MarkdownResult) => {
      running.shift()?.end(result)
      await new Promise(setImmediate)
    },
  }
}

const done = (cpuMs: number): MarkdownResult => ({ markdown: 'done', cpuMs })

describe('ConversionScheduler', () => {
  it('gives a thread to each account in turn, and keeps the order of one account', async () => {
    const { conversions, running, end } = controlledScheduler()
    const order: string[] = []
    const all = [
      ...['a1', 'a2', 'a3', 'a4'].map((html) => conversions.convertAll('a', [html])),
      ...['b1', 'b2'].map((html) => conversions.convertAll('b', [html])),
    ]
    await new Promise(setImmediate)
    while (running[0]) {
      order.push(running[0].html)
      await end(done(1))
    }
    expect(order).toEqual(['a1', 'a2', 'b1', 'a3', 'b2', 'a4'])
    await Promise.all(all)
  })

  it('leaves a thread to other accounts, however many documents one has', async () => {
    const { conversions, running } = controlledScheduler(100, 2)
    for (const html of ['a1', 'a2', 'a3']) void conversions.convertAll('a', [html])
    await new Promise(setImmediate)
    expect(running.map(({ html }) => html)).toEqual(['a1'])
    for (const html of ['b1', 'b2']) void conversions.convertAll('b', [html])
    await new Promise(setImmediate)
    expect(running.map(({ html }) => html)).toEqual(['a1', 'b1'])
    running[0]?.end(done(1))
    await new Promise(setImmediate)
    expect(running.map(({ html }) => html)).toEqual(['a1', 'b1', 'a2'])
  })

  it('leaves documents as they are when their event has used up its CPU time, and says so', async () => {
    const { conversions, running, end } = controlledScheduler()
    const converted = conversions.convertAll('a', ['1', '2', '3', '4'])
    await new Promise(setImmediate)
    await end(done(1990))
    await end(done(1990))
    expect(running[0]?.limitMs).toBe(20)
    await end({ failure: 'cpu_limit', cpuMs: 20 })
    expect(await converted).toEqual([
      { markdown: 'done' },
      { markdown: 'done' },
      { failure: 'event_budget' },
      { failure: 'event_budget' },
    ])
  })

  it('leaves documents as they are when their account has used up its share, and forgives with time', async () => {
    const { conversions, running, end, pass } = controlledScheduler()
    for (let used = 0; used < 30_000; used += 3000) {
      const converted = conversions.convertAll('a', ['x'])
      await new Promise(setImmediate)
      await end(done(3000))
      await converted
    }
    expect(await conversions.convertAll('a', ['x'])).toEqual([{ failure: 'account_budget' }])
    const other = conversions.convertAll('b', ['y'])
    await new Promise(setImmediate)
    expect(running).toHaveLength(1)
    await end(done(1))
    expect(await other).toEqual([{ markdown: 'done' }])
    pass(10_000)
    const again = conversions.convertAll('a', ['x'])
    await new Promise(setImmediate)
    expect(running[0]?.limitMs).toBe(4000)
    await end(done(1))
    expect(await again).toEqual([{ markdown: 'done' }])
  })

  it('has room for some events and bytes of an account, and always for one of another', () => {
    const { conversions } = controlledScheduler(100)
    for (let i = 0; i < 20; i += 1) {
      expect(conversions.mayWait('a')).toBe(true)
      void conversions.convertAll('a', ['small'])
    }
    expect(conversions.mayWait('a')).toBe(false)
    void conversions.convertAll('b', ['x'.repeat(4 * MEBIBYTE)])
    expect(conversions.mayWait('b')).toBe(false)
    while (conversions.mayWait('c')) void conversions.convertAll('c', ['small'])
    for (let others = 0; others < 10; others += 1) {
      expect(conversions.mayWait(`other ${others}`)).toBe(true)
      void conversions.convertAll(`other ${others}`, ['small'])
    }
  })

  it('has room for others beside an event that is larger than all that may wait', async () => {
    const { conversions, end } = controlledScheduler()
    const bomb = conversions.convertAll('a', ['x'.repeat(32 * MEBIBYTE)])
    expect(['a', 'b'].map((account) => conversions.mayWait(account))).toEqual([false, true])
    const page = conversions.convertAll('b', ['x'.repeat(MEBIBYTE)])
    expect(['a', 'b', 'c'].map((account) => conversions.mayWait(account))).toEqual([false, true, true])
    await new Promise(setImmediate)
    await end(done(1))
    await end(done(1))
    await Promise.all([bomb, page])
    expect(conversions.mayWait('a')).toBe(true)
  })

  it('defers events by how long conversions take, however little CPU time they get', async () => {
    const { conversions, end, pass } = controlledScheduler()
    for (let i = 0; i < 50; i += 1) {
      const converted = conversions.convertAll('a', ['x'])
      await new Promise(setImmediate)
      pass(2000)
      await end(done(10))
      await converted
    }
    expect(conversions.deferMs('a')).toBeGreaterThan(1000)
  })

  it('asks each event that finds no room to come back later than the one before', () => {
    const { conversions } = controlledScheduler()
    const delays = Array.from({ length: 100 }, () => conversions.deferMs('a'))
    expect(delays).toEqual([...delays].sort((a, b) => a - b))
    expect(delays.at(-1)).toBeGreaterThan(delays[0] ?? 0)
    for (let i = 0; i < 10_000; i += 1) conversions.deferMs('a')
    expect(conversions.deferMs('a')).toBeLessThanOrEqual(30_000)
    expect(conversions.deferMs('b')).toBeLessThan(1000)
  })
})
