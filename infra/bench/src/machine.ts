import { execFileSync } from 'node:child_process'
import { availableParallelism, cpus, loadavg, platform, release, totalmem } from 'node:os'
import { readVariables } from '@signet/config'
import pg from 'pg'

/** The properties of a machine that results depend on, by display name. */
export type Machine = Readonly<Record<string, string>>

/** Whether other processes are competing for the CPU. */
export const isBusy = (): boolean => (loadavg()[0] ?? 0) > availableParallelism() / 2

type Servers = { databaseUrl: string; redis: string; root: string }

export async function describeMachine({ databaseUrl, redis, root }: Servers): Promise<Machine> {
  const [busy = 0] = loadavg()
  return {
    Processor: `${cpus()[0]?.model.trim() ?? 'unknown'}, ${availableParallelism()} cores`,
    Memory: `${Math.round(totalmem() / 1024 ** 3)} GiB`,
    System: `${distribution() ?? platform()}, ${platform()} ${release()}`,
    'Node.js': process.versions.node,
    PostgreSQL: `${await postgresVersion(databaseUrl)}, every commit flushed`,
    Redis: `${redis}, appended to a file, flushed every second`,
    'Busy before it began': `load average ${busy.toFixed(1)} of one minute`,
    Date: new Date().toISOString().slice(0, 10),
    Commit: commit(root),
  }
}

/** Undefined if there is no such file, as on macOS. */
const distribution = (): string | undefined => readVariables('/etc/os-release')['PRETTY_NAME']

async function postgresVersion(connectionString: string): Promise<string> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  const { rows } = await client.query<{ server_version: string }>('show server_version')
  await client.end()
  return rows[0]?.server_version ?? 'unknown'
}

/** The current commit, marked if there are uncommitted changes. */
function commit(root: string): string {
  const git = (...args: string[]) => execFileSync('git', ['-C', root, ...args], { encoding: 'utf8' }).trim()
  try {
    return git('rev-parse', '--short', 'HEAD') + (git('status', '--porcelain') === '' ? '' : ', with changes')
  } catch {
    return 'not a checkout'
  }
}
