import { html, type Page } from '@signet/pages'
import { foot, link } from './parts.js'

export type LandingView = { site: string; siteUrl: string; signIn: string; signUp: string | null }

/** For people who open the address of the service itself. */
export const landingPage = ({ site, siteUrl, signIn, signUp }: LandingView): Page => ({
  title: `Accounts of ${site}`,
  body: html`<h1>Accounts of <bdi>${site}</bdi></h1>
    <p>
      This is where people sign in to ${site} and to the applications that use its accounts. Passwords are
      typed here and nowhere else.
    </p>
    <a class="button" href="${signIn}">Sign in</a>
    ${foot(signUp === null ? null : link(signUp, 'Create an account'), link(siteUrl, `Go to ${site}`))}`,
})
