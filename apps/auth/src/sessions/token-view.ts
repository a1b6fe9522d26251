import { userView } from '../users/user-view.js'
import type { AccessTokens } from './access-tokens.js'
import type { SignedIn } from './session.js'

/** The token response of docs/specification.md#shapes. */
export async function tokenView(tokens: AccessTokens, signedIn: SignedIn, now: Date) {
  const accessToken = await tokens.issue(signedIn, now)
  return {
    access_token: accessToken.text,
    token_type: 'bearer',
    expires_in: accessToken.expiresIn,
    expires_at: accessToken.expiresAt,
    refresh_token: signedIn.refreshToken,
    user: userView(signedIn.user),
  }
}
