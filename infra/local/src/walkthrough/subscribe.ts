import { expectJson, send, tell } from './http.js'
import { setHook } from './receiver-client.js'
import type { Connection, Subscription, World } from './world.js'

/** c. Create a webhook for the local HTTPS receiver. */
export async function subscribe(
  world: World,
  { accessToken }: Connection,
  name: string,
): Promise<Subscription> {
  const path = `/hooks/${name}`
  const url = await setHook(world, path, {})
  const answer = await send('POST', `${world.webhooksUrl}/v1/webhooks`, {
    at: 'webhooks',
    bearer: accessToken,
    json: { url, events: ['summary.completed'] },
  })
  const created = expectJson<{ endpoint_id: string; secret: string }>(answer, 200)
  await setHook(world, path, { secret: created.secret })
  tell(`Webhook ${created.endpoint_id} sends summary.completed to ${url}.`)
  tell('Its signing secret was shown once; the receiver keeps it and refuses everything it does not sign.')
  return { endpointId: created.endpoint_id, secret: created.secret, url, path }
}
