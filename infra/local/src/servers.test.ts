import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { Redis } from 'ioredis'
import pg from 'pg'
import { type PostgresServer, removePostgresData, startPostgres, startRedis } from './index.js'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'signet-servers-')) // has mode 0700, as home directories may have
})
afterEach(() => {
  rmSync(folder, { recursive: true, force: true })
})

describe('startPostgres', () => {
  async function ask(server: PostgresServer, database: string, text: string): Promise<object[]> {
    const client = new pg.Client({ connectionString: server.url(database) })
    await client.connect()
    try {
      return (await client.query<object>(text)).rows
    } finally {
      await client.end()
    }
  }

  it('keeps committed data over a stop and over a kill, below a folder others cannot enter', async () => {
    const dataDir = join(folder, 'postgres')
    let server = await startPostgres({ dataDir })
    try {
      await server.createDatabase('app')
      await server.createDatabase('app')
      await ask(server, 'app', 'create table kept (id int)')
      await server.stop()
      server = await startPostgres({ dataDir })
      await ask(server, 'app', 'insert into kept values (1)')
      await server.kill('SIGKILL')
      server = await startPostgres({ dataDir })
      expect(await ask(server, 'app', 'select id from kept')).toEqual([{ id: 1 }])
    } finally {
      await server.stop()
      removePostgresData(dataDir)
    }
  })

  it('starts over when a first start was interrupted in the middle of initdb', async () => {
    chmodSync(folder, 0o711) // if we are root, the server runs under another account and would put its data elsewhere
    const dataDir = join(folder, 'postgres')
    mkdirSync(join(dataDir, 'base'), { recursive: true })
    writeFileSync(join(dataDir, 'PG_VERSION'), '17\n') // one of the first files that initdb writes
    const server = await startPostgres({ dataDir, test: true })
    await server.stop()
    removePostgresData(dataDir)
    expect(existsSync(dataDir)).toBe(false)
  })

  describe('beside a server that runs', () => {
    let place: string
    let server: PostgresServer
    beforeAll(async () => {
      place = mkdtempSync(join(tmpdir(), 'signet-servers-'))
      server = await startPostgres({ dataDir: join(place, 'postgres'), test: true })
    })
    afterAll(async () => {
      await server.stop()
      removePostgresData(join(place, 'postgres'))
      rmSync(place, { recursive: true, force: true })
    })

    it('refuses a superuser session without the password', async () => {
      const connectionString = server.url('postgres').replace(/:[^:@]+@/, ':guess@')
      const client = new pg.Client({ connectionString })
      await expect(client.connect()).rejects.toThrow('password authentication failed')
    })

    it('says what the server said when it cannot start', async () => {
      const dataDir = join(folder, 'other')
      try {
        const other = startPostgres({ dataDir, port: server.port, test: true })
        await expect(other).rejects.toThrow(/PostgreSQL did not start .*Address already in use/s)
      } finally {
        removePostgresData(dataDir)
      }
    })
  })
})

describe('startRedis', () => {
  it('keeps acknowledged writes over a kill when it appends to a file', async () => {
    let server = await startRedis({ dir: folder, appendOnly: true })
    let client = new Redis(server.url)
    await client.set('a', '1')
    client.disconnect()
    await server.kill('SIGKILL')
    server = await startRedis({ dir: folder, appendOnly: true, port: server.port })
    client = new Redis(server.url)
    try {
      expect(await client.get('a')).toBe('1')
      expect(await client.config('GET', 'maxmemory-policy')).toEqual(['maxmemory-policy', 'noeviction'])
    } finally {
      client.disconnect()
      await server.stop()
    }
  })
})
