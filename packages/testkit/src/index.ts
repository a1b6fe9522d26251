export { SoftwareAuthenticator } from './authenticator.js'
export { createTestDatabase, migrationsKey, type TestDatabase, type TestDatabaseOptions } from './database.js'
export { aDoorTo, type DatabaseDoor } from './database-door.js'
export { freezeTimeouts, type FrozenTimeouts } from './frozen-timeouts.js'
export { holdsInSomeRun } from './holds-in-some-run.js'
export { hs256Token } from './hs256-token.js'
export { jsonLines } from './json-lines.js'
export { listenLocally, type LocalServer } from './local-server.js'
export { Person } from './person.js'
export { lockWaiters } from './lock-waiters.js'
export { type Form, FormBrowser, formOf, type Seen, signInOnPage } from './form-browser.js'
export {
  type PrivatePostgres,
  type PrivateRedis,
  startPrivatePostgres,
  startPrivateRedis,
} from './private-servers.js'
export { cpuMsOf, familyCpuMsOf, memoryMibOf, parentOf } from './process-costs.js'
export { plansOf } from './query-plans.js'
export { testRedis, type TestRedis } from './redis.js'
export { phoneSettings, startStack, type Stack, type StackOptions } from './stack.js'
export { shiftSystemClock } from './system-clock.js'
export { TestClock } from './test-clock.js'
export { waitFor, type WaitForOptions } from './wait-for.js'
