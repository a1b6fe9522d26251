import { html, table, time, wideStyle, type Html, type Page } from '@signet/pages'
import { isBanned, type User } from '../../users/user.js'

export type OperatorLinks = {
  search: string
  audit: string
  userPath: (id: string) => string
  signOut: string
}

type Content = { title: string; body: Html; query?: string }

/** The frame of the pages for operators. */
export const operatorPage = (
  { search, audit, signOut }: OperatorLinks,
  { title, body, query = '' }: Content,
): Page => ({
  title: `${title} · Operator`,
  style: wideStyle,
  body: html`<nav aria-label="Operator">
      <a href="${search}">People</a>
      <a href="${audit}">Audit log</a>
      <a href="${signOut}">Sign out</a>
    </nav>
    <form method="get" action="${search}" role="search" class="filters">
      <div>
        <label for="q">Email, phone number, id or name</label>
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
      <div><button type="submit">Search</button></div>
    </form>
    <h1>${title}</h1>
    ${body}`,
})

type SearchView = OperatorLinks & { query: string; found: readonly User[] | null; now: Date }

export const operatorSearchPage = ({ query, found, now, ...links }: SearchView): Page =>
  operatorPage(links, {
    title: 'People',
    query,
    body:
      found === null
        ? html`<p class="soft">
            What you do here is kept with your name. A part of an address or name finds the newest 50 who
            match.
          </p>`
        : table(
            'People',
            ['Person', 'Id', 'Last sign-in', 'State'],
            found.map((user) => [
              html`<a href="${links.userPath(user.id)}">${nameOf(user)}</a>`,
              html`<code>${user.id}</code>`,
              html`${time(user.lastSignInAt)}`,
              html`${stateOf(user, now)}`,
            ]),
          ),
  })

export const nameOf = ({ email, phone }: User): string => email ?? (phone === null ? 'a guest' : `+${phone}`)

export function stateOf(user: User, now: Date): string {
  if (user.deletedAt !== null) return 'Deleted'
  if (isBanned(user, now)) return 'Blocked'
  if (user.deletionDueAt !== null) return 'About to be deleted'
  return user.emailConfirmedAt === null && user.phoneConfirmedAt === null ? 'Not confirmed' : 'Active'
}

/** For administrators who have not shown a second factor. */
export const needsFactorPage = (accountPath: string): Page => ({
  title: 'A second factor is needed',
  body: html`<h1>A second factor is needed</h1>
    <p>These pages open only to administrators who have signed in with a second factor.</p>
    <p><a class="button" href="${accountPath}">Go to your account</a></p>`,
})
