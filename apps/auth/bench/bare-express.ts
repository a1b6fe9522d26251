// What `GET /user` is measured against: an Express route that runs the same prepared select and sends the row.
import { once } from 'node:events'
import { Db } from '@signet/db'
import express from 'express'
import { tablesOf } from '../src/database/tables.js'
import { accountColumn } from '../src/users/user-rows.js'

const db = new Db({ connectionString: process.env['DATABASE_URL'] ?? '', max: 64 })
const tables = tablesOf('')
const text = `select ${accountColumn(tables)} from ${tables.users} u where u.id = $1`

const app = express()
app.get('/health', (_req, res) => void res.json({}))
app.get('/user/:id', async (req, res) => {
  const { rows } = await db.query<{ account: unknown }>({ name: 'user', text }, [req.params['id']])
  res.json(rows[0]?.account)
})

// It gets its next turn after the others, on the same connections.
const server = app.listen(Number(process.env['PORT']), '127.0.0.1')
server.keepAliveTimeout = 0

await once(process, 'SIGTERM')
server.close()
server.closeAllConnections()
await db.close()
