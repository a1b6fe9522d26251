import { dateTimeText } from '@signet/language'
import { html, notice, type Html, type Page } from '@signet/pages'
import { providerLabel } from '@signet/pages/provider-label'
import type { ShownActivity } from '../../account/shown-activity.js'
import type { UiKey, UiTexts } from '../texts.js'
import { FACTOR_KINDS, factorSection, passkeySection, type AccountKeys } from './account-key-sections.js'
import { button, entries, guarded, hiddenField, line, section } from './account-parts.js'
import { foot, link } from './parts.js'

export type ShownSession = {
  id: string
  device: string
  ip: string
  createdAt: Date
  lastUsedAt: Date
  isCurrent: boolean
}

/** `pending` is the new address that waits to be confirmed. */
type AddressEntry = { address: string | null; pending: string | null; href: string }

export type AccountHomeView = AccountKeys & {
  address: string
  done?: string | undefined
  notice?: string | undefined
  email: AddressEntry | null
  phone: AddressEntry | null
  password: { isSet: boolean; href: string } | null
  providers: {
    linked: readonly { id: string; provider: string; email: string | null; removable: boolean }[]
    linkable: readonly string[]
  } | null
  sessions: readonly ShownSession[]
  /** How many sessions are not shown. */
  moreSessions: number
  activity: readonly (ShownActivity & { key: UiKey })[]
  links: { export: string; delete: string | null; home: { url: string; name: string } }
  signOut: { action: string; fields: readonly Html[] }
}

const STYLE = `
main { max-width: 40rem }
body { place-items: start center; grid-template-columns: minmax(0, 1fr) }
.card section { margin-top: 2rem }
.card h2 { margin: 0 0 .5rem; font-size: 1.1rem }
.entries { margin: 0; padding: 0; list-style: none }
.entries li { padding: .75rem 0; border-top: 1px solid var(--line); overflow-wrap: anywhere }
.entries p { margin: 0 }
.entries form, .entries details { margin: .25rem 0 0 }
.entries button { width: auto; margin: .4rem 0 0; padding: .45rem .9rem }
.choices { display: flex; flex-wrap: wrap; gap: .5rem 1.25rem }
summary { cursor: pointer; color: var(--accent); padding: .25rem 0 }
`

export const accountHomePage = (t: UiTexts, view: AccountHomeView): Page => ({
  title: t('me.title'),
  style: STYLE,
  body: html`<h1>${t('me.title')}</h1>
    <p class="soft"><bdi>${view.address}</bdi></p>
    ${view.done === undefined ? null : html`<p class="good" role="status">${view.done}</p>`}
    ${notice(view.notice)} ${signInSection(t, view)} ${passkeySection(t, view)} ${factorSection(t, view)}
    ${providerSection(t, view)} ${sessionSection(t, view)} ${activitySection(t, view)} ${dataSection(t, view)}
    <form class="foot" method="post" action="${view.signOut.action}">
      ${view.signOut.fields}
      <button class="plain" type="submit">${t('sign-out')}</button>
    </form>
    ${foot(link(view.links.home.url, t('account.go-to', { site: view.links.home.name })))}`,
})

function signInSection(t: UiTexts, { email, phone, password }: AccountHomeView): Html {
  return section(
    t('me.sign-in'),
    entries([
      ...(email === null ? [] : [addressEntry(t, email, 'address.email', 'me.email.change')]),
      ...(phone === null ? [] : [addressEntry(t, phone, 'address.phone', 'me.phone.change')]),
      ...(password === null
        ? []
        : [
            line(
              t('password'),
              t(password.isSet ? 'me.password.set' : 'me.none'),
              link(password.href, t('account.change-password')),
            ),
          ]),
    ]),
  )
}

const addressEntry = (
  t: UiTexts,
  { address, pending, href }: AddressEntry,
  label: UiKey,
  change: UiKey,
): Html =>
  line(
    t(label),
    address ?? t('me.none'),
    pending === null ? null : html`<p>${t('me.waiting', { address: pending })}</p>`,
    link(href, t(change)),
  )

function providerSection(t: UiTexts, view: AccountHomeView): Html | null {
  const { providers } = view
  if (providers === null) return null
  return section(
    t('me.providers'),
    entries([
      ...providers.linked.map(({ id, provider, email, removable }) =>
        line(
          providerLabel(provider),
          email,
          removable
            ? guarded(
                t('me.unlink'),
                entryOf(providerLabel(provider), email),
                t('me.unlink.question', { provider: providerLabel(provider) }),
                button(
                  view,
                  '/account/unlink',
                  t('me.unlink.button'),
                  hiddenField('identity', id),
                  entryOf(providerLabel(provider), email),
                ),
              )
            : null,
        ),
      ),
      ...providers.linkable.map((name) =>
        button(
          view,
          '/account/link',
          t('me.link', { provider: providerLabel(name) }),
          hiddenField('provider', name),
        ),
      ),
    ]),
  )
}

const entryOf = (...parts: readonly (string | null)[]): string => parts.filter(Boolean).join(', ')

function sessionSection(t: UiTexts, view: AccountHomeView): Html {
  const time = (at: Date) => dateTimeText(t.language, at)
  return section(
    t('me.sessions'),
    entries(
      view.sessions.map((session) =>
        line(
          session.device,
          t('me.session', {
            ip: session.ip === '' ? t('me.unknown-address') : session.ip,
            created: time(session.createdAt),
            used: time(session.lastUsedAt),
          }),
          session.isCurrent
            ? html`<p>${t('me.session.this')}</p>`
            : button(
                view,
                '/account/session/end',
                t('sign-out'),
                hiddenField('session', session.id),
                `${session.device}. ${t('me.session.signed-in', { time: time(session.createdAt) })}`,
              ),
        ),
      ),
    ),
    view.moreSessions === 0
      ? null
      : html`<p class="soft">${t('me.sessions.more', { number: String(view.moreSessions) })}</p>`,
    view.sessions.length < 2 ? null : button(view, '/account/sessions/end', t('me.sessions.end')),
  )
}

function activitySection(t: UiTexts, { activity }: AccountHomeView): Html | null {
  if (activity.length === 0) return null
  return section(
    t('me.activity'),
    entries(
      activity.map(({ key, factorType, byAdmin, ip, at }) =>
        line(
          factorType === null ? t(key) : `${t(key)}: ${t(FACTOR_KINDS[factorType])}`,
          [dateTimeText(t.language, at), byAdmin ? t('me.by-admin') : ip]
            .filter((part) => part !== '')
            .join(' · '),
        ),
      ),
    ),
  )
}

const dataSection = (t: UiTexts, { links }: AccountHomeView): Html =>
  section(
    t('me.data'),
    html`<p>${link(links.export, t('me.export'))}</p>`,
    links.delete === null ? null : html`<p>${link(links.delete, t('me.delete'))}</p>`,
  )
