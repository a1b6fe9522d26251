import type { WebhookEvent } from '@signet/webhook-verify'
import type { DeliveryView, Hook } from '../receiver/index.js'
import { waitUntil } from '../wait-until.js'
import { call, check } from './http.js'
import type { Walk, World } from './world.js'

/** Tells the receiver what a path expects and how it is to answer; returns the address for a subscription. */
export async function setHook(world: World, path: string, hook: Hook): Promise<string> {
  const request = { json: { path, ...hook }, quiet: true }
  return (await call<{ url: string }>(world, 'PUT', `${world.sandboxUrl}/api/hooks`, request)).url
}

/** Waits for the next deliveries of one event type after a given one, and requires that they verified. */
export async function awaitDeliveries(
  { world, subscription }: Walk,
  { type, after, count = 1 }: { type: string; after: number; count?: number },
): Promise<DeliveryView[]> {
  const url = `${world.sandboxUrl}/api/deliveries?path=${subscription.path}&after=${after}`
  const deliveries = await waitUntil(
    async () => {
      const { items } = await call<{ items: DeliveryView[] }>(world, 'GET', url, { quiet: true })
      const wanted = items.filter(({ headers }) => headers['x-service-event'] === type)
      return wanted.length >= count ? wanted : undefined
    },
    { describe: `${type} at the receiver` },
  )
  for (const { verified, refusal } of deliveries)
    check(verified === true, `the signature is right (${refusal})`)
  return deliveries
}

/** The event as the receiver got it, parsed from the bytes it verified. */
export const eventOf = (world: World, { number }: DeliveryView): Promise<WebhookEvent> =>
  call(world, 'GET', `${world.sandboxUrl}/api/deliveries/${number}`, { quiet: true })
