import { hidden, html, notice, wideStyle, type Html, type Page } from '@signet/pages'
import type { Refusal } from '../handovers/handover-service.js'

export type Section = 'endpoints' | 'applications' | 'tokens' | 'events' | 'signatures' | null

type Shell = {
  title: string
  section: Section
  body: Html
  isLive: boolean
  refusal: Refusal | undefined
  /** What the form did that led here; only known words are shown. */
  done: string | undefined
  email: string
  signOut: { action: string; csrf: string }
  docs: string
  path: (below: string) => string
}

const SECTIONS: readonly (readonly [Exclude<Section, null>, path: string, label: string])[] = [
  ['endpoints', '', 'Endpoints'],
  ['applications', '/applications', 'Applications'],
  ['tokens', '/tokens', 'API tokens'],
  ['events', '/events', 'Events'],
  ['signatures', '/signatures', 'Signatures'],
]

const DONE: Readonly<Record<string, string>> = {
  saved: 'Saved.',
  enabled: 'The endpoint is active again.',
  deleted: 'The endpoint was deleted.',
  tested: 'A test event is on its way.',
  not_tested: 'No test event was sent: the endpoint is disabled.',
  activated: 'The new secret is the only one now.',
  cancelled: 'The waiting secret was forgotten.',
  replayed: 'The event is on its way again.',
  stopped: 'The recovery was stopped. What is queued is still sent.',
  revoked: 'Access was revoked.',
}

/** The frame of every page of the portal. */
export const portalPage = ({
  title,
  section,
  body,
  isLive,
  refusal,
  done,
  email,
  signOut,
  docs,
  path,
}: Shell): Page => ({
  title,
  polls: isLive,
  style: wideStyle,
  body: html`<nav aria-label="Portal">
      ${SECTIONS.map(
        ([name, below, label]) =>
          html`<a href="${path(below)}" aria-current="${name === section ? 'page' : 'false'}">${label}</a> `,
      )}
      <a href="${docs}">Docs</a>
    </nav>
    <h1>${title}</h1>
    ${done !== undefined && Object.hasOwn(DONE, done) && html`<p class="good" role="status">${DONE[done]}</p>`}
    ${notice(refusal?.message, refusal?.fault)} ${body}
    <footer>
      <form method="post" action="${signOut.action}">
        ${hidden({ csrf: signOut.csrf })}
        <span class="soft">${email === '' ? 'Signed in' : email}</span>
        <button class="link" type="submit">Sign out</button>
      </form>
    </footer>`,
})
