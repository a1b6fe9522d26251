import { invalid } from '../../errors/auth-error.js'
import type { Sent } from './sign-in-pages.js'

/** The answer of the browser, which the page's script put into the form. */
export function credentialOf(sent: Sent): Record<string, unknown> {
  try {
    const credential = JSON.parse(sent.text('credential')) as unknown
    if (typeof credential === 'object' && credential !== null) return credential as Record<string, unknown>
  } catch {
    // The script did not send this.
  }
  throw invalid('credential must be a JSON object')
}

/** The same answer with the challenge that it is for. */
export const answerOf = (sent: Sent) => ({
  challenge_id: sent.text('challenge'),
  credential: credentialOf(sent),
})
