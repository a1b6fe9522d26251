import { once } from 'node:events'
import { Agent, request, type IncomingMessage } from 'node:http'
import { afterAll, describe, expect, it } from '@jest/globals'
import { waitFor } from '@signet/testkit'
import { get } from './support/api.js'
import { createInstallation } from './support/process.js'
import { startServer } from './support/server.js'

const cleanups: (() => unknown)[] = []
afterAll(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup()
})

async function startProcess(settings: Record<string, string>) {
  const installation = await createInstallation({ AUTH_EXTERNAL_EMAIL_ENABLED: 'false', ...settings })
  cleanups.push(() => installation.close())
  const { url, port, child } = await installation.start()
  const exit = once(child, 'exit') as Promise<[number | null]>
  const ready = async () => (await fetch(`${url}/readyz`)).status
  await waitFor(async () => (await ready()) === 200)
  return { port, child, exit, ready }
}

/** Sends the headers of a request, and waits until the process has them. `finish` sends the body, which is invalid. */
async function beginRequest(port: number): Promise<{ finish: () => Promise<number | undefined> }> {
  const headers = { 'Content-Type': 'application/json', 'Content-Length': 2, Expect: '100-continue' }
  const sent = request({ port, host: '127.0.0.1', method: 'POST', path: '/verify', headers })
  sent.flushHeaders()
  await once(sent, 'continue')
  const answered = once(sent, 'response') as Promise<[IncomingMessage]>
  // `finish` handles a rejection; until then, it must not count as unhandled.
  answered.catch(() => undefined)
  return {
    async finish() {
      sent.end('{}')
      const [answer] = await answered
      answer.resume()
      return answer.statusCode
    },
  }
}

describe('a process that receives SIGTERM', () => {
  it('breaks no request before or after the signal, and reports that it is not ready', async () => {
    const { port, child, exit, ready } = await startProcess({ AUTH_API_DRAIN_DURATION: '20s' })
    const agent = new Agent({ keepAlive: true })
    const answers: string[] = []
    const connections: (string | undefined)[] = []
    let goOn = true
    const ask = () =>
      new Promise<void>((resolve) => {
        const sent = request({ port, host: '127.0.0.1', path: '/settings', agent }, (answer) => {
          answer.resume()
          connections.push(answer.headers.connection)
          answer.once('end', () => resolve(void answers.push(String(answer.statusCode))))
        })
        sent.once('error', (error) => resolve(void answers.push(error.message)))
        sent.end()
      })
    const load = Promise.all(
      Array.from({ length: 8 }, async () => {
        while (goOn) await ask()
      }),
    )
    try {
      await waitFor(() => answers.length > 200)
      child.kill('SIGTERM')
      await waitFor(async () => (await ready()) === 503)
      const before = answers.length
      await waitFor(() => answers.length > before + 200)
    } finally {
      goOn = false
      await load
      agent.destroy()
    }
    expect(new Set(answers)).toEqual(new Set(['200']))
    // The process tells clients to close their connections, so no connection is in use when the listener closes.
    expect([connections[0], connections.at(-1)]).toEqual(['keep-alive', 'close'])
    // A second signal ends the wait.
    child.kill('SIGTERM')
    expect(await exit).toEqual([0, null])
  })

  it.each([0, 1500])(
    'takes connections for the configured %d ms, answers what it took, and exits by itself',
    async (drainMs) => {
      const { port, child, exit, ready } = await startProcess({ AUTH_API_DRAIN_DURATION: `${drainMs}ms` })
      const begun = await beginRequest(port)
      const signaledAt = performance.now()
      child.kill('SIGTERM')
      // The process must accept connections for at least `drainMs`, and must answer only 200 or 503 until it refuses them.
      const seen = new Set<number>()
      await waitFor(async () => {
        const status = await ready().catch(() => 'refused' as const)
        if (status === 'refused') return true
        seen.add(status)
        return false
      })
      expect(performance.now() - signaledAt).toBeGreaterThanOrEqual(drainMs)
      expect([200, 503]).toEqual(expect.arrayContaining([...seen]))
      if (drainMs > 0) expect(seen).toContain(503)
      expect(await begun.finish()).toBe(400)
      expect(await exit).toEqual([0, null])
    },
  )
})

describe('readiness', () => {
  it('needs the database, and is degraded without the Redis in which replicas count limits together', async () => {
    const server = await startServer({ AUTH_RATE_LIMIT_REDIS_URL: 'redis://127.0.0.1:1' })
    cleanups.push(() => server.close())
    const answer = await get(server, '/readyz')
    expect([answer.status, answer.body]).toEqual([200, { status: 'degraded', failed: ['redis'] }])
    await server.context.db.close()
    const away = await get(server, '/readyz')
    expect([away.status, away.body]).toEqual([503, { status: 'unavailable', failed: ['database', 'redis'] }])
    expect((await get(server, '/health')).status).toBe(200)
  })
})
