import { once } from 'node:events'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { ownDatabase } from '../test/own-database.js'
import { migrate } from './index.js'

const { name, url, admin, db } = ownDatabase('migrations')

describe('migrate', () => {
  const directory = mkdtempSync(join(tmpdir(), 'signet-migrations-'))
  writeFileSync(join(directory, '20260101000000_first.sql'), 'create table {{prefix}}one (id int);')
  writeFileSync(join(directory, '20260102000000_second.sql'), 'create table {{prefix}}two (id int);')
  const options = {
    databaseUrl: url,
    setting: 'X_DATABASE_URL',
    directory,
    table: 'ns_schema_migrations',
    variables: { prefix: 'ns_' },
  }

  it('applies each file once when three replicas start together', async () => {
    const results = await Promise.all([migrate(options), migrate(options), migrate(options)])
    expect(results.flat().sort()).toEqual(['20260101000000_first', '20260102000000_second'])
    expect((await db.query('select name from ns_schema_migrations')).rowCount).toBe(2)
  })

  it('keeps what an earlier file did when a later one fails', async () => {
    writeFileSync(join(directory, '20260103000000_third.sql'), 'create table {{prefix}}three (id int);')
    writeFileSync(
      join(directory, '20260104000000_fourth.sql'),
      'create table {{prefix}}four (id int); select nonsense;',
    )
    await expect(migrate(options)).rejects.toThrow()
    const { rows } = await db.query(
      `select to_regclass('ns_three') is not null as three, to_regclass('ns_four') as four`,
    )
    expect(rows).toEqual([{ three: true, four: null }])
  })

  it('refuses a file that names an unknown variable', async () => {
    writeFileSync(join(directory, '20260104000000_fourth.sql'), 'create table {{unknown}}four (id int);')
    await expect(migrate(options)).rejects.toThrow('no value for {{unknown}}')
  })

  it('refuses a file with a down part, which would undo it at once', async () => {
    writeFileSync(
      join(directory, '20260104000000_fourth.sql'),
      '-- Up Migration\ncreate table {{prefix}}four (id int);\n-- Down Migration\ndrop table {{prefix}}four;',
    )
    await expect(migrate(options)).rejects.toThrow('20260104000000_fourth.sql: migrations have no down part')
  })

  it('names the setting of a database to which it cannot connect', async () => {
    const wrong = new URL(url)
    wrong.password = 'wrong'
    const missing = new URL(url)
    missing.pathname = '/missing'
    const cannot = 'cannot connect to the database (X_DATABASE_URL): '
    await expect(migrate({ ...options, databaseUrl: wrong.href })).rejects.toThrow(
      `${cannot}password authentication failed`,
    )
    await expect(migrate({ ...options, databaseUrl: missing.href })).rejects.toThrow(
      `${cannot}database "missing" does not exist`,
    )
  })

  it('does not wait for a server that accepts connections and says nothing', async () => {
    const sockets: Socket[] = []
    const silent = createServer((socket) => void sockets.push(socket)).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const { port } = silent.address() as AddressInfo
    const databaseUrl = `postgres://user@127.0.0.1:${port}/database`
    await expect(migrate({ ...options, databaseUrl, connectTimeoutMs: 10 })).rejects.toThrow(
      'cannot connect to the database (X_DATABASE_URL): no answer within 0.01 s',
    )
    for (const socket of sockets) socket.destroy()
    silent.close()
  })

  it('has closed its connection when it ends, also when it fails', async () => {
    const connections = async () => {
      const { rows } = await admin.query<{ open: number }>(
        'select count(*)::int as open from pg_stat_activity where datname = $1',
        [name],
      )
      return rows[0]?.open ?? 0
    }
    const before = await connections()
    await expect(migrate(options)).rejects.toThrow()
    expect(await connections()).toBeLessThanOrEqual(before)
  })
})
