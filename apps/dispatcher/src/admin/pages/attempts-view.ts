import { facts, html, time, type Html } from '@signet/pages'
import type { Attempt } from '../../deliveries/attempt-store.js'

const PHASES = [
  ['dns', 'name resolved after'],
  ['connect', 'connected after'],
  ['tls', 'encrypted after'],
  ['first_byte', 'first byte after'],
] as const

/** Attempts with their phases and the beginning of each answer. */
export const attemptsView = (attempts: readonly Attempt[]): Html =>
  attempts.length === 0 ? html`<p class="soft">No attempt yet.</p>` : html`${attempts.map(attemptView)}`

function attemptView({
  number,
  startedAt,
  durationMs,
  httpStatus,
  error,
  facts: met,
  answer,
}: Attempt): Html {
  return html`<section>
    <h3>Attempt ${number}: ${error === '' ? 'delivered' : html`<code class="bad">${error}</code>`}</h3>
    ${facts([
      ['', time(startedAt)],
      ['took', `${durationMs} ms`],
      ['status', httpStatus],
      ['address', met.peer ?? null],
      ...PHASES.map(([name, label]) => [label, met[name] === undefined ? null : `${met[name]} ms`] as const),
    ])}
    ${answer !== '' && html`<pre tabindex="0" aria-label="Beginning of the answer to attempt ${number}">${answer}</pre>`}
  </section>`
}
