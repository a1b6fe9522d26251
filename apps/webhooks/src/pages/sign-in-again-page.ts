import { html, type Page } from '@signet/pages'

/** Before consent when nobody is signed in any more. A page, not a redirect: a sign-in that does not count must not go in circles. */
export const signInAgainPage = ({ clientName, href }: { clientName: string; href: string }): Page => ({
  title: 'Sign in',
  body: html`<h1>Sign in to continue</h1>
    <p class="soft">
      to <strong><bdi>${clientName}</bdi></strong>
    </p>
    <p><a class="button" href="${href}">Sign in</a></p>`,
})
