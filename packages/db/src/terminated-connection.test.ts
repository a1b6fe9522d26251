import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { expect, it } from '@jest/globals'
import { Db, isUnavailable } from './index.js'

const message = (type: string, body: Buffer): Buffer => {
  const length = Buffer.alloc(4)
  length.writeInt32BE(body.length + 4)
  return Buffer.concat([Buffer.from(type), length, body])
}
const AUTHENTICATED = message('R', Buffer.alloc(4))
const READY = message('Z', Buffer.from('I'))
const TERMINATED = message(
  'E',
  Buffer.from('SFATAL\0C57P01\0Mterminating connection due to administrator command\0\0'),
)

it.each<[string, (db: Db) => Promise<unknown>]>([
  ['a statement', (db) => db.query('select 1')],
  ['a transaction', (db) => db.transaction((tx) => tx.query('select 1'))],
  ['a connection of its own', (db) => db.connection((connection) => connection.query('select 1'))],
])('a server that ends a connection as soon as it is open fails %s, not the process', async (_, work) => {
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', () => socket.end(Buffer.concat([AUTHENTICATED, READY, TERMINATED])))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  for (const closeSilent of [true, false]) {
    const db = new Db({ connectionString: `postgres://user:password@127.0.0.1:${port}/any`, closeSilent })
    const error: unknown = await work(db).catch((reason: unknown) => reason)
    expect([error, isUnavailable(error)]).toEqual([expect.any(Error), true])
    await db.close()
  }
  server.close()
})
