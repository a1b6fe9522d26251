import { expect } from '@jest/globals'
import { createKeyService } from '../../src/keys/create-keys.js'
import { get, PASSWORD, post } from './api.js'
import { startServer, type TestServer } from './server.js'

/** Checks for changed keys at every use, as if the refresh interval had passed since the last one. */
const EAGER = { AUTH_MAILER_AUTOCONFIRM: 'true', AUTH_JWT_KEYS_REFRESH_INTERVAL: '0' }

/** Starts servers for one test, and replicas of them. Call `closeAll` in `afterEach`. */
export function keyServers() {
  const servers: TestServer[] = []
  const track = (server: TestServer) => {
    servers.push(server)
    return server
  }
  return {
    start: async (env: Record<string, string> = {}) => track(await startServer({ ...EAGER, ...env })),
    /** Another server on the same database, with the clock of the first. */
    replicaOf: async ({ databaseUrl, clock }: TestServer, env: Record<string, string> = {}) =>
      track(await startServer({ ...EAGER, DATABASE_URL: databaseUrl, ...env }, { now: clock.now })),
    closeAll: async () => {
      for (const server of servers.splice(0).reverse()) await server.close()
    },
  }
}

/** The key service that `auth keys` uses, with the server's clock. */
export function operatorOf({ context, clock }: TestServer) {
  const { config, db, stores, observer } = context
  return createKeyService({ config, db, store: stores.signingKeys, observer, now: clock.now })
}

export type Jwk = Record<string, unknown> & { kid: string; alg: string }

export const published = async (server: TestServer): Promise<Jwk[]> =>
  (await get(server, '/.well-known/jwks.json')).body['keys'] as Jwk[]

export const kidsOf = async (server: TestServer) => (await published(server)).map(({ kid }) => kid)

export const headerOf = (token: string) =>
  JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()) as { alg: string; kid?: string }

/** Signs in and returns the access token. */
export async function tokenFrom(server: TestServer, email: string): Promise<string> {
  const { body, status } = await post(server, '/token?grant_type=password', { email, password: PASSWORD })
  expect(status).toBe(200)
  return String(body['access_token'])
}

export const statusWith = async (server: TestServer, token: string) =>
  (await get(server, '/user', { token })).status
