import { contentHeading, hidden, html, notice, wideStyle, type Html, type Page } from '@signet/pages'
import type { Refusal } from '../handovers/handover-service.js'
import type { Texts } from '../pages/texts.js'
import { refusalText } from './refusal.js'

export type Section = 'endpoints' | 'applications' | 'tokens' | 'events' | 'signatures' | null

type Shell = {
  title: string
  section: Section
  body: Html
  isLive: boolean
  refusal: Refusal | undefined
  /** What the form that led here did. Only known values are shown. */
  done: string | undefined
  email: string
  /** Where people manage passwords, passkeys and so on. */
  account: string | null
  signOut: { action: string; csrf: string }
  docs: string
  path: (below: string) => string
}

const SECTIONS: readonly (readonly [Exclude<Section, null>, path: string])[] = [
  ['endpoints', ''],
  ['applications', '/applications'],
  ['tokens', '/tokens'],
  ['events', '/events'],
  ['signatures', '/signatures'],
]

const DONE = [
  'saved',
  'enabled',
  'deleted',
  'tested',
  'not_tested',
  'activated',
  'cancelled',
  'replayed',
  'stopped',
  'revoked',
  'signed_out',
] as const
/** Values of `done` that say that something did not happen. */
const UNDONE: readonly string[] = ['not_tested', 'signed_out']

/** The frame of every page of the portal. */
export const portalPage = (
  t: Texts,
  { title, section, body, isLive, refusal, done, email, account, signOut, docs, path }: Shell,
): Page => ({
  title,
  polls: isLive,
  style: wideStyle,
  body: html`<nav aria-label="${t('portal.nav.label')}">
      ${SECTIONS.map(
        ([name, below]) =>
          html`<a href="${path(below)}" aria-current="${name === section ? 'page' : 'false'}"
            >${t(`portal.nav.${name}`)}</a
          > `,
      )}
      <a href="${docs}">${t('portal.nav.docs')}</a>
    </nav>
    ${contentHeading(title)} ${doneNotice(t, done)}
    ${refusal && notice(refusalText(t, refusal), refusal.fault)} ${body}
    <footer>
      <form method="post" action="${signOut.action}">
        ${hidden({ csrf: signOut.csrf })}
        <span class="soft">${email === '' ? t('consent.signed-in') : email}</span>
        ${account !== null && html`<a href="${account}">${t('portal.account')}</a>`}
        <button class="link" type="submit">${t('sign-out')}</button>
      </form>
    </footer>`,
})

function doneNotice(t: Texts, given: string | undefined): Html | undefined {
  const done = DONE.find((known) => known === given)
  const look = UNDONE.includes(done ?? '') ? 'notice' : 'good'
  return done && html`<p class="${look}" role="status">${t(`portal.done.${done}`)}</p>`
}
