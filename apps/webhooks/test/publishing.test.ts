import { execFile, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { aNotice, eventRows } from './support/api-data.js'
import { useApi } from './support/api.js'
import { SERVICE_TOKEN } from './support/harness.js'

// Runs the commands and the program of docs/publishing.md, exactly as printed there, against the service.

const page = readFileSync(new URL('../docs/publishing.md', import.meta.url), 'utf8')
const api = useApi()

const commands = [...page.matchAll(/```sh\n([^]*?)```\n\n```text\n([^]*?)```/g)].map(
  ([, command = '', output = '']) => ({ command, output }),
)

/** Runs a command in a shell, and returns what it prints, with ids as the page writes them. */
async function shell(command: string, env: Record<string, string>): Promise<string> {
  // Not `execFileSync`, because the command calls the service in this process.
  const { stdout, stderr } = await promisify(execFile)('sh', ['-euc', command], {
    env: { PATH: process.env['PATH'], ...env },
  })
  expect(stderr).toBe('')
  return stdout.replaceAll(/evt_[0-9a-f]{32}/g, 'evt_…')
}

describe('the commands of docs/publishing.md', () => {
  it('are all followed by what they print', () => {
    expect(commands).toHaveLength(page.match(/```sh/g)?.length ?? 0)
    expect(commands.length).toBeGreaterThan(4)
  })

  const atHand = ['curl', 'openssl', 'sha256sum'].every(
    (name) => spawnSync(name, ['--version']).error === undefined,
  )
  const test = atHand ? it : it.skip
  test.each(commands)('print what the page says: $command', async ({ command, output }) => {
    const { accountId } = await api.anAccount()
    const env = { SIGNET_INTERNAL: api.internalUrl, INGEST_TOKEN: SERVICE_TOKEN, ACCOUNT: accountId }
    expect(await shell(command, env)).toBe(output)
  })
})

type Publish = (
  events: readonly object[],
  options: { url: string; token: string; maxWaitSeconds?: number },
) => Promise<{ event: object; result: { status: number } }[]>

describe('the program of docs/publishing.md', () => {
  const folder = mkdtempSync(join(tmpdir(), 'publishing-'))
  let publish: Publish
  beforeAll(async () => {
    const [, text = ''] = /```js\n\/\/ publish\.mjs\n([^]*?)```/.exec(page) ?? []
    writeFileSync(join(folder, 'publish.mjs'), text)
    ;({ publish } = (await import(pathToFileURL(join(folder, 'publish.mjs')).href)) as { publish: Publish })
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  /** What a server between producer and service does with one request. It forwards the requests that have no turn. */
  type Turn = (req: IncomingMessage, res: ServerResponse, forward: () => Promise<void>) => unknown
  const fronts: ReturnType<typeof createServer>[] = []
  afterEach(() => {
    for (const front of fronts.splice(0)) front.close().closeAllConnections()
  })
  async function frontWith(turns: Turn[]) {
    const front = createServer((req, res) => {
      const chunks: Buffer[] = []
      req.on('data', (chunk: Buffer) => chunks.push(chunk))
      req.on('end', () => {
        const forward = async () => {
          const answer = await fetch(`${api.internalUrl}${req.url}`, {
            method: 'POST',
            headers: {
              authorization: req.headers.authorization ?? '',
              'content-type': 'application/x-ndjson',
            },
            body: Buffer.concat(chunks),
          })
          if (!res.destroyed) res.writeHead(answer.status).end(await answer.text())
        }
        void (turns.shift() ?? ((_req, _res, go) => go()))(req, res, forward)
      })
    })
    fronts.push(front)
    await once(front.listen(0, '127.0.0.1'), 'listening')
    return `http://127.0.0.1:${(front.address() as AddressInfo).port}`
  }

  const unavailable: Turn = (_req, res) => {
    const body = JSON.stringify({ error: { code: 'unavailable', message: 'Later' } })
    res.writeHead(503, { 'retry-after': '0' }).end(body)
  }
  /** The service stores the events, but the producer never gets the answer. */
  const lostAnswer: Turn = async (_req, res, forward) => {
    res.end = () => res.destroy()
    await forward()
  }
  const options = (url: string) => ({ url, token: SERVICE_TOKEN, maxWaitSeconds: 0.01 })

  it('stores every event once, through refusals and lost answers, and returns those that cannot be stored', async () => {
    const { accountId } = await api.anAccount()
    const events = Array.from({ length: 20 }, (_, n) => aNotice(accountId, { audio_id: `rec_${n}` }))
    const wrong = { ...events[0], account_id: 'nobody' }
    const url = await frontWith([unavailable, (req) => req.socket.destroy(), lostAnswer])
    const refused = await publish([...events.slice(0, 10), wrong, ...events.slice(10)], options(url))
    expect(refused).toEqual([{ event: wrong, result: expect.objectContaining({ status: 400 }) }])
    expect(await eventRows(api, accountId)).toHaveLength(20)
  })

  it('splits a batch that is too long', async () => {
    const { accountId } = await api.anAccount()
    const events = Array.from({ length: 1500 }, (_, n) => aNotice(accountId, { audio_id: `rec_${n}` }))
    expect(await publish(events, options(api.internalUrl))).toEqual([])
    expect(await eventRows(api, accountId)).toHaveLength(1500)
  })

  it('puts no event aside for a token that is wrong', async () => {
    const { accountId } = await api.anAccount()
    const wrong = { ...options(api.internalUrl), token: 'wrong' }
    await expect(publish([aNotice(accountId)], wrong)).rejects.toThrow('unauthorized')
  })
})
