import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { join } from 'node:path'
import { startRedis, type RedisServer } from '@signet/local'
import { Redis } from 'ioredis'

const GROUP = 'chaos'
const SENTINELS = 3
const QUORUM = 2
const DOWN_AFTER_MS = 1500

/** The Redis of a run: one server, which can be killed and started again, or a master and a replica that sentinels watch. */
export class ChaosRedis {
  readonly #dir: string
  #server: RedisServer
  #replica: RedisServer | undefined
  #sentinels: readonly RedisServer[] = []

  private constructor(server: RedisServer, dir: string) {
    this.#server = server
    this.#dir = dir
  }

  static async start(dir: string, { watched }: { watched: boolean }): Promise<ChaosRedis> {
    const redis = new ChaosRedis(await startRedis({ dir, appendOnly: true }), dir)
    if (watched) await redis.#addReplicaAndSentinels()
    return redis
  }

  get port(): number {
    return this.#server.port
  }

  /** Settings for the processes. `through`: the port of a proxy in front of the server. Sentinels lead clients past it to the servers. */
  settings(through: number): Record<string, string> {
    if (this.#sentinels.length === 0) return { WEBHOOKS_REDIS_URL: `redis://127.0.0.1:${through}` }
    const addresses = this.#sentinels.map(({ port }) => `127.0.0.1:${port}`)
    return { WEBHOOKS_REDIS_URL: `redis://${GROUP}`, WEBHOOKS_REDIS_SENTINELS: addresses.join(',') }
  }

  kill(): Promise<void> {
    return this.#server.kill('SIGKILL')
  }

  /** With `empty`, the server loses what its append-only file holds. */
  async startAgain({ empty }: { empty: boolean }): Promise<void> {
    if (empty) rmSync(join(this.#dir, 'appendonlydir'), { recursive: true, force: true })
    this.#server = await startRedis({ dir: this.#dir, port: this.port, appendOnly: true })
  }

  /** Does what `FLUSHALL` does: all data is gone, and no connection breaks. */
  async empty(): Promise<void> {
    const redis = new Redis(this.port, '127.0.0.1')
    await redis.flushall()
    redis.disconnect()
  }

  /** Kills the master and waits until the sentinels have promoted the replica. Writes that had not reached the replica are lost. */
  async failOver(): Promise<void> {
    const [replica, sentinel] = [this.#replica, this.#sentinels[0]]
    if (!replica || !sentinel) throw new Error('there is no replica')
    await this.kill()
    const asked = new Redis(sentinel.port, '127.0.0.1')
    try {
      while ((await masterOf(asked)) !== replica.port) await sleep(50)
    } finally {
      asked.disconnect()
    }
    this.#server = replica
    this.#replica = undefined
  }

  async stop(): Promise<void> {
    const servers = [...this.#sentinels, this.#server, ...(this.#replica ? [this.#replica] : [])]
    await Promise.all(servers.map((one) => one.stop()))
  }

  async #addReplicaAndSentinels(): Promise<void> {
    const masterPort = this.port
    const replica = await startRedis({
      dir: join(this.#dir, 'replica'),
      appendOnly: true,
      settings: ['--replicaof', `127.0.0.1 ${masterPort}`],
    })
    this.#replica = replica
    this.#sentinels = await Promise.all(
      Array.from({ length: SENTINELS }, (_, n) =>
        startSentinel(join(this.#dir, `sentinel-${n}`), masterPort),
      ),
    )
    await Promise.all(this.#sentinels.map(untilComplete))
  }
}

/** Starts a sentinel, which promotes a replica when enough sentinels agree that the master is gone. It updates its configuration file. */
function startSentinel(dir: string, masterPort: number): Promise<RedisServer> {
  const file = join(dir, 'sentinel.conf')
  const rules = [
    `sentinel monitor ${GROUP} 127.0.0.1 ${masterPort} ${QUORUM}`,
    `sentinel down-after-milliseconds ${GROUP} ${DOWN_AFTER_MS}`,
    `sentinel failover-timeout ${GROUP} ${4 * DOWN_AFTER_MS}`,
  ]
  mkdirSync(dir, { recursive: true })
  writeFileSync(file, `${rules.join('\n')}\n`)
  return startRedis({ dir, settings: [file, '--sentinel'] })
}

async function masterOf(sentinel: Redis): Promise<number> {
  const [, port] = (await sentinel.call('sentinel', 'get-master-addr-by-name', GROUP)) as string[]
  return Number(port)
}

/** Waits until a sentinel knows the replica and the other sentinels: before that, it cannot fail over. */
async function untilComplete({ port }: RedisServer): Promise<void> {
  const sentinel = new Redis(port, '127.0.0.1')
  const isComplete = async (): Promise<boolean> => {
    const [facts = []] = (await sentinel.call('sentinel', 'masters')) as string[][]
    const count = (name: string) => Number(facts[facts.indexOf(name) + 1])
    return count('num-slaves') === 1 && count('num-other-sentinels') === SENTINELS - 1
  }
  try {
    while (!(await isComplete())) await sleep(100)
  } finally {
    sentinel.disconnect()
  }
}
