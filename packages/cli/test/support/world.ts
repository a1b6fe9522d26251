import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals'
import { Machine } from './cli.js'
import { startIdentityDouble, type IdentityDouble } from './identity-double.js'
import { startServiceDouble, type ServiceDouble } from './service-double.js'

export type World = {
  service: ServiceDouble
  identity: IdentityDouble
  /** A fresh computer for each test. */
  machine: Machine
  /** The environment of a computer that holds a valid token in SIGNET_TOKEN. */
  signedIn: () => { env: Record<string, string> }
}

/** Both services for a test file, reset before each test. */
export function useWorld(): World {
  const world = {} as World
  beforeAll(async () => {
    world.identity = await startIdentityDouble()
    world.service = await startServiceDouble(world.identity.jwts)
    world.signedIn = () => ({ env: { SIGNET_TOKEN: world.service.issueToken().token } })
  })
  beforeEach(() => {
    const { service, identity } = world
    world.machine = new Machine({ SIGNET_URL: service.url, SIGNET_AUTH_URL: identity.url })
    service.hooks.length = 0
    service.log.length = 0
    service.tokens.clear()
    service.seen.length = 0
    identity.seen.length = 0
    Object.assign(identity.code, { expected: undefined, type: 'totp' })
    Object.assign(service.behavior, { consent: 'approve', issuer: undefined, override: () => undefined })
  })
  afterEach(() => world.machine.remove())
  afterAll(async () => {
    await Promise.all([world.service.close(), world.identity.close()])
  })
  return world
}
