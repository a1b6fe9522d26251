import type { Route } from '@signet/http'
import { html } from '@signet/pages'
import { definitionOf, eventTypes } from '@signet/webhook-core'
import type { SampleService } from '../samples/sample-service.js'
import { portalGet, type PortalDeps } from './portal-kit.js'

/** The catalogue: every event type with a sample, taken from the account's own events if there are any. */
export const eventRoutes = (deps: PortalDeps & { samples: SampleService }): Route[] => [
  portalGet(deps, '/events', 'Event catalogue with samples', async (portal) => {
    const { t } = portal
    const samples = await Promise.all(
      eventTypes.map(async (type) => ({
        type,
        sample: (await deps.samples.list(portal.accountId, type, { limit: 1, maxLength: MAX_READ }))[0] ?? '',
      })),
    )
    const body = html`${samples.map(
      ({ type, sample }) =>
        html`<section class="entry">
          <h2><code>${type}</code></h2>
          <p>${t('portal.events.sent-when', { what: definitionOf(type).sentWhen[t.language] })}</p>
          <pre tabindex="0" aria-label="${t('portal.events.sample', { type })}">${beginningOf(sample)}</pre>
        </section>`,
    )}`
    return portal.render({ title: t('portal.events.title'), section: 'events', body })
  }),
]

/** Maximum characters of an event that the page reads, and that it shows. */
const MAX_READ = 50_000
const MAX_SHOWN = 10_000

/** Indents the event, unless it is longer than the page reads: JSON that was cut cannot be parsed. */
function beginningOf(text: string): string {
  const isWhole = text.length < MAX_READ
  return (isWhole ? JSON.stringify(JSON.parse(text), null, 2) : text).slice(0, MAX_SHOWN)
}
