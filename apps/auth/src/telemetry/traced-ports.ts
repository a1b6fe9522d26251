import type { TraceStatement } from '@signet/db'
import type { Tracing } from '@signet/telemetry'
import { parseUrl } from '@signet/address-guard/parse-url'
import { OutboundError, type Outbound } from '../outbound/outbound.js'
import type { PasswordHasher } from '../passwords/password-hasher.js'

/** A span for each statement and transaction. It has the verb and the table, but never parameters. */
export function tracedStatements(tracing: Tracing): TraceStatement {
  return (statement, work) => {
    const { name, attributes } = summaryOf(statement)
    return tracing.span(name, { kind: 'client', attributes }, work)
  }
}

function summaryOf(statement: string) {
  const system = { 'db.system.name': 'postgresql' }
  if (/^\w+$/.test(statement))
    return { name: statement, attributes: { ...system, 'db.query.summary': statement } }
  const [, verb = 'statement'] = /^\s*(\w+)/.exec(statement) ?? []
  const [, table] = /\b(?:from|into|update)\s+([\w."]+)/i.exec(statement) ?? []
  const name = table === undefined ? verb : `${verb} ${table}`
  return { name, attributes: { ...system, 'db.query.summary': name } }
}

/** A span for each call to a provider, gateway, CAPTCHA service or template host. Paths and queries may hold secrets. */
export const tracedOutbound = (outbound: Outbound, tracing: Tracing): Outbound => ({
  ...outbound,
  request(request) {
    const method = request.method ?? 'GET'
    const attributes = {
      'http.method': method,
      'http.request.method': method,
      'server.address': parseUrl(request.url)?.host ?? 'invalid',
    }
    return tracing.span(method, { kind: 'client', attributes }, async (span) => {
      try {
        const response = await outbound.request(request)
        span.set({ 'http.status_code': response.status, 'http.response.status_code': response.status })
        return response
      } catch (error) {
        if (error instanceof OutboundError) span.set({ 'auth.outbound.reason': error.reason })
        throw error
      }
    })
  },
})

export const tracedHasher = (hasher: PasswordHasher, tracing: Tracing): PasswordHasher => ({
  ...hasher,
  hash: (...job) => tracing.span('hash password', {}, () => hasher.hash(...job)),
  verify: (...job) => tracing.span('verify password', {}, () => hasher.verify(...job)),
  firstMatch: (...job) => tracing.span('verify password', {}, () => hasher.firstMatch(...job)),
})
