import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Worker } from 'node:worker_threads'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { startThread, threadEntry } from './index.js'

/** The file of a thread, whose types only a loader for TypeScript can read. */
const workerFile = (type: string) => `
import { parentPort, workerData } from 'node:worker_threads'

const greeting${type} = workerData.greeting
parentPort.on('message', (what${type}) => {
  if (what === 'end') parentPort.close()
  else if (what === 'throw') throw new Error('it broke')
  else if (what === 'exit') process.exit(3)
  else parentPort.postMessage(greeting + ', ' + what)
})
`

/** Loads the file as the threads of Piscina do. */
const POOL = `
const { workerData } = require('node:worker_threads')
const { fileURLToPath } = require('node:url')
try {
  require(fileURLToPath(workerData.filename))
} catch {
  import(workerData.filename)
}
`

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'threads-'))
  writeFileSync(join(folder, 'package.json'), '{"type": "module"}')
  writeFileSync(join(folder, 'polite-worker.ts'), workerFile(': string'))
  writeFileSync(join(folder, 'polite-worker.js'), workerFile(''))
  writeFileSync(join(folder, 'pool.cjs'), POOL)
})
afterAll(() => rmSync(folder, { recursive: true }))

const LIMITS = { maxOldGenerationSizeMb: 48 }
const workerData = { greeting: 'Hello' }

/** What the owner of a thread learns when it ends. */
const endOf = (thread: Worker) =>
  new Promise<{ code: number; error?: string }>((resolve) => {
    let error: string | undefined
    thread.once('error', (thrown: Error) => (error = thrown.message))
    thread.once('exit', (code) => resolve(error === undefined ? { code } : { code, error }))
  })

async function answerOf(thread: Worker, message: string): Promise<unknown> {
  const answer = once(thread, 'message')
  thread.postMessage(message)
  return ((await answer) as unknown[])[0]
}

describe.each([
  ['from source', 'ts'],
  ['from the build', 'js'],
])('a thread %s', (_, extension) => {
  const moduleUrl = () => pathToFileURL(join(folder, `caller.${extension}`)).href
  const start = (name = 'polite-worker') =>
    startThread(moduleUrl(), name, { workerData, resourceLimits: LIMITS })

  it('gets its data, and answers messages until it ends', async () => {
    const thread = start()
    const end = endOf(thread)
    expect(await answerOf(thread, 'Ada')).toBe('Hello, Ada')
    expect(await answerOf(thread, 'Grace')).toBe('Hello, Grace')
    thread.postMessage('end')
    expect(await end).toEqual({ code: 0 })
  })

  it.each([
    ['throws', 'throw', { code: 1, error: 'it broke' }],
    ['exits', 'exit', { code: 3 }],
  ])('that %s in the middle of its work ends, and says how', async (_, message, expected) => {
    const thread = start()
    const end = endOf(thread)
    expect(await answerOf(thread, 'Ada')).toBe('Hello, Ada')
    thread.postMessage(message)
    expect(await end).toEqual(expected)
  })

  it('can be terminated, which is not an error', async () => {
    const thread = start()
    const end = endOf(thread)
    expect(await answerOf(thread, 'Ada')).toBe('Hello, Ada')
    await thread.terminate()
    expect(await end).toEqual({ code: 1 })
  })

  it('without a file ends with an error', async () => {
    const { code, error } = await endOf(start('missing-worker'))
    expect([code, error]).toEqual([1, expect.stringContaining('missing-worker')])
  })

  it('runs in a pool, which requires its file, and imports it if that fails', async () => {
    const { filename, execArgv } = threadEntry(moduleUrl(), 'polite-worker')
    const pool = pathToFileURL(join(folder, 'pool.cjs'))
    const thread = new Worker(pool, { execArgv, workerData: { ...workerData, filename } })
    const end = endOf(thread)
    expect(await answerOf(thread, 'Ada')).toBe('Hello, Ada')
    thread.postMessage('end')
    expect(await end).toEqual({ code: 0 })
  })
})

it('limits the memory of built threads; the loader of others needs more', async () => {
  const limitOf = async (extension: string) => {
    const caller = pathToFileURL(join(folder, `caller.${extension}`)).href
    const thread = startThread(caller, 'polite-worker', { workerData, resourceLimits: LIMITS })
    const limit = thread.resourceLimits?.maxOldGenerationSizeMb
    await thread.terminate()
    return limit
  }
  expect(await limitOf('js')).toBe(48)
  expect(await limitOf('ts')).not.toBe(48)
})

it('knows source in watch mode, where module URLs end in a query', () => {
  const plain = threadEntry('file:///app/src/pool.ts', 'x-worker')
  expect(threadEntry('file:///app/src/pool.ts?7', 'x-worker')).toEqual(plain)
  expect(plain.filename).toBe('file:///app/src/x-worker.ts')
})
