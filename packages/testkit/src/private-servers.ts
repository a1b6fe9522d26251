import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type PostgresServer, type RedisServer, startPostgres, startRedis } from '@signet/local'

export interface PrivatePostgres extends PostgresServer {
  /** Starts a server on the same port and data again, after `stop` or `kill`. */
  restart(): Promise<PrivatePostgres>
  /** Stops it and deletes its data. */
  remove(): Promise<void>
}

export interface PrivateRedis extends RedisServer {
  /** Starts a server on the same port and data again, after `stop` or `kill`. */
  restart(): Promise<PrivateRedis>
  /** Stops it and deletes its data. */
  remove(): Promise<void>
}

/** A PostgreSQL that only one test uses, so it may be killed. Durable unless `test` says otherwise. */
export async function startPrivatePostgres(options: { test?: boolean } = {}): Promise<PrivatePostgres> {
  const folder = privateFolder()
  const start = async (port?: number): Promise<PrivatePostgres> => {
    const server = await startPostgres({ dataDir: join(folder, 'postgres'), port, ...options })
    return {
      ...server,
      restart: () => start(server.port),
      remove: () => removeAfter(server.stop(), folder),
    }
  }
  return start()
}

/** A Redis that only one test uses, so it may be killed. With `appendOnly`, its data survives a kill. */
export async function startPrivateRedis(options: { appendOnly?: boolean } = {}): Promise<PrivateRedis> {
  const folder = privateFolder()
  const start = async (port?: number): Promise<PrivateRedis> => {
    const server = await startRedis({ dir: join(folder, 'redis'), port, ...options })
    return {
      ...server,
      restart: () => start(server.port),
      remove: () => removeAfter(server.stop(), folder),
    }
  }
  return start()
}

/** A new folder in the folder of this jest run, which is removed even if a test leaves something behind. */
export function privateFolder(): string {
  const folder = mkdtempSync(join(process.env['SIGNET_TEST_FOLDER'] ?? tmpdir(), 'private-'))
  chmodSync(folder, 0o711) // if we are root, the server runs under another account, which must be able to enter
  return folder
}

async function removeAfter(stopped: Promise<void>, folder: string): Promise<void> {
  await stopped
  rmSync(folder, { recursive: true, force: true })
}
