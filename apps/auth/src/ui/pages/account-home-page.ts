import { dateTimeText } from '@signet/language'
import { html, notice, type Html, type Page } from '@signet/pages'
import { providerLabel } from '@signet/pages/provider-label'
import { withoutInvisible } from '@signet/pages/visible'
import type { SecurityEvent } from '../../account/security-events.js'
import type { Credential } from '../../webauthn/credential.js'
import type { Factor } from '../../users/user.js'
import type { UiKey, UiTexts } from '../texts.js'
import { foot, link } from './parts.js'

export type ShownSession = {
  id: string
  device: string
  ip: string
  createdAt: Date
  lastUsedAt: Date
  isCurrent: boolean
}

/** `pending`: the one that waits to be confirmed. */
type AddressEntry = { address: string | null; pending: string | null; href: string }

export type AccountHomeView = {
  address: string
  done?: string | undefined
  notice?: string | undefined
  email: AddressEntry | null
  phone: AddressEntry | null
  password: { isSet: boolean; href: string } | null
  /** Null where they are off. */
  passkeys: { held: readonly Credential[]; add: string | null } | null
  factors: readonly Factor[]
  addFactors: readonly { href: string; label: UiKey }[]
  recovery: { left: number; href: string } | null
  providers: {
    linked: readonly { id: string; provider: string; email: string | null; removable: boolean }[]
    linkable: readonly string[]
  } | null
  sessions: readonly ShownSession[]
  events: readonly (SecurityEvent & { key: UiKey })[]
  links: { export: string; delete: string | null; home: { url: string; name: string } }
  action: (below: string) => string
  fields: readonly Html[]
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
    ${providerSection(t, view)} ${sessionSection(t, view)} ${eventSection(t, view)} ${dataSection(t, view)}
    <form class="foot" method="post" action="${view.signOut.action}">
      ${view.signOut.fields}
      <button class="plain" type="submit">${t('sign-out')}</button>
    </form>
    ${foot(link(view.links.home.url, t('account.go-to', { site: view.links.home.name })))}`,
})

const shown = (parts: readonly (Html | null)[]): Html[] => parts.filter((part) => part !== null)

const section = (title: string, ...content: readonly (Html | null)[]): Html =>
  html`<section>
    <h2>${title}</h2>
    ${shown(content)}
  </section>`

const entries = (items: readonly Html[]): Html =>
  html`<ul class="entries">
    ${items.map((item) => html`<li>${item}</li>`)}
  </ul>`

const line = (title: string, more: string | null, ...actions: readonly (Html | null)[]): Html =>
  html`<p><strong>${title}</strong></p>
    ${more === null ? null : html`<p class="soft">${more}</p>`} ${shown(actions)}`

/** A form of one button. */
const button = (view: AccountHomeView, below: string, label: string, more: Html | null = null): Html =>
  html`<form method="post" action="${view.action(below)}">
    ${view.fields} ${more}
    <button class="plain" type="submit">${label}</button>
  </form>`

/** Asks again without a page of its own, and without a script. */
const guarded = (label: string, question: string, form: Html): Html =>
  html`<details>
    <summary>${label}</summary>
    <p>${question}</p>
    ${form}
  </details>`

const hiddenField = (name: string, value: string): Html =>
  html`<input type="hidden" name="${name}" value="${value}" />`

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

function passkeySection(t: UiTexts, view: AccountHomeView): Html | null {
  const { passkeys } = view
  if (passkeys === null) return null
  return section(
    t('me.passkeys'),
    passkeys.held.length === 0 ? html`<p class="soft">${t('me.passkeys.none')}</p>` : null,
    entries(passkeys.held.map((passkey) => passkeyEntry(t, view, passkey))),
    passkeys.add === null ? null : html`<p>${link(passkeys.add, t('passkey.create'))}</p>`,
  )
}

function passkeyEntry(t: UiTexts, view: AccountHomeView, passkey: Credential): Html {
  const { id, friendlyName, createdAt, lastUsedAt } = passkey
  const time = (at: Date) => dateTimeText(t.language, at)
  const added = time(createdAt)
  const name = withoutInvisible(friendlyName)
  const chosen = hiddenField('passkey', id)
  const renamed = html`${chosen} <label for="name-${id}">${t('me.passkey.name')}</label>
    <input id="name-${id}" name="name" autocomplete="off" maxlength="120" required value="${name}" />`
  return line(
    name,
    lastUsedAt === null
      ? t('me.added', { time: added })
      : t('me.passkey.used', { added, used: time(lastUsedAt) }),
    html`<details>
      <summary>${t('me.passkey.rename')}</summary>
      ${button(view, '/account/passkey/rename', t('me.passkey.rename-button'), renamed)}
    </details>`,
    guarded(
      t('me.remove'),
      t('me.passkey.remove-question'),
      button(view, '/account/passkey/remove', t('me.factor.remove'), chosen),
    ),
  )
}

function factorSection(t: UiTexts, view: AccountHomeView): Html {
  const { factors, addFactors, recovery } = view
  return section(
    t('me.factors'),
    factors.length === 0 ? html`<p class="soft">${t('me.factors.none')}</p>` : null,
    entries([
      ...factors.map((factor) =>
        line(
          nameOf(t, factor),
          factorText(t, factor),
          guarded(
            t('me.remove'),
            t('me.factor.remove-question'),
            button(view, '/account/factor/remove', t('me.factor.remove'), hiddenField('factor', factor.id)),
          ),
        ),
      ),
      ...(recovery === null
        ? []
        : [
            line(
              t('me.recovery'),
              t('me.recovery.left', { count: recovery.left }),
              link(recovery.href, t('me.recovery.open')),
            ),
          ]),
    ]),
    addFactors.length === 0
      ? null
      : html`<p class="choices">${addFactors.map(({ href, label }) => html`${link(href, t(label))} `)}</p>`,
  )
}

/** What kind it is, where its name may not say so. */
const factorText = (t: UiTexts, { factorType, phone, createdAt }: Factor): string =>
  [
    t(FACTOR_KINDS[factorType]),
    factorType === 'phone' && phone !== null ? `+${phone}` : null,
    t('me.added', { time: dateTimeText(t.language, createdAt) }),
  ]
    .filter((part) => part !== null)
    .join(' · ')

const FACTOR_KINDS = {
  totp: 'me.factor.totp',
  phone: 'me.factor.phone',
  webauthn: 'me.factor.key',
} as const satisfies Record<Factor['factorType'], UiKey>

const nameOf = (t: UiTexts, { factorType, friendlyName }: Factor): string =>
  withoutInvisible(friendlyName).trim() || t(FACTOR_KINDS[factorType])

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
                t('me.unlink.question', { provider: providerLabel(provider) }),
                button(view, '/account/unlink', t('me.unlink.button'), hiddenField('identity', id)),
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
            : button(view, '/account/session/end', t('sign-out'), hiddenField('session', session.id)),
        ),
      ),
    ),
    view.sessions.length < 2 ? null : button(view, '/account/sessions/end', t('me.sessions.end')),
  )
}

function eventSection(t: UiTexts, { events }: AccountHomeView): Html | null {
  if (events.length === 0) return null
  return section(
    t('me.events'),
    entries(
      events.map(({ key, factorType, byAdmin, ip, at }) =>
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
