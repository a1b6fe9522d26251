// What the service is measured against at its barest: `node:http`, the statement, the signature. No framework, no checks.
import { generateKeyPairSync, sign } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { Db } from '@signet/db'
import { tablesOf } from '../src/database/tables.js'
import { accountColumn } from '../src/users/user-rows.js'

const db = new Db({ connectionString: process.env['DATABASE_URL'] ?? '', max: 64 })
const tables = tablesOf('')
const select = {
  name: 'user',
  text: `select ${accountColumn(tables)} from ${tables.users} u where u.id = $1`,
}
const update = {
  name: 'refresh',
  text: `update ${tables.sessions} set refresh_counter = refresh_counter + 1, refreshed_at = $2
    where id = $1 returning id, user_id, refresh_counter`,
}
const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })

const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

function tokenOf(claims: object): string {
  const text = `${encode({ alg: 'ES256', typ: 'JWT', kid: 'bench' })}.${encode(claims)}`
  const signature = sign('sha256', Buffer.from(text), { key: privateKey, dsaEncoding: 'ieee-p1363' })
  return `${text}.${signature.toString('base64url')}`
}

async function bodyOf(req: IncomingMessage): Promise<{ session: string }> {
  const chunks: Buffer[] = []
  for await (const chunk of req) chunks.push(chunk as Buffer)
  return JSON.parse(Buffer.concat(chunks).toString()) as { session: string }
}

async function answer(req: IncomingMessage): Promise<unknown> {
  const url = req.url ?? ''
  if (url.startsWith('/user/')) {
    const { rows } = await db.query<{ account: unknown }>(select, [url.slice('/user/'.length)])
    return rows[0]?.account
  }
  if (url !== '/refresh') return {}
  const { rows } = await db.query(update, [(await bodyOf(req)).session, new Date()])
  const row = rows[0]
  return { access_token: tokenOf({ ...row, aud: 'authenticated', exp: 4_000_000_000 }), ...row }
}

// It gets its next turn after the others, on the same connections.
const server = createServer({ keepAliveTimeout: 0 }, (req, res) => {
  answer(req).then(
    (body) => {
      const text = JSON.stringify(body)
      res.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) })
      res.end(text)
    },
    (error: unknown) => res.writeHead(500).end(String(error)),
  )
}).listen(Number(process.env['PORT']), '127.0.0.1')

await once(process, 'SIGTERM')
server.close()
server.closeAllConnections()
await db.close()
