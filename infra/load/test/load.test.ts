import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { leasePort } from '@signet/local'
import { Person, startStack, type Stack } from '@signet/testkit'
import type { Report } from '../src/report.js'

let stack: Stack
let accountId: string
let secret: string
let port: number

beforeAll(async () => {
  // The port of the receiver, which the command starts only after the endpoint exists.
  port = await leasePort()
  stack = await startStack()
  const person = await Person.signUp(stack.authUrl)
  accountId = person.id
  const answer = await fetch(`${stack.webhooksUrl}/v1/webhooks`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${await person.personalToken(stack.webhooksUrl)}`,
    },
    body: JSON.stringify({ url: `http://127.0.0.1:${port}/`, events: ['summary.completed'] }),
  })
  const created = (await answer.json()) as { secret: string }
  secret = created.secret
})
afterAll(() => stack?.close())

/** Runs the command as people do, but without its bootstrap. */
async function load(args: readonly string[], env: Record<string, string> = {}) {
  const program = fileURLToPath(new URL('../dist/index.js', import.meta.url))
  const script = `import { runLoad } from ${JSON.stringify(program)}
    process.exitCode = await runLoad(process.argv.slice(1), process.env)`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script, '--', ...args], {
    env: { PATH: process.env['PATH'], ...env },
    cwd: fileURLToPath(new URL('../../..', import.meta.url)),
  })
  const exited = new Promise<number | null>((resolve) => child.once('close', resolve))
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), exited])
  return { stdout, stderr, code }
}

const ingest = () => ['--url', `${stack.internalUrl}/internal/v1/summary-ready`]
const short = ['--rate', '20', '--for', '2', '--json']

describe('the load', () => {
  it('is accepted, arrives and is verified', async () => {
    const { stdout, code } = await load(
      [...ingest(), '--account', accountId, ...short, '--receive', String(port)],
      { SIGNET_LOAD_TOKEN: stack.internalToken, SIGNET_LOAD_SECRETS: secret },
    )
    const report = JSON.parse(stdout) as Report
    expect(report).toMatchObject({ published: 40, accepted: 40, refused: {} })
    expect(report.arrivals).toMatchObject({ arrived: 40, missing: 0, repeated: 0, badSignatures: 0 })
    expect(report.arrivals?.times.p50).toBeGreaterThan(0)
    expect(code).toBe(0)
  })

  it('that is refused says so, by status', async () => {
    const { stdout, code } = await load([...ingest(), '--account', randomUUID(), ...short], {
      SIGNET_LOAD_TOKEN: 'wrong',
    })
    expect(JSON.parse(stdout)).toMatchObject({ accepted: 0, refused: { '401': 40 }, arrivals: null })
    expect(code).toBe(1)
  })

  it('is not published when the receiver cannot listen', async () => {
    const taken = String(new URL(stack.internalUrl).port)
    const { stdout, stderr, code } = await load(
      [...ingest(), '--account', accountId, ...short, '--receive', taken],
      { SIGNET_LOAD_TOKEN: stack.internalToken, SIGNET_LOAD_SECRETS: secret },
    )
    expect([code, stdout, stderr]).toEqual([
      2,
      '',
      `--receive: port ${taken} of 127.0.0.1 cannot be used (EADDRINUSE)\n\nnpm run load -- --help\n`,
    ])
  })

  it('without what it needs names all of it', async () => {
    const { stderr, code } = await load(['--rate', '0', '--receive', String(port)])
    for (const name of ['--url', '--account', '--rate', 'SIGNET_LOAD_TOKEN', 'SIGNET_LOAD_SECRETS'])
      expect(stderr).toContain(name)
    expect(code).toBe(2)
  })
})
