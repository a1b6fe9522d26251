import type { Request } from 'express'
import { notFound } from '../errors/api-errors.js'

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Returns the account in the path, in lower case. Anything that cannot be an account id is a 404. */
export function accountIdOf(req: Request): string {
  const accountId = String(req.params['account_id'])
  if (!UUID.test(accountId)) throw notFound()
  return accountId.toLowerCase()
}
