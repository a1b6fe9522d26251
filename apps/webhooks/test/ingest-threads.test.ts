import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from '@jest/globals'

const run = promisify(execFile)

/**
 * The parser as it is deployed. `process` reports every thread that starts; timers run a thousand times faster, so that an idle
 * minute passes quickly.
 */
const PROGRAM = `
  let started = 0
  let ended = 0
  process.on('worker', (worker) => {
    started += 1
    worker.once('exit', () => (ended += 1))
  })
  const inRealTime = globalThis.setTimeout
  globalThis.setTimeout = (then, ms, ...rest) => inRealTime(then, ms / 1000, ...rest)
  const { createIngestParser } = await import(process.argv[1])
  const parser = createIngestParser()
  await new Promise(setImmediate) // the event comes a moment after the start
  const seen = [started]
  const event = { id: 'evt_' + '0'.repeat(32), createdAt: new Date(0) }
  const large = (account) =>
    parser.summaryReady(
      Buffer.from(
        JSON.stringify({
          source_event_key: 'k',
          account_id: account + 'b0f0f0f-0000-4000-8000-000000000000',
          audio_id: 'r',
          transcript: { text: 'x'.repeat(5_000_000) },
        }),
      ),
      event,
    )
  await large(1)
  seen.push(started)
  await Promise.all([large(1), large(1), large(1), large(1)])
  seen.push(started)
  await Promise.all([large(1), large(1), large(2), large(2)])
  seen.push(started)
  while (ended < started - 1) await new Promise((resolve) => inRealTime(resolve, 5))
  await large(1)
  seen.push(started)
  await parser.close()
  console.log(JSON.stringify(seen))
`

it('keeps one thread from the start, so that a large body after idle minutes starts none, and leaves the other one to other accounts', async () => {
  const parser = new URL('../dist/ingest/ingest-parser.js', import.meta.url).href
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', PROGRAM, parser])
  expect(JSON.parse(stdout)).toEqual([1, 1, 1, 2, 2])
})

/** Prints the CommonJS modules that importing a file loads. All packages that the test looks for are CommonJS. */
const LOADED = `
  import { createRequire } from 'node:module'
  await import(process.argv[1])
  console.log(JSON.stringify(Object.keys(createRequire(process.argv[1]).cache)))
`

it('loads neither the web framework nor drivers into a thread', async () => {
  const worker = new URL('../dist/ingest/ingest-worker.js', import.meta.url).href
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', LOADED, worker])
  const paths = JSON.parse(stdout) as string[]
  const packages = new Set(paths.map((path) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1]))
  const found = ['ajv', 'express', 'pg', 'ioredis', 'bullmq', 'prom-client', 'winston'].filter((name) =>
    packages.has(name),
  )
  expect(found).toEqual(['ajv'])
})
