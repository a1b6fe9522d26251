import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { Db, type Queryable, type Tx } from '@signet/db'
import { plansOf, type TestDatabase } from '@signet/testkit'
import {
  admitsUser,
  deleteSessions,
  endIdentitySessions,
  recordBan,
  recordSignOut,
  revokeGrants,
  revokePersonalTokens,
} from '../src/accounts/account-store.js'
import { decideAuthorization, findPendingAuthorization } from '../src/authorization/authorization-store.js'
import {
  findLiveAccessToken,
  findLivePersonalToken,
  revokeIdlePersonalToken,
  touchPersonalToken,
} from '../src/bearer/bearer-store.js'
import { findClient } from '../src/clients/client-store.js'
import {
  describeAccessToken,
  describePersonalToken,
  revokeAccessToken,
  revokeGrantOfRefreshToken,
} from '../src/grants/revocation-store.js'
import {
  findCode,
  findRefreshToken,
  issueFurtherTokens,
  redeemCode,
  revokeGrant,
  rotateRefreshToken,
} from '../src/grants/token-store.js'
import { dailySteps, hourlySteps } from '../src/maintenance/cleanup-store.js'
import {
  countUsableForUpdate,
  listPersonalTokens,
  revokePersonalToken,
} from '../src/personal-tokens/personal-token-store.js'
import { listConnections, revokeConnection } from '../src/grants/connection-store.js'
import {
  claimSubmission,
  endSubmission,
  findSubmission,
  forgetSubmission,
} from '../src/forms/submission-store.js'
import { insertHandover, takeHandover } from '../src/handovers/handover-store.js'
import { renewSession, touchSession } from '../src/sessions/session-store.js'
import { aCopy } from './support/harness.js'
import { fillTables } from './support/large-tables.js'

let database: TestDatabase
let db: Db
let of: Awaited<ReturnType<typeof fillTables>>
beforeAll(async () => {
  database = await aCopy()
  db = new Db({ connectionString: database.url, max: 2 })
  of = await fillTables(db)
}, 300_000)
afterAll(async () => {
  await db.close()
  await database.drop()
})

const newTokens = () => ({
  grantId: of.grantId,
  accountId: of.accountId,
  accessHash: Buffer.alloc(32, 1),
  accessScope: 'mcp:connect',
  accessResources: null,
  accessSeconds: 3600,
  refreshHash: Buffer.alloc(32, 2),
  refreshScope: 'mcp:connect',
  refreshSeconds: 3600,
})

/** Indexes that are equally good, because each leads to a handful of rows. */
const OF_ACCOUNT = 'personal_tokens_account_idx or personal_tokens_listed_idx'
const HANDOVER = 'page_handovers_pkey or page_handovers_session_idx'
const OF_SESSION = 'oauth_authorizations_pkey or oauth_authorizations_session_idx'

const submission = () => ({ sessionHash: of.session, key: Buffer.alloc(32, 1) })

type Case = [name: string, run: (db: Queryable) => Promise<unknown>, indexes: string[]]

/** Those of endpoints, deliveries and ingest are in packages/webhook-core. */
const hotQueries: Case[] = [
  [
    'who bears an access token',
    (db) => findLiveAccessToken(db, of.accessToken),
    ['account_states_pkey', 'oauth_access_tokens_pkey', 'oauth_grants_pkey'],
  ],
  [
    'who bears a personal token',
    (db) => findLivePersonalToken(db, of.personalToken),
    ['account_states_pkey', 'personal_tokens_token_hash_key'],
  ],
  [
    'noting the use of a personal token',
    (db) => touchPersonalToken(db, { id: '7', accountId: of.accountId }),
    ['personal_tokens_pkey or personal_tokens_listed_idx'],
  ],
  [
    'ending an idle personal token',
    (db) => revokeIdlePersonalToken(db, { id: '7', accountId: of.accountId }),
    ['personal_tokens_pkey or personal_tokens_listed_idx'],
  ],
  ['finding a client', (db) => findClient(db, of.clientId), ['oauth_clients_pkey']],
  ['finding a code', (db) => findCode(db, of.code), ['oauth_codes_pkey', 'oauth_grants_pkey']],
  ['redeeming a code', (db) => redeemCode(db, of.code, newTokens()), ['oauth_codes_pkey']],
  [
    'finding a refresh token',
    (db) =>
      findRefreshToken(db, {
        tokenHash: of.refreshToken,
        arrivedAt: '2030-01-01T00:00:00.000000Z',
        graceSeconds: 10,
      }),
    ['oauth_grants_pkey', 'oauth_refresh_tokens_pkey'],
  ],
  [
    'rotating a refresh token',
    (db) => rotateRefreshToken(db, of.refreshToken, newTokens()),
    ['oauth_refresh_tokens_pkey'],
  ],
  [
    'issuing further tokens',
    (db) => issueFurtherTokens(db, Buffer.alloc(32, 3), newTokens()),
    ['oauth_refresh_tokens_pkey'],
  ],
  ['revoking a grant', (db) => revokeGrant(db, of, 'x'), ['oauth_grants_pkey']],
  [
    'revoking an access token',
    (db) => revokeAccessToken(db, { tokenHash: of.accessToken, clientId: of.clientId }),
    ['oauth_access_tokens_pkey', 'oauth_grants_pkey'],
  ],
  [
    'revoking by a refresh token',
    (db) => revokeGrantOfRefreshToken(db, { tokenHash: of.refreshToken, clientId: of.clientId }),
    ['oauth_grants_pkey', 'oauth_refresh_tokens_pkey'],
  ],
  [
    'introspecting an access token',
    (db) => describeAccessToken(db, of.accessToken),
    ['oauth_access_tokens_pkey', 'oauth_grants_pkey'],
  ],
  [
    'introspecting a personal token',
    (db) => describePersonalToken(db, of.personalToken, 'mcp:connect'),
    ['personal_tokens_token_hash_key'],
  ],
  [
    'counting personal tokens for the quota',
    (db) => countUsableForUpdate(db as Tx, of.accountId),
    [OF_ACCOUNT],
  ],
  ['listing personal tokens', (db) => listPersonalTokens(db, of.accountId), [OF_ACCOUNT]],
  [
    'removing a personal token',
    (db) => revokePersonalToken(db, { accountId: of.accountId, id: '7' }),
    [`personal_tokens_pkey or ${OF_ACCOUNT}`],
  ],
  [
    'listing the applications of an account',
    (db) => listConnections(db, of.accountId),
    [
      'oauth_grants_account_idx',
      'oauth_clients_pkey',
      'oauth_access_tokens_grant_idx',
      'oauth_refresh_tokens_grant_idx',
    ],
  ],
  [
    'revoking an application',
    (db) => revokeConnection(db, { accountId: of.accountId, clientId: of.clientId }),
    ['oauth_grants_account_idx or oauth_grants_client_idx'],
  ],
  [
    'a page of a session',
    (db) => touchSession(db, of.session),
    ['login_sessions_pkey', 'ended_identity_sessions_pkey'],
  ],
  [
    'handing something to the next page',
    (db) =>
      insertHandover(db, {
        id: '00000000-0000-4000-8000-000000000000',
        sessionHash: of.session,
        sealed: { keyId: 'key', ciphertext: Buffer.alloc(1) },
      }),
    ['page_handovers_session_idx'],
  ],
  [
    'opening it there',
    (db) => takeHandover(db, { id: '00000000-0000-4000-8000-000000000000', sessionHash: of.session }),
    [HANDOVER],
  ],
  ['claiming a form', (db) => claimSubmission(db, submission()), []],
  ['the result of a form', (db) => findSubmission(db, submission()), ['page_submissions_pkey']],
  [
    'ending a form',
    (db) => endSubmission(db, submission(), { keyId: 'key', ciphertext: Buffer.alloc(1) }),
    ['page_submissions_pkey'],
  ],
  ['forgetting a form', (db) => forgetSubmission(db, submission()), ['page_submissions_pkey']],
  [
    'signing in',
    (db) =>
      renewSession(db, {
        oldHash: of.session,
        idHash: Buffer.alloc(32, 4),
        csrfKey: Buffer.alloc(32, 5),
        account: {
          id: of.accountId,
          email: 'a@example.test',
          identitySessionId: '00000000-0000-4000-8000-000000000000',
          authenticatedAt: new Date(),
          provedAt: new Date(),
        },
      }),
    ['login_sessions_pkey'],
  ],
  [
    'finding an authorization',
    (db) => findPendingAuthorization(db, { txnHash: of.txn, sessionHash: of.session }),
    ['login_sessions_pkey', OF_SESSION, 'oauth_clients_pkey'],
  ],
  [
    'deciding an authorization',
    (db) =>
      decideAuthorization(db, {
        txnHash: of.txn,
        sessionHash: of.session,
        codeHash: Buffer.alloc(32, 6),
        codeTtlSeconds: 300,
      }),
    ['login_sessions_pkey', OF_SESSION, 'oauth_clients_pkey', 'ended_identity_sessions_pkey'],
  ],
  [
    'whether the account of a user JWT admits it',
    (db) => admitsUser(db, of.accountId, new Date(Date.now() - 2 * 60 * 60 * 1000)),
    ['account_states_pkey'],
  ],
  [
    'banning an account',
    (db) =>
      recordBan(db as Tx, {
        accountId: of.accountId,
        bannedUntil: '2999-01-01T00:00:00Z',
        decidedAt: '2026-01-01T00:00:00.123456Z',
      }),
    ['account_states_pkey'],
  ],
  [
    'signing an account out everywhere',
    async (db) => {
      const tx = db as Tx
      const ended = { accountId: of.accountId, signedOutAt: new Date(), reason: 'x' }
      await recordSignOut(tx, of.accountId, ended.signedOutAt)
      await deleteSessions(tx, ended)
      await revokeGrants(tx, ended)
      await revokePersonalTokens(tx, ended)
    },
    ['login_sessions_account_idx', 'oauth_grants_account_idx', OF_ACCOUNT],
  ],
  [
    'ending sessions of the identity server',
    (db) => endIdentitySessions(db, ['00000000-0000-4000-8000-000000000000']),
    ['login_sessions_identity_session_idx'],
  ],
]

/** The indexes of each clean-up step, by its name. */
const cleanup: Record<string, string[]> = {
  codes: ['oauth_codes_unused_expires_at_idx'],
  authorizations: ['oauth_authorizations_expires_at_idx'],
  access_tokens: ['oauth_access_tokens_expires_at_idx'],
  ended_identity_sessions: ['ended_identity_sessions_ended_idx'],
  handovers: ['page_handovers_expires_at_idx'],
  submissions: ['page_submissions_claimed_idx'],
  refresh_tokens: ['oauth_refresh_tokens_expires_at_idx'],
  grants: ['oauth_grants_created_at_idx', 'oauth_grants_revoked_at_idx'],
  unused_clients: ['oauth_clients_unused_idx'],
  idle_personal_tokens: ['personal_tokens_idle_idx'],
  account_states: ['account_states_idle_idx', 'oauth_grants_account_idx', OF_ACCOUNT],
  endpoint_warnings: ['webhook_endpoint_warnings_created_at_idx'],
}
/**
 * These two steps read their whole table. An index on the last use of a session would have to change with every page, and
 * there are only sessions that began within twelve hours. Personal tokens are few, and their step runs once a day.
 */
const READ_IN_FULL = ['sessions', 'dead_personal_tokens']

async function expectIndexes(run: (db: Queryable) => Promise<unknown>, indexes: readonly string[]) {
  const plans = await plansOf(db, run)
  const missing = indexes.filter((names) => !names.split(' or ').some((name) => plans.indexes.includes(name)))
  expect({ missing, used: plans.indexes }).toEqual({ missing: [], used: plans.indexes })
  expect(plans.fullScans).toEqual([])
}

describe('hot queries use their index and read no table in full', () => {
  it.each(hotQueries)('%s', (_name, run, indexes) => expectIndexes(run, indexes))
})

describe('clean-up finds what is past its time by an index', () => {
  const steps = Object.entries({ ...hourlySteps, ...dailySteps })
  it.each(steps.filter(([name]) => !READ_IN_FULL.includes(name)))('%s', (name, step) =>
    expectIndexes((spy) => step(spy, 10), cleanup[name] ?? ['an index']),
  )
})
