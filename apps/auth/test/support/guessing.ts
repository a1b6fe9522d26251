import type { ApiAnswer } from './api.js'

/** The default limits of a deployment; other tests run with raised ones. */
export const DEFAULTS = {
  AUTH_RATE_LIMIT_SHARED_ADDRESS_FACTOR: '10',
  AUTH_SECURITY_SIGN_IN_ATTEMPTS: '5',
}
/** Addresses come from a header, so one test can act as many clients. */
export const FORWARDED = { ...DEFAULTS, AUTH_SECURITY_FORWARDED_FOR_ENABLED: 'true' }
export const MINUTE_MS = 60_000

export const from = (address: string) => ({ headers: { 'X-Forwarded-For': address } })

/** Sends requests in parallel, as attackers do; one after the other would take too long on a busy machine. */
export const many = (count: number, request: (n: number) => Promise<ApiAnswer>) =>
  Promise.all(Array.from({ length: count }, (_, n) => request(n)))

export const tokenPath = '/token?grant_type=password'
export const statuses = (answers: readonly ApiAnswer[]) => answers.map(({ status }) => status)
/** How many passwords were compared. */
export const tried = (answers: readonly ApiAnswer[]) =>
  statuses(answers).filter((status) => status === 400).length
