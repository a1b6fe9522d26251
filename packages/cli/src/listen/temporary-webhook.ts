import type { ApiClient } from '../api/api-client.js'
import { CliError, RefusedError } from '../errors.js'
import type { Output } from '../output/output.js'
import { adviseToCheck, isAboutUrl, sayOption } from '../webhooks/change-commands.js'

export type TemporaryWebhook = { id: string; secret: string; delete: () => Promise<void> }

const PRIVATE_HINT =
  'A service on the internet cannot reach this computer: use a tunnel and give its address with --public-url. ' +
  'A service in development accepts private addresses with WEBHOOKS_ALLOW_PRIVATE_TARGETS=true.'

export async function createTemporaryWebhook(
  api: ApiClient,
  { url, publicUrl, events }: { url: string; publicUrl: string | undefined; events: string[] },
  output: Output,
): Promise<TemporaryWebhook> {
  const { endpoint_id: id, secret } = await api
    .createWebhook({ url: publicUrl ?? url, events })
    .catch((error: unknown) => {
      if (!isAboutUrl(error)) return adviseToCheck(error)
      if (publicUrl !== undefined) return sayOption('--public-url')(error)
      error.hint = PRIVATE_HINT
      return sayOption('The address of this receiver')(error)
    })
  return { id, secret, delete: () => deleteWebhook(api, id, output) }
}

/** A webhook that has already been deleted elsewhere counts as deleted. */
async function deleteWebhook(api: ApiClient, id: string, output: Output): Promise<void> {
  try {
    await api.deleteWebhook(id)
  } catch (error) {
    if (error instanceof RefusedError && error.code === 'not_found') return
    if (error instanceof CliError)
      output.warn(`The temporary webhook ${id} still exists: \`signet webhooks delete ${id}\``)
    throw error
  }
}
