import { describe, expect, it } from '@jest/globals'
import { ACTIONS } from '../src/audit/audit.js'
import { cleanupRulesAt } from '../src/cleanup/cleanup-rules.js'
import { readConfig } from '../src/config/read-config.js'
import { tablesOf } from '../src/database/tables.js'
import { FACTOR_METHODS, RECOVERY_CODE } from '../src/factors/session-level-store.js'
import { mailMethods } from '../src/flows/flow-store.js'
import { cleanupAges } from '../src/services/part-settings.js'
import { signInMethods } from '../src/sessions/session.js'
import { codesIn, tableBelow } from './support/specification.js'

const HOURS: Readonly<Record<string, number>> = { hour: 1, day: 24 }

const REQUIRED = {
  AUTH_SITE_URL: 'https://app.example.com',
  AUTH_API_EXTERNAL_URL: 'https://auth.example.com',
  AUTH_DB_DRIVER: 'postgres',
  DATABASE_URL: 'postgres://127.0.0.1/auth',
  AUTH_JWT_SECRET: 'test-secret-0123456789-abcdefghijklmnopqrstuvwxyz',
  AUTH_EXTERNAL_EMAIL_ENABLED: 'false',
}

describe('the tables of the specification', () => {
  it('name every method that a session can have in amr', () => {
    const named = tableBelow('Methods in amr').flatMap(([methods]) => codesIn(methods))
    const methods = [...signInMethods, ...mailMethods, ...Object.values(FACTOR_METHODS), RECOVERY_CODE]
    expect(named.sort()).toEqual(methods.sort())
  })

  it('name every action of the audit log beside its log type', () => {
    const named = tableBelow('Audit actions').flatMap(([type, actions]) =>
      codesIn(actions).map((action) => [action, codesIn(type)[0]]),
    )
    expect(Object.fromEntries(named)).toEqual(ACTIONS)
    expect(named).toHaveLength(Object.keys(ACTIONS).length)
  })
})

describe('the table of what the clean-up deletes', () => {
  const now = new Date('2026-03-01T12:00:00Z')
  /** Values that differ from the defaults. Together they switch on everything that is off by default. */
  const OTHERS: Readonly<Record<string, string>> = {
    AUTH_SESSIONS_ENDED_RETENTION: '700h',
    AUTH_SMTP_MAX_FREQUENCY: '100h',
    AUTH_MAILER_MAGIC_LINK_MAX_FREQUENCY: '100h',
    AUTH_MAILER_EMAIL_CHANGE_MAX_FREQUENCY: '100h',
    AUTH_MAILER_REAUTHENTICATION_MAX_FREQUENCY: '100h',
    AUTH_SMS_MAX_FREQUENCY: '100h',
    AUTH_SECURITY_SIGN_IN_ATTEMPTS: '9',
    AUTH_SECURITY_SIGN_IN_FAILURE_EXP: '2h',
    AUTH_SECURITY_KNOWN_NETWORK_RETENTION: '100h',
    AUTH_AUDIT_LOG_RETENTION: '100h',
    AUTH_UNCONFIRMED_USER_RETENTION: '100h',
    AUTH_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
  }
  const SWITCHED_OFF = { AUTH_DB_CLEANUP_ANONYMOUS_USERS: 'false' }
  const rows = tableBelow('Ages of clean-up')

  /** The hours for which the rows of each rule are kept. */
  function hoursOf(env: Readonly<Record<string, string>>): Map<string, number> {
    const rules = cleanupRulesAt(now, cleanupAges(readConfig({ ...REQUIRED, ...env })))
    return new Map(
      rules.map(({ table, condition, olderThan }) => [
        `${tablesOf('')[table]} ${condition}`,
        (now.getTime() - olderThan.getTime()) / 3_600_000,
      ]),
    )
  }
  const everything = hoursOf(OTHERS)
  const defaults = hoursOf({})
  const rules = [...everything.keys()]

  it('has a row for every rule, in the same order, with its table', () => {
    expect(rows.map(([, table]) => codesIn(table))).toEqual(rules.map((rule) => [rule.split(' ')[0]]))
  })

  it.each(rows.map(([what, , kept = ''], index) => ({ what, kept, rule: rules[index] ?? '' })))(
    'says how long $what are kept by default',
    ({ kept, rule }) => {
      const [, number, unit = ''] = /^(\d+) (hour|day)s?\b/.exec(kept) ?? []
      if (number !== undefined) return expect(defaults.get(rule)).toBe(Number(number) * (HOURS[unit] ?? NaN))
      expect(kept).toMatch(/^(until|forever)/)
      expect(defaults.get(rule)).toBe(kept.startsWith('until') ? 0 : undefined)
    },
  )

  it.each([...Object.keys(OTHERS), ...Object.keys(SWITCHED_OFF)])('names %s where it matters', (setting) => {
    const [before, after] =
      setting in SWITCHED_OFF
        ? [everything, hoursOf({ ...OTHERS, ...SWITCHED_OFF })]
        : [defaults, hoursOf({ [setting]: OTHERS[setting] ?? '' })]
    const changed = rules.map((rule) => before.get(rule) !== after.get(rule))
    expect(rows.map(([, , , settings]) => codesIn(settings).includes(setting))).toEqual(changed)
  })

  it('names no other settings', () => {
    const known = [...Object.keys(OTHERS), ...Object.keys(SWITCHED_OFF)]
    expect(
      rows.flatMap(([, , , settings]) => codesIn(settings)).filter((name) => !known.includes(name)),
    ).toEqual([])
  })
})
