import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals'
import { reply, startReceiver, type Receiver } from '@signet/testkit/receiver'
import { waitFor } from '@signet/testkit'
import { ops } from '../../src/operations/ops.js'
import { readConfig } from '../../src/config/read-config.js'
import { deliveriesOf, startDispatcher, type TestDispatcher } from './dispatcher.js'

type Outcome = { code: number; out: string; err: string }

/** Gives the tests of a file an operator's command line, and each test a dispatcher that retries once. */
export function useOperator() {
  let receiver: Receiver | undefined
  let dispatcher: TestDispatcher | undefined
  beforeAll(async () => {
    receiver = await startReceiver()
  })
  beforeEach(async () => {
    dispatcher = await startDispatcher({
      env: { DISPATCHER_RETRY_DELAYS_SECONDS: '0.05' },
      ports: { ca: there(receiver).authorityCert },
    })
  })
  afterEach(() => dispatcher?.stop())
  afterAll(() => receiver?.close())

  async function run(...argv: string[]): Promise<Outcome> {
    const printed = { out: '', err: '' }
    const code = await ops(() => readConfig(there(dispatcher).env), {
      argv,
      env: { USER: 'ada' },
      out: (text) => (printed.out += `${text}\n`),
      err: (text) => (printed.err += `${text}\n`),
    })
    return { code, ...printed }
  }

  return {
    get receiver(): Receiver {
      return there(receiver)
    },
    get dispatcher(): TestDispatcher {
      return there(dispatcher)
    },
    run,

    async json(...argv: string[]): Promise<Record<string, unknown>> {
      const { out, err, code } = await run(...argv, '--json')
      if (code !== 0) throw new Error(err)
      return JSON.parse(out) as Record<string, unknown>
    },

    /** Makes `count` deliveries of one endpoint that ended as failures. Its receiver answers normally after them. */
    async failed(path: string, count: number, query = '') {
      const subscriber = there(dispatcher).subscriber()
      const endpoint = await subscriber.endpoint(there(receiver).url(path) + query)
      there(receiver).hook(path, { answers: Array.from({ length: 2 * count }, () => reply(500)) })
      for (let i = 0; i < count; i += 1) await subscriber.summary()
      const rows = await waitFor(async () => {
        const found = await deliveriesOf(there(dispatcher).db, subscriber.accountId)
        return found.length === count && found.every(({ status }) => status === 2) && found
      })
      return { subscriber, endpoint, rows }
    },

    async actions() {
      const { rows } = await there(dispatcher).db.query<{ operator: string; action: string; detail: object }>(
        `select operator, action, detail from operator_actions order by id`,
      )
      return rows
    },

    /** Runs commands that look for Redis where nothing listens. */
    withoutRedis: <T>(work: () => Promise<T>) => withRedis('redis://127.0.0.1:1', work),
    withRedis,
  }

  /** Runs commands that look for Redis at another address. */
  async function withRedis<T>(url: string, work: () => Promise<T>): Promise<T> {
    const { env } = there(dispatcher)
    const real = env['WEBHOOKS_REDIS_URL'] ?? ''
    env['WEBHOOKS_REDIS_URL'] = url
    try {
      return await work()
    } finally {
      env['WEBHOOKS_REDIS_URL'] = real
    }
  }
}

function there<T>(thing: T | undefined): T {
  if (thing === undefined) throw new Error('it is there from the first test on')
  return thing
}
