import { hidden, html, type Page } from '@signet/pages'

export type LandingView = {
  /** Who is signed in, and how to sign out; null when nobody is. */
  person: { email: string; signOut: { action: string; csrf: string } } | null
  links: { portal: string; signIn: string; docs: string }
}

/** What somebody sees who opens the bare address of the service. */
export const landingPage = ({ person, links }: LandingView): Page => ({
  title: 'Signet webhooks',
  body: html`<h1>Signet webhooks</h1>
    <p>
      Connects applications to your account, and tells other systems what happens, as signed HTTPS requests.
    </p>
    ${
      person === null
        ? html`<p><a class="button" href="${links.signIn}">Sign in</a></p>`
        : html`<p class="soft">
              Signed in${person.email === '' ? null : html` as <strong>${person.email}</strong>`}.
            </p>
            <p><a class="button" href="${links.portal}">Open the portal</a></p>
            <form method="post" action="${person.signOut.action}">
              ${hidden({ csrf: person.signOut.csrf })}
              <button class="plain" type="submit">Sign out</button>
            </form>`
    }
    <p class="links foot"><a href="${links.docs}">API documentation</a></p>`,
})
