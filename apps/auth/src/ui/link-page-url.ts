import type { AuthConfig } from '../config/config.js'
import type { LinkPage } from '../verify/follow-link.js'
import { uiReturnUrl } from './return-url.js'

type LinkPageConfig = Pick<AuthConfig, 'uiEnabled' | 'uiLinkConfirmation' | 'apiExternalUrl'>

/**
 * Mail gateways and chat previews open the links in messages, so a link that works with a single GET may be used up before the person sees
 * it. A page in between prevents that. Applications of the API expect a single GET to work, so their links have no page unless the settings
 * say so.
 */
export function linkPage(config: LinkPageConfig): LinkPage {
  const { uiEnabled, uiLinkConfirmation: which, apiExternalUrl } = config
  if (!uiEnabled || which === 'off') return () => null
  const ownPage = uiReturnUrl(config)
  const page = `${apiExternalUrl.replace(/\/+$/, '')}/ui/link`
  return ({ type, token, target }) => {
    const [base = '', query = ''] = target.split('?', 2)
    // The pages' own return URL carries the context.
    if (base === ownPage) return `${page}?${withLink(query, type, token)}`
    return which === 'all' ? `${page}?${withLink('', type, token)}&${paramOf('redirect_to', target)}` : null
  }
}

const paramOf = (name: string, value: string): string => String(new URLSearchParams({ [name]: value }))

function withLink(query: string, type: string, token: string): string {
  const parameters = new URLSearchParams(query)
  parameters.set('type', type)
  parameters.set('token', token)
  return String(parameters)
}
