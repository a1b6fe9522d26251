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

/** Names a mail server that is not running, for tests that read no email. */
export const NO_MAIL_SERVER = {
  AUTH_SMTP_HOST: '127.0.0.1',
  AUTH_SMTP_PORT: '1',
  AUTH_SMTP_ADMIN_EMAIL: 'a@example.com',
}

/** Makes the program pick a free port, which it logs: see `portOf`. */
export const ANY_PORT = { PORT: '0' }

/** Reads the port that the program listens on from its log. No other process can have that port, so what answers there is the program. */
export function portOf(log: Readable): Promise<number> {
  return new Promise((resolve, reject) => {
    // Reads to the end, because a program blocks when nobody reads its output.
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
 * Runs the built program in separate processes, with a migrated database and in a folder without a developer's `.env`. Compares each
 * response with the API document: `close` fails if there was one that the document does not promise.
 */
export async function createInstallation(settings: Record<string, string>) {
  const database = await testDatabase()
  const folder = mkdtempSync(join(tmpdir(), 'signet-auth-'))
  const env = { ...requiredEnv(database.url), ...settings }
  const children: ChildProcess[] = []
  const ends: (() => void)[] = []

  /** Resolves when the program listens. */
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
