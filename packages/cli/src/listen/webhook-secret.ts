import { secretsOf } from '@signet/webhook-verify'
import type { Settings } from '../command/settings.js'
import { UsageError } from '../errors.js'

/** Returns the secret from SIGNET_WEBHOOK_SECRET. It is checked first, because with an invalid secret every delivery would be refused. */
export function webhookSecretOf({ webhookSecret }: Settings): string | undefined {
  if (webhookSecret === undefined) return undefined
  try {
    secretsOf(webhookSecret)
  } catch (error) {
    throw new UsageError('SIGNET_WEBHOOK_SECRET is not a webhook secret', {
      cause: error,
      hint: 'Give it in full, as it was shown when the webhook was created: whsec_ and about 44 characters.',
    })
  }
  return webhookSecret
}
