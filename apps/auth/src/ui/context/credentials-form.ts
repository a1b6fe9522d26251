import { faultOf, type Refusal } from './refusals.js'
import type { Caller } from './sign-in-pages.js'

/** Names of the form fields, by the subject of a refusal. */
const FIELDS = { address: 'identifier', password: 'password' }

/** The result of the last submission, when the form is shown again. */
export type Attempt = Partial<Refusal> & { identifier?: string }

/** What a form with an address and a password shows: the address that was typed, otherwise the one that the application suggests. */
export const credentialsForm = (caller: Caller, { identifier, notice, code }: Attempt) => ({
  identifier: identifier ?? (caller.typed('identifier') || (caller.context.loginHint ?? '')),
  fault: faultOf(code, FIELDS),
  ...(notice === undefined ? {} : { notice }),
})
