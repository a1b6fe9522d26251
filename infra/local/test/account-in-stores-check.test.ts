import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it } from '@jest/globals'
import { aRepository } from './support/repository.js'
import { repository } from './support/running-stack.js'

let folder: string
afterEach(() => {
  rmSync(folder, { recursive: true })
})

type Exemption = { file: string; name: string; because: string }

/** The lines of a store that the rule reports. */
function found(
  store: string,
  { exempt = [], row = '' }: { exempt?: Exemption[]; row?: string } = {},
): string[] {
  const config = {
    categories: { correctness: 'off' },
    jsPlugins: [join(repository, 'infra/checks/lint-rules.mjs')],
    rules: { 'signet/account-in-stores': ['error', { exempt }] },
  }
  folder = aRepository({ 'config.json': JSON.stringify(config), 'x-store.ts': store, 'row.ts': row })
  const oxlint = join(repository, 'node_modules/oxlint/bin/oxlint')
  const { stdout } = spawnSync(
    process.execPath,
    [oxlint, '-c', 'config.json', '--format', 'unix', 'x-store.ts'],
    {
      cwd: folder,
      encoding: 'utf8',
    },
  )
  return stdout
    .split('\n')
    .flatMap((line) => /^x-store.ts:(\d+):\d+: (.{9})/.exec(line)?.slice(1).join(' ') ?? [])
}

const FOUND = 'Compare a'

const inEach = (sql: string) => `
export async function find(db, accountId, id) { await db.query(\`${sql}\`, [accountId, id]) }
export const findToo = async (accountId, id, pool) => pool.query(\`${sql}\`, [accountId, id])
export class Pager {
  async page(accountId, id) { await this.db.query(\`${sql}\`, [accountId, id]) }
  async #page(accountId, id) { await this.db.query(\`${sql}\`, [accountId, id]) }
}
`

it('accepts a statement that names the account, in a function or a method', () => {
  expect(found(inEach('select url from webhook_endpoints where account_id = $1 and id = $2'))).toEqual([])
})

it('finds a statement that does not, although its function knows the account', () => {
  const lines = [2, 3, 5, 6].map((line) => `${line} ${FOUND}`)
  expect(found(inEach('select url from webhook_endpoints where id = $2'))).toEqual(lines)
})

const constants = (statements: readonly string[]) =>
  statements.map((sql, i) => `const SQL_${i} = '${sql}'\n`).join('')

it('accepts what is bound to an account or a secret, or concerns no account', () => {
  const statements = [
    'select name from personal_tokens where token_hash = $1',
    'update oauth_grants set revoked_at = now() where account_id = any ($1)',
    'insert into login_sessions (id_hash, csrf_key) values ($1, $2)',
    'select r.title from unnest($1::uuid[], $2::text[]) as wanted (account_id, audio_id) join recordings r using (account_id, audio_id)',
    'select client_name from oauth_clients where client_id = $1',
    'select set_config($1, $2, true)',
  ]
  expect(found(constants(statements))).toEqual([])
})

it('finds what only looks bound', () => {
  const statements = [
    'delete from webhook_deliveries where id = $1',
    'select e.url from webhook_endpoints e join webhook_events v on v.account_id = e.account_id where e.id = $1',
    'select account_id from webhook_events where id = $1 -- account_id = $2',
    'select id from webhook_events where source_hash = $1',
    'insert into webhook_attempts (delivery_id, number) values ($1, $2)',
    'insert into webhook_events (id, account_id) select $1, account_id from webhook_endpoints where id = $2',
    'with gone as (delete from oauth_clients where client_id = $1) delete from oauth_grants where client_id = $1',
  ]
  expect(found(constants(statements))).toEqual(statements.map((_, i) => `${i + 1} ${FOUND}`))
})

it('reads the parts that a statement is made of, in this file and in that of a row', () => {
  const store = `
import { OWN } from './row.js'
const OF_ACCOUNT = 'account_id = $1'
const where = (id) => id ? \`\${OF_ACCOUNT} and id = $2\` : 'id = $2'
const FIRST = \`select id from webhook_endpoints where \${OF_ACCOUNT}\`
const SECOND = \`select id from webhook_deliveries where endpoint_id = \${OWN}\`
const THIRD = \`select id from webhook_endpoints where \${where(true)}\`
const FOURTH = (table) => \`delete from \${table} where id = $1\`
`
  const row = "export const OWN =\n  '(select id from webhook_endpoints where id = $1 and account_id = $2)'"
  expect(found(store, { row })).toEqual([`7 ${FOUND}`, `8 ${FOUND}`])
})

it('accepts what is exempt by name, and refuses an exemption that nothing needs', () => {
  const store = "export const purge = (db) => db.query('delete from webhook_events where created_at < $1')"
  const because = 'it serves all accounts'
  const exempt = [{ file: 'x-store.ts', name: 'purge', because }]
  expect(found(store, { exempt })).toEqual([])
  rmSync(folder, { recursive: true })
  expect(found('export const one = 1', { exempt })).toEqual(['1 purge nee'])
})
