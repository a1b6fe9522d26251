import { once } from 'node:events'
import { createServer, type AddressInfo, type Server } from 'node:net'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { createLogger, createRegistry } from '@signet/telemetry'
import { serve } from '../src/serve.js'
import { startHarness, type Harness } from './support/harness.js'

let harness: Harness
beforeAll(async () => {
  harness = await startHarness()
})
afterAll(() => harness.close())

async function occupy(port: number): Promise<Server> {
  const server = createServer().listen(port, '127.0.0.1')
  await once(server, 'listening')
  return server
}
const portOf = (server: Server) => (server.address() as AddressInfo).port
const release = async (server: Server) => {
  const closed = once(server, 'close')
  server.close()
  await closed
}

it('a service that cannot bind both of its ports releases the one it bound', async () => {
  const taken = await occupy(0)
  const lent = await occupy(0)
  const port = portOf(lent)
  await release(lent)
  const lines: string[] = []
  const starting = serve(
    { ...harness.ctx.config, port, internalPort: portOf(taken) },
    {
      log: createLogger({ level: 'debug', component: 'webhooks', sink: (line) => lines.push(line) }),
      registry: createRegistry({ runtime: false }),
    },
  )
  await expect(starting).rejects.toThrow(
    `cannot listen on port ${portOf(taken)} of 127.0.0.1 (WEBHOOKS_INTERNAL_PORT): the port is taken`,
  )
  // The port is free again: the half-started service no longer listens.
  await release(await occupy(port))
  await release(taken)
  expect(lines.join('')).not.toContain('listening')
})

it.each<[string, readonly Buffer[], number]>([
  ['without a secret, because those who are banned then keep their tokens', [], 1],
  ['with one, about nothing', [Buffer.alloc(32, 1)], 0],
])(
  'a service warns of account events that it would refuse: %s',
  async (_, identityEventsSecrets, expected) => {
    const lines: string[] = []
    const service = await serve(
      { ...harness.ctx.config, port: 0, internalPort: 0, identityEventsSecrets },
      {
        log: createLogger({ level: 'debug', component: 'webhooks', sink: (line) => lines.push(line) }),
        registry: createRegistry({ runtime: false }),
      },
    )
    await service.close()
    expect(lines.filter((line) => line.includes('WEBHOOKS_IDENTITY_EVENTS_SECRETS'))).toHaveLength(expected)
  },
)
