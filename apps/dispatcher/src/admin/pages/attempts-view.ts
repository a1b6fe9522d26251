import { facts, html, time, type Html } from '@signet/pages'
import type { Attempt } from '../../deliveries/attempt-store.js'
import type { AdminTexts } from './texts.js'

const PHASES = ['dns', 'connect', 'tls', 'first_byte'] as const

/** Attempts with their phases and the beginning of each answer. */
export const attemptsView = (t: AdminTexts, attempts: readonly Attempt[]): Html =>
  attempts.length === 0
    ? html`<p class="soft">${t('attempt.none')}</p>`
    : html`${attempts.map((attempt) => attemptView(t, attempt))}`

function attemptView(
  t: AdminTexts,
  { number, startedAt, durationMs, httpStatus, error, facts: met, answer }: Attempt,
): Html {
  return html`<section>
    <h3>
      ${
        error === ''
          ? t('attempt.delivered', { number })
          : t.html('attempt.failed', { number, reason: html`<code class="bad">${error}</code>` })
      }
    </h3>
    ${facts([
      ['', time(startedAt, t.language)],
      [t('attempt.took'), `${durationMs} ms`],
      [t('attempt.status'), httpStatus],
      [t('attempt.tls-problem'), met.tls_problem ?? null],
      [t('attempt.address'), met.peer ?? null],
      ...PHASES.map(
        (name) => [t(`attempt.phase.${name}`), met[name] === undefined ? null : `${met[name]} ms`] as const,
      ),
    ])}
    ${answer !== '' && html`<pre tabindex="0" aria-label="${t('attempt.answer', { number })}">${answer}</pre>`}
  </section>`
}
