import { faultOf, type Refusal } from './refusals.js'
import type { Caller } from './sign-in-pages.js'

/** Names of the fields by what a refusal is about. */
const FIELDS = { address: 'identifier', password: 'password' }

/** The result of the last submission, when the form is shown again. */
export type Attempt = Partial<Refusal> & { identifier?: string }

/** What a form with an address and a password shows: what was typed, or else the address that the application suggests. */
export const credentialsForm = (caller: Caller, { identifier, notice, code }: Attempt) => ({
  identifier: identifier ?? (caller.typed('identifier') || (caller.context.loginHint ?? '')),
  fault: faultOf(code, FIELDS),
  ...(notice === undefined ? {} : { notice }),
})
