import { invalid } from '../../errors/auth-error.js'
import type { Sent } from './sign-in-pages.js'

/** The answer of the browser, as the script of the page put it into the form. */
export function credentialOf(sent: Sent): Record<string, unknown> {
  try {
    const credential = JSON.parse(sent.text('credential')) as unknown
    if (typeof credential === 'object' && credential !== null) return credential as Record<string, unknown>
  } catch {
    // Not from the script.
  }
  throw invalid('credential must be a JSON object')
}

/** The same, and the challenge that it answers. */
export const answerOf = (sent: Sent) => ({
  challenge_id: sent.text('challenge'),
  credential: credentialOf(sent),
})
