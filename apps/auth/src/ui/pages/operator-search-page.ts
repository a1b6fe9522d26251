import { contentHeading, html, table, time, wideStyle, type Html, type Page } from '@signet/pages'
import { isBanned, type User } from '../../users/user.js'
import type { UiTexts } from '../texts.js'

export type OperatorLinks = {
  search: string
  audit: string
  userPath: (id: string) => string
  signOut: string
}

type Content = { title: string; body: Html; query?: string }

/** The layout that all pages for operators share. */
export const operatorPage = (
  t: UiTexts,
  { search, audit, signOut }: OperatorLinks,
  { title, body, query = '' }: Content,
): Page => ({
  title: t('op.title', { title }),
  style: wideStyle,
  body: html`<nav aria-label="${t('op.nav')}">
      <a href="${search}">${t('op.people')}</a>
      <a href="${audit}">${t('op.audit')}</a>
      <a href="${signOut}">${t('op.sign-out')}</a>
    </nav>
    <form method="get" action="${search}" role="search" class="filters">
      <div>
        <label for="q">${t('op.search.for')}</label>
        <input
          id="q"
          name="q"
          value="${query}"
          autocomplete="off"
          autocapitalize="none"
          spellcheck="false"
          maxlength="320"
        />
      </div>
      <div><button type="submit">${t('op.search')}</button></div>
    </form>
    ${contentHeading(title)} ${body}`,
})

type SearchView = OperatorLinks & { query: string; found: readonly User[] | null; now: Date }

export const operatorSearchPage = (t: UiTexts, { query, found, now, ...links }: SearchView): Page =>
  operatorPage(t, links, {
    title: t('op.people'),
    query,
    body:
      found === null
        ? html`<p class="soft">${t('op.kept')}</p>`
        : table(
            t('op.people'),
            [t('op.person'), t('op.user-id'), t('op.last-sign-in'), t('op.state')],
            found.map((user) => [
              html`<a href="${links.userPath(user.id)}">${nameOf(t, user)}</a>`,
              html`<code>${user.id}</code>`,
              html`${time(user.lastSignInAt, t.language)}`,
              html`${stateOf(t, user, now)}`,
            ]),
            t,
          ),
  })

/** Shown if a person does not exist, or no longer does. */
export const nobodyPage = (t: UiTexts, links: OperatorLinks): Page =>
  operatorPage(t, links, {
    title: t('op.nobody'),
    body: html`<p>${t('op.nobody.text')}</p>
      <p><a href="${links.search}">${t('op.nobody.back')}</a></p>`,
  })

export const nameOf = (t: UiTexts, { email, phone }: User): string =>
  email ?? (phone === null ? t('op.guest') : `+${phone}`)

export function stateOf(t: UiTexts, user: User, now: Date): string {
  if (user.deletedAt !== null) return t('op.deleted')
  if (isBanned(user, now)) return t('op.banned')
  if (user.deletionDueAt !== null) return t('op.state.deletion-due')
  const isConfirmed = user.emailConfirmedAt !== null || user.phoneConfirmedAt !== null
  return t(isConfirmed ? 'op.state.active' : 'op.state.unconfirmed')
}

/** Shown to administrators who have not used a second factor. */
export const needsFactorPage = (t: UiTexts, accountPath: string): Page => ({
  title: t('op.needs-factor'),
  body: html`<h1>${t('op.needs-factor')}</h1>
    <p>${t('op.needs-factor.text')}</p>
    <p><a class="button" href="${accountPath}">${t('op.account')}</a></p>`,
})
