import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { watchProcess } from '@signet/testkit/open-api'
import { JWT_SECRET, SITE, testDatabase } from './server.js'

/** The built program. */
export const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url))

/** What the program needs to start, apart from a way to send email. */
export const requiredEnv = (databaseUrl: string): Record<string, string> => ({
  PATH: process.env['PATH'] ?? '',
  AUTH_SITE_URL: SITE,
  AUTH_API_EXTERNAL_URL: 'https://auth.example.com',
  AUTH_DB_DRIVER: 'postgres',
  DATABASE_URL: databaseUrl,
  AUTH_JWT_SECRET: JWT_SECRET,
  AUTH_API_HOST: '127.0.0.1',
})

/** A mail server that nobody runs, for tests that read no email. */
export const NO_MAIL_SERVER = {
  AUTH_SMTP_HOST: '127.0.0.1',
  AUTH_SMTP_PORT: '1',
  AUTH_SMTP_ADMIN_EMAIL: 'a@example.com',
}

/** Picks a free port itself, and says in its log which: see `portOf`. */
export const ANY_PORT = { PORT: '0' }

/** Where the program listens, as its log says: nobody else can have that port, so what answers there is the program. */
export function portOf(log: Readable): Promise<number> {
  return new Promise((resolve, reject) => {
    // Reads on to the end: a program whose output nobody takes would stop.
    createInterface({ input: log })
      .on('line', (line) => {
        const { msg, port } = JSON.parse(line) as { msg: string; port: number }
        if (msg === 'listening') resolve(port)
      })
      .once('close', () => reject(new Error('the program ended before it listened')))
  })
}

export type Program = { url: string; port: number; child: ChildProcess }

/**
 * A place to run the built program in processes of its own: a migrated database, and a folder without the `.env` of a
 * developer. Each response is compared with the API document: `close` fails when there was one that it does not promise.
 */
export async function createInstallation(settings: Record<string, string>) {
  const database = await testDatabase()
  const folder = mkdtempSync(join(tmpdir(), 'signet-auth-'))
  const env = { ...requiredEnv(database.url), ...settings }
  const children: ChildProcess[] = []
  const ends: (() => void)[] = []

  /** Resolves when the program answers. */
  async function start(overrides: Record<string, string> = {}, nodeArgs: string[] = []): Promise<Program> {
    const watched = watchProcess(folder, { auth: 0 })
    ends.push(watched.end)
    const child = spawn(process.execPath, [...nodeArgs, ...watched.args, MAIN], {
      cwd: folder,
      env: { ...env, ...overrides, ...watched.env, ...ANY_PORT },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    children.push(child)
    const port = await portOf(child.stdout)
    return { url: `http://127.0.0.1:${port}`, port, child }
  }

  async function close(): Promise<void> {
    for (const child of children) child.kill('SIGKILL')
    try {
      for (const end of ends) end()
    } finally {
      rmSync(folder, { recursive: true })
      await database.drop()
    }
  }
  return { folder, env, start, close }
}
