import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { join } from 'node:path'
import { Db } from '@signet/db'
import { startPostgres, type PostgresOptions, type PostgresServer } from '@signet/local'

const STANDBY = 'standby'
/** How late the standby applies what it has received. */
const LAG_MINUTES = 5
/** Parts of a data folder that belong to a running server, not to its data. */
const NOT_COPIED = ['postmaster.pid', 'postmaster.opts', 'pg_wal']

/** The PostgreSQL of a run: it can be killed, started again, and replaced by a standby. */
export class ChaosPostgres {
  #server: PostgresServer
  #options: PostgresOptions
  #standby: { server: PostgresServer; options: PostgresOptions } | undefined

  private constructor(server: PostgresServer, options: PostgresOptions) {
    this.#server = server
    this.#options = options
  }

  static async start(options: PostgresOptions): Promise<ChaosPostgres> {
    return new ChaosPostgres(await startPostgres(options), options)
  }

  get port(): number {
    return this.#server.port
  }

  /** `through`: the port of a proxy in front of the server. */
  url(database: string, through = this.port): string {
    const url = new URL(this.#server.url(database))
    url.port = String(through)
    return url.href
  }

  createDatabase(name: string): Promise<void> {
    return this.#server.createDatabase(name)
  }

  kill(): Promise<void> {
    return this.#server.kill('SIGKILL')
  }

  async startAgain(): Promise<void> {
    this.#server = await startPostgres({ ...this.#options, port: this.port })
  }

  /** Adds a standby. After that, commits wait until it has them on its disk. Needs a server that never failed over. */
  async addStandby(): Promise<void> {
    const primary = new Db({ connectionString: this.#server.url('postgres') })
    try {
      await primary.query('select pg_create_physical_replication_slot($1, true)', [STANDBY])
      const options = await this.#copy(primary)
      this.#standby = { server: await startPostgres(options), options }
      await primary.query(`alter system set synchronous_standby_names = '${STANDBY}'`)
      await primary.query('select pg_reload_conf()')
      const isSynchronous = async () =>
        (await primary.query("select from pg_stat_replication where sync_state = 'sync'")).rowCount === 1
      while (!(await isSynchronous())) await sleep(50)
    } finally {
      await primary.close()
    }
  }

  /** Promotes the standby. The old primary must be gone. */
  async promoteStandby(): Promise<void> {
    if (!this.#standby) throw new Error('there is no standby')
    const { server, options } = this.#standby
    this.#server = server
    this.#options = options
    this.#standby = undefined
    const promoted = new Db({ connectionString: server.url('postgres') })
    await promoted.query('select pg_promote()')
    await promoted.close()
  }

  async stop(): Promise<void> {
    await this.#standby?.server.stop()
    await this.#server.stop()
  }

  /** Copies the data of the running server into a standby that follows the server from there. */
  async #copy(primary: Db): Promise<PostgresOptions> {
    const dataDir = `${this.#options.dataDir}-${STANDBY}`
    // A backup must start and end in the same session.
    const label = await primary.transaction(async (tx) => {
      await tx.query('select pg_backup_start($1, true)', [STANDBY])
      copyData(this.#options.dataDir, dataDir)
      const { rows } = await tx.query<{ labelfile: string }>('select labelfile from pg_backup_stop(false)')
      return rows[0]?.labelfile ?? ''
    })
    writeOwned(dataDir, 'backup_label', label)
    writeOwned(dataDir, 'standby.signal', '')
    const { username, password } = new URL(this.#server.url('postgres'))
    const source = `host=127.0.0.1 port=${this.port} user=${username} password=${password} application_name=${STANDBY}`
    const settings = [
      `primary_conninfo=${source}`,
      `primary_slot_name=${STANDBY}`,
      `recovery_min_apply_delay=${LAG_MINUTES}min`,
    ]
    return { dataDir, settings }
  }
}

/** Copies owners and modes as well: as root, the server runs under another account. */
function copyData(from: string, to: string): void {
  execFileSync('cp', ['--archive', from, to])
  for (const name of NOT_COPIED) rmSync(join(to, name), { recursive: true, force: true })
  for (const name of ['pg_wal', 'pg_wal/archive_status', 'pg_wal/summaries']) {
    mkdirSync(join(to, name), { mode: 0o700 })
    execFileSync('chown', [`--reference=${to}`, join(to, name)])
  }
}

function writeOwned(dataDir: string, name: string, content: string): void {
  writeFileSync(join(dataDir, name), content, { mode: 0o600 })
  execFileSync('chown', [`--reference=${dataDir}`, join(dataDir, name)])
}
