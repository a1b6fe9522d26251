import { Db, isUnavailable, SharedClock } from '@signet/db'
import { tablesOf } from '../database/tables.js'
import { DATABASE_SETTING } from '../migrations.js'
import { createKeyService, type SigningKeySettings } from './create-keys.js'
import { KeyRefusal } from './key-refusal.js'
import { KEYS_USAGE, KeysUsageError, parseKeysArguments, type KeysCommand } from './keys-arguments.js'
import { listReport, retiredReport, rotatedReport, type KeysReport } from './keys-report.js'
import type { SigningKeyService } from './signing-key-service.js'
import { SigningKeyStore } from './signing-key-store.js'

type Settings = SigningKeySettings & { readonly databaseUrl: string; readonly dbNamespace: string }
type Action = Exclude<KeysCommand, { name: 'help' }>
type Terminal = { out: (text: string) => void; err: (text: string) => void }

/** Lists and changes the signing keys of the servers with these settings. Resolves to the exit code. */
export async function runKeysCommand(
  readConfig: () => Settings | Promise<Settings>,
  argv: readonly string[],
  { out, err }: Terminal,
): Promise<number> {
  try {
    const { command, json } = parseKeysArguments(argv)
    if (command.name === 'help') {
      out(KEYS_USAGE)
      return 0
    }
    const report = await withService(await readConfig(), command)
    out(json ? JSON.stringify(report.json) : report.text)
    return 0
  } catch (error) {
    if (error instanceof KeysUsageError) {
      err(`${error.message}\n\n${KEYS_USAGE}`)
      return 2
    }
    const reason = reasonOf(error)
    if (reason === null) throw error
    err(reason)
    return 1
  }
}

/** PostgreSQL's code for a statement that names a table or schema that does not exist. */
const UNDEFINED = new Set<unknown>(['42P01', '3F000'])

/** Why the command failed, if the operator can do something about it. */
function reasonOf(error: unknown): string | null {
  if (error instanceof KeyRefusal) return error.message
  if (UNDEFINED.has((error as { code?: unknown } | null)?.code))
    return 'The database has no signing keys, because it was not migrated. Run `auth migrate` first.'
  if (!isUnavailable(error)) return null
  // If the host has several addresses, the attempt fails with one error for each.
  const causes: unknown[] = error instanceof AggregateError ? error.errors : [error]
  const why = causes.map((cause) => (cause instanceof Error ? cause.message : String(cause))).join(', ')
  return `Cannot connect to the database (${DATABASE_SETTING}): ${why}`
}

async function withService(config: Settings, command: Action): Promise<KeysReport> {
  const db = new Db({ connectionString: config.databaseUrl, max: 2, applicationName: 'signet-auth-keys' })
  try {
    const store = new SigningKeyStore(tablesOf(config.dbNamespace))
    const clock = new SharedClock(db)
    await clock.adjust()
    return await run(createKeyService({ config, db, store, observer: SILENT, now: clock.now }), command)
  } finally {
    await db.close()
  }
}

/** The command's report already says what servers would log. */
const SILENT = { signingKeyCreated: () => undefined, signingKeyUnreadable: () => undefined }

async function run(service: SigningKeyService, command: Action): Promise<KeysReport> {
  switch (command.name) {
    case 'list':
      return listReport(await service.list(), service.rules)
    case 'rotate': {
      const { alg = service.rules.algorithm, now } = command
      return rotatedReport(await service.rotate(alg, now ? 'at_once' : 'after_delay'))
    }
    case 'retire':
      await service.retire(command.kid, { force: command.force })
      return retiredReport(command.kid)
  }
}
