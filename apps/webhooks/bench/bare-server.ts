// The baseline for the service: Express routes that run the same statements and do nothing else.
import { createHash, randomBytes } from 'node:crypto'
import { Db } from '@signet/db'
import { listen, runService } from '@signet/http'
import { listEndpoints } from '@signet/webhook-core/stores'
import express from 'express'
import { findLiveAccessToken } from '../src/bearer/bearer-store.js'
import { findClient } from '../src/clients/client-store.js'
import { findCode, findRefreshToken, redeemCode, rotateRefreshToken } from '../src/grants/token-store.js'

const db = new Db({ connectionString: process.env['WEBHOOKS_DATABASE_URL'] ?? '', max: 10 })
const sha256 = (text: string) => createHash('sha256').update(text).digest()
const token = (prefix: string) => prefix + randomBytes(22).toString('hex').slice(0, 43)

type Form = { client_id: string; code?: string; refresh_token?: string }

function newTokens(found: { grantId: string; accountId: string; scope: string }) {
  const [accessToken, refreshToken] = [token('sva_'), token('svr_')]
  const tokens = {
    grantId: found.grantId,
    accountId: found.accountId,
    accessHash: sha256(accessToken),
    accessScope: found.scope,
    accessResources: null,
    accessSeconds: 3600,
    refreshHash: sha256(refreshToken),
    refreshScope: found.scope,
    refreshSeconds: 90 * 86_400,
  }
  return {
    tokens,
    body: { access_token: accessToken, token_type: 'Bearer', expires_in: 3600, refresh_token: refreshToken },
  }
}

const app = express()
app.post('/oauth/token', express.urlencoded({ extended: false }), async (req, res) => {
  const form = req.body as Form
  const client = await findClient(db, form.client_id)
  const hash = sha256(form.code ?? form.refresh_token ?? '')
  const found =
    form.code === undefined
      ? await findRefreshToken(db, { tokenHash: hash, arrivedAt: client?.readAt ?? '', graceSeconds: 10 })
      : await findCode(db, hash)
  if (!found) return void res.status(400).end()
  const { tokens, body } = newTokens(found)
  if (form.code === undefined) await rotateRefreshToken(db, hash, tokens)
  else await redeemCode(db, hash, tokens)
  res.json(body)
})
app.get('/v1/webhooks', async (req, res) => {
  const found = await findLiveAccessToken(
    db,
    sha256((req.get('authorization') ?? '').slice('Bearer '.length)),
  )
  res.json({ items: found ? await listEndpoints(db, found.accountId) : [] })
})

await runService('bench', async () => {
  const listener = await listen(app, { port: Number(process.env['WEBHOOKS_PORT']), host: '127.0.0.1' })
  process.send?.('listening')
  return {
    async close() {
      await listener.close(0)
      await db.close()
    },
  }
})
