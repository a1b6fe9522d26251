import { execFile } from 'node:child_process'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

// Tests the package as integrators get it: packed by npm, and installed offline where nothing of this repository is within reach.
const PACKAGE = fileURLToPath(new URL('..', import.meta.url))
const require = createRequire(import.meta.url)
const folder = mkdtempSync(join(tmpdir(), 'webhook-verify-packed-'))
const installed = join(folder, 'node_modules/@signet/webhook-verify')

type Ended = { code: number; stdout: string; stderr: string }

async function run(command: string, args: readonly string[], cwd = folder): Promise<Ended> {
  // This npm must not inherit the settings of the npm that runs these tests.
  const env = { PATH: process.env['PATH'], HOME: folder }
  try {
    return { code: 0, ...(await promisify(execFile)(command, args, { cwd, env })) }
  } catch (error) {
    return error as Ended
  }
}

const write = (name: string, text: string) => writeFileSync(join(folder, name), text)

const FLAGS = '--ignoreConfig --noEmit --strict --skipLibCheck --target es2022 --types node'.split(' ')
const compile = (files: readonly string[], options: readonly string[]) =>
  run(process.execPath, [require.resolve('typescript/bin/tsc'), ...FLAGS, ...options, ...files])

/** Uses every entry point as the README does, and narrows `event` by its type. */
const PROGRAM = `
const event = verify(vectors.accepted[1].body, headers, vectors.secret, { now })
if (event.type !== 'summary.completed') throw new Error('not narrowed')
console.log(event.data.title)
const answer = fromFetch({ secret: vectors.secret, now }, () => new Response(null, { status: 202 }))
const hook = 'https://receiver.example/hook'
answer(new Request(hook, { method: 'POST', headers, body: vectors.accepted[1].body })).then(
  ({ status }) => console.log(status),
)
const handler = fromExpress({ secret: vectors.secret }, (other) => console.log(other.id))
const once = deduplicate({ store: new MemoryEventStore() }, (other) => console.log(other.id))
const inNode = fromNode({ secret: vectors.secret }, once)
const plugin = webhookPlugin({ path: '/hook', secret: vectors.secret }, once)
console.log(typeof handler, typeof inNode, typeof plugin)
console.log(verify(body, sign(body, vectors.secret), vectors.secret).id)
try {
  verify('{}', headers, vectors.secret, { now })
} catch (error) {
  if (error instanceof WebhookVerificationError) console.log(error.code)
}
`
const NAMES = `
const now = () => new Date(Number(vectors.timestamp) * 1000)
const body = vectors.accepted[0].body
const headers = { 'X-Service-Timestamp': vectors.timestamp, 'X-Service-Signature': vectors.accepted[1].signature }
`
const PRINTED = `Café – 会議 😀
function function function
evt_0f8c1d2e3b4a59687786a5b4c3d2e1f0
signature_mismatch
202
`

const WITH_IMPORT = `
import { readFileSync } from 'node:fs'
import { deduplicate, MemoryEventStore, sign, verify, WebhookVerificationError } from '@signet/webhook-verify'
import { webhookHandler as fromExpress } from '@signet/webhook-verify/express'
import { webhookPlugin } from '@signet/webhook-verify/fastify'
import { webhookHandler as fromNode } from '@signet/webhook-verify/node'
import { webhookHandler as fromFetch } from '@signet/webhook-verify/fetch'
const vectors = JSON.parse(readFileSync('vectors.json', 'utf8'))
${NAMES}${PROGRAM}`
const WITH_REQUIRE = `
const { deduplicate, MemoryEventStore, sign, verify, WebhookVerificationError } = require('@signet/webhook-verify')
const { webhookHandler: fromExpress } = require('@signet/webhook-verify/express')
const { webhookPlugin } = require('@signet/webhook-verify/fastify')
const { webhookHandler: fromNode } = require('@signet/webhook-verify/node')
const { webhookHandler: fromFetch } = require('@signet/webhook-verify/fetch')
const vectors = require('@signet/webhook-verify/vectors.json')
${NAMES}${PROGRAM}`
const IN_EXPRESS = `
import { webhookHandler } from '@signet/webhook-verify/express'
import express, { type Request, type Response } from 'express'
const app = express()
const secret = 'whsec_x'
app.use('/other', express.json({ verify: (req, _res, bytes) => void ((req as { rawBody?: Buffer }).rawBody = bytes) }))
app.post('/first', webhookHandler({ secret, toleranceSeconds: 300 }, async (event) => {
  if (event.type === 'webhook.ping') console.log(event.data.message)
}))
app.post('/second', webhookHandler({ secret }, (event, _req: Request, res: Response) => {
  res.status(202).json({ id: event.id })
}))
`

const IN_FASTIFY = `
import { webhookPlugin } from '@signet/webhook-verify/fastify'
import fastify from 'fastify'
const app = fastify()
await app.register(webhookPlugin({ path: '/hook', secret: 'whsec_x' }, async (event, request, reply) => {
  if (event.type === 'webhook.ping') reply.code(202).send(event.data.message)
  console.log(request.headers)
}), { prefix: '/v1' })
`

const WRONG_FIELD = `
import type { WebhookEvent } from '@signet/webhook-verify'
export const title = (event: WebhookEvent) => (event.type === 'webhook.ping' ? event.data.title : '')
`

beforeAll(async () => {
  const packed = await run('npm', ['pack', '--json', '--pack-destination', folder], PACKAGE)
  const [{ filename }] = JSON.parse(packed.stdout.slice(packed.stdout.indexOf('['))) as [{ filename: string }]
  write('package.json', '{ "private": true }')
  const done = await run('npm', ['install', '--offline', '--no-audit', '--no-fund', join(folder, filename)])
  expect(done).toMatchObject({ code: 0 })
  write('vectors.json', readFileSync(join(installed, 'vectors.json'), 'utf8'))
  // What else an integrator has installed: servers, their types, and those of Node.
  mkdirSync(join(folder, 'node_modules/@types'))
  for (const name of ['express', '@types/express', '@types/node', 'fastify']) {
    symlinkSync(dirname(require.resolve(`${name}/package.json`)), join(folder, 'node_modules', name))
  }
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('the packed library', () => {
  it('brings nothing else along', () => {
    const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as object
    expect(manifest).not.toHaveProperty('dependencies')
    expect(manifest).not.toHaveProperty('peerDependencies')
    expect(readdirSync(join(folder, 'node_modules/@signet'))).toEqual(['webhook-verify'])
  })

  it.each([
    ['ES modules', 'program.mjs', WITH_IMPORT],
    ['CommonJS', 'program.cjs', WITH_REQUIRE],
  ])('runs in a program of %s, its entries sharing their errors', async (_kind, file, text) => {
    write(file, text)
    // Older versions of Node 20 cannot require ES modules, and test runners cannot at all.
    const args = file.endsWith('.cjs') ? ['--no-experimental-require-module', file] : [file]
    expect(await run(process.execPath, args)).toMatchObject({ stdout: PRINTED, stderr: '', code: 0 })
  })

  // One compiler run for all programs, because each run reads all of Node's types.
  it('is typed for ES modules, for CommonJS and beside the servers, and narrows events by their type', async () => {
    write('typed.mts', WITH_IMPORT)
    write('typed.cts', WITH_IMPORT)
    write('in-express.mts', IN_EXPRESS)
    write('in-fastify.mts', IN_FASTIFY)
    write('wrong.mts', WRONG_FIELD)
    // Not nodenext, whose CommonJS may require ES modules.
    const options = ['--module', 'node16']
    const { code, stdout } = await compile(
      ['typed.mts', 'typed.cts', 'in-express.mts', 'in-fastify.mts', 'wrong.mts'],
      options,
    )
    expect(stdout.trim().split('\n')).toEqual([expect.stringMatching(/^wrong\.mts.*'title' does not exist/)])
    expect(code).toBe(2)
  })

  it('is typed for the older resolution, which reads no exports', async () => {
    write('typed.ts', WITH_IMPORT)
    const options = ['--module', 'commonjs', '--moduleResolution', 'node10', '--ignoreDeprecations', '6.0']
    expect(await compile(['typed.ts'], options)).toMatchObject({ stdout: '', code: 0 })
  })
})
