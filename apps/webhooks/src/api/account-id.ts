import type { Request } from 'express'
import { notFound } from '../errors/api-errors.js'
import { isUuid } from '../text/uuid.js'

/** Returns the account in the path, in lower case. Anything that cannot be an account id is a 404. */
export function accountIdOf(req: Request): string {
  const accountId = String(req.params['account_id'])
  if (!isUuid(accountId)) throw notFound()
  return accountId.toLowerCase()
}
