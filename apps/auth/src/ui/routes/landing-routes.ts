import { route, type Route } from '@signet/http'
import { formScript } from '@signet/pages'
import { pageDocs } from '../context/sign-in-pages.js'
import { siteName } from '../context/sign-in-context.js'
import type { UiDeps } from '../context/ui-deps.js'
import { passkeyScript } from '../passkey-script.js'
import { landingPage } from '../pages/landing-page.js'

/** The start page of the service, and the files that its pages load. */
export const landingRoutes = ({ pages, ways, siteUrl, icon }: UiDeps): Route[] => [
  route({
    method: 'get',
    path: '/',
    docs: pageDocs('Say what this is'),
    handle({ req }) {
      const t = pages.texts(req)
      const site = siteName(t, siteUrl)
      const signUp = ways.signUp ? pages.action('/sign-up') : null
      return pages.render(t, landingPage(t, { site, siteUrl, signIn: pages.action(''), signUp }))
    },
  }),
  route({
    method: 'get',
    path: '/ui/form.js',
    docs: pageDocs('The script of the pages'),
    handle: () => formScript.answer,
  }),
  route({
    method: 'get',
    path: '/ui/passkey.js',
    docs: pageDocs('The script for passkeys and security keys'),
    handle: () => passkeyScript.answer,
  }),
  ...['/ui/icon', '/favicon.ico'].map((path) =>
    route({ method: 'get', path, docs: pageDocs('The icon of the pages'), handle: () => icon }),
  ),
]
