import { brandOf, type BrandConfig } from '@signet/brand'
import { route, type Route } from '@signet/http'
import { pageAnswer } from '@signet/pages'
import type { Cookies } from '../requests/cookies.js'
import { docs, query } from '../requests/docs.js'
import { requestLanguage } from '../requests/request-language.js'
import { isSameOrigin } from '../requests/same-origin.js'
import { redirect } from './callback-answer.js'
import type { FlowCookies } from './flow-cookies.js'
import { CONFIRM_PATH, LinkRefusal, type LinkConfirmation, type PendingLink } from './link-confirmation.js'
import { linkPage } from './link-page.js'
import { textsOf } from './provider-routes.js'

type Deps = {
  linkConfirmation: LinkConfirmation
  flowCookies: FlowCookies
  cookies: Cookies
  config: BrandConfig & { apiExternalUrl: string }
}

const MAX_FORM_BYTES = 16 * 1024

/** The confirmation page, which people see after requesting a sign-in method and before they go to the provider. */
export function linkRoutes({ linkConfirmation, flowCookies, cookies, config }: Deps): Route[] {
  const { pathname, origin, protocol } = new URL(`${config.apiExternalUrl}${CONFIRM_PATH}`)
  const linkOf = (values: Readonly<Record<string, string>>): PendingLink => {
    const link = linkConfirmation.read(values['link'] ?? '')
    if (link === null) throw new LinkRefusal('over')
    return link
  }
  return [
    route({
      method: 'get',
      path: CONFIRM_PATH,
      docs: docs('getLinkConfirmation', 'Ask for confirmation before adding a sign-in method', {
        tag: 'Account',
        parameters: [query('link', 'From `GET /user/identities/authorize`.', true)],
        answer: { description: 'An HTML page', schema: 'Page', mediaType: 'text/html' },
        errors: [400],
      }),
      handle({ req, res }) {
        const values = textsOf(req.query)
        const link = linkOf(values)
        const browserId = linkConfirmation.newBrowserId()
        cookies.set(res, cookieOf(link), browserId)
        const fields = { link: values['link'] ?? '', csrf: linkConfirmation.formToken(browserId, link) }
        const language = requestLanguage(req)
        const page = linkPage(language, { ...link, action: pathname, fields })
        return pageAnswer(page, { language, brand: brandOf(config), secure: protocol === 'https:' })
      },
    }),
    route<undefined, Record<string, unknown>>({
      method: 'post',
      path: CONFIRM_PATH,
      docs: docs('confirmLink', 'Continue to the provider', {
        tag: 'Account',
        body: {
          type: 'object',
          description: 'The fields of the page',
          required: ['link', 'csrf'],
          properties: {
            link: { type: 'string', examples: ['eyJzIjoiMSJ9.c2lnbmF0dXJl'] },
            csrf: { type: 'string', examples: ['c2lnbmF0dXJl'] },
          },
        },
        answer: { status: 303, description: 'To the provider' },
        errors: [400, 403],
      }),
      body: { as: 'form', maxBytes: MAX_FORM_BYTES, optional: true },
      handle({ req, res, body }) {
        const values = textsOf(body)
        const link = linkOf(values)
        const browserId = cookies.read(req, cookieOf(link)) ?? ''
        const isOurs = linkConfirmation.isFormToken(values['csrf'] ?? '', browserId, link)
        if (!isOurs || !isSameOrigin(req, origin)) throw new LinkRefusal('foreign')
        cookies.clear(res, cookieOf(link))
        flowCookies.give(res, link)
        return redirect(303, link.url)
      },
    }),
  ]
}

const cookieOf = ({ state }: PendingLink): string => `signet_link_${state}`
