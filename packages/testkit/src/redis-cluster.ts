import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { leasePort, type RedisServer, startRedis } from '@signet/local'
import { Redis } from 'ioredis'
import { privateFolder } from './private-servers.js'
import { waitFor } from './wait-for.js'

export interface RedisCluster {
  /** `host:port` of each node. */
  nodes: string[]
  stop(): Promise<void>
}

const NODES = 3
const SLOTS = 16_384

/** A Redis Cluster of three empty masters that share the slots, to test what differs from a single server. */
export async function startRedisCluster(): Promise<RedisCluster> {
  const folder = privateFolder()
  const servers = await Promise.all(
    Array.from({ length: NODES }, (_, i) => startNode(join(folder, String(i)))),
  )
  const clients = servers.map(({ port }) => new Redis({ host: '127.0.0.1', port }))
  try {
    await formCluster(
      clients,
      servers.map(({ port }) => port),
    )
  } finally {
    for (const client of clients) client.disconnect()
  }
  return {
    nodes: servers.map(({ port }) => `127.0.0.1:${port}`),
    async stop() {
      await Promise.all(servers.map((server) => server.stop()))
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Leases a port for the cluster bus, because the default, 10000 above the port for clients, may be too high or taken. */
async function startNode(dir: string): Promise<RedisServer> {
  const settings = ['--cluster-enabled', 'yes', '--cluster-port', String(await leasePort())]
  return startRedis({ dir, settings })
}

async function formCluster(clients: Redis[], ports: number[]): Promise<void> {
  const [first] = clients
  const share = Math.ceil(SLOTS / clients.length)
  for (const [i, client] of clients.entries()) {
    const last = Math.min((i + 1) * share, SLOTS) - 1
    await client.call('CLUSTER', 'ADDSLOTSRANGE', String(i * share), String(last))
    await client.call('CLUSTER', 'SET-CONFIG-EPOCH', String(i + 1))
  }
  for (const [i, port] of ports.entries()) {
    const bus = await clients[i]?.config('GET', 'cluster-port')
    await first?.call('CLUSTER', 'MEET', '127.0.0.1', String(port), String((bus as string[])[1]))
  }
  await waitFor(
    async () => {
      const infos = await Promise.all(clients.map((client) => client.call('CLUSTER', 'INFO')))
      return infos.every(
        (info) => String(info).includes('cluster_state:ok') && String(info).includes('known_nodes:3'),
      )
    },
    { describe: 'the cluster to agree on its slots' },
  )
}
