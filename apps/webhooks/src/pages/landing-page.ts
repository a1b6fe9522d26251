import { hidden, html, type Page } from '@signet/pages'
import type { Texts } from './texts.js'

export type LandingView = {
  product: string
  /** Who is signed in, and how to sign out. Null if nobody is. */
  person: { email: string; signOut: { action: string; csrf: string } } | null
  links: { portal: string; signIn: string; docs: string }
}

/** The page at the service's base URL. */
export const landingPage = (t: Texts, { product, person, links }: LandingView): Page => ({
  title: t('landing.title', { product }),
  body: html`<h1>${t('landing.title', { product })}</h1>
    <p>${t('landing.about')}</p>
    ${
      person === null
        ? html`<p><a class="button" href="${links.signIn}">${t('sign-in')}</a></p>`
        : html`<p class="soft">
              ${person.email === '' ? t('landing.signed-in') : t.html('landing.signed-in-as', { email: person.email })}
            </p>
            <p><a class="button" href="${links.portal}">${t('landing.portal')}</a></p>
            <form method="post" action="${person.signOut.action}">
              ${hidden({ csrf: person.signOut.csrf })}
              <button class="plain" type="submit">${t('sign-out')}</button>
            </form>`
    }
    <p class="links foot"><a href="${links.docs}">${t('landing.docs')}</a></p>`,
})
