import { parseUrl } from '@signet/address-guard/parse-url'
import { brandOf, type BrandConfig } from '@signet/brand'
import type { AppError } from '@signet/errors'
import type { ErrorRenderer } from '@signet/http'
import { durationText } from '@signet/language'
import { errorPage, pageAnswer } from '@signet/pages'
import type { Request } from 'express'
import { PageRefusal, refusalText } from './context/refusals.js'
import { textsFor } from './context/texts-for.js'
import { isUiKey, type UiTexts } from './texts.js'

type PageErrorConfig = BrandConfig & { apiExternalUrl: string; uiEnabled: boolean }

/** Errors of the pages, as pages. */
export const pageErrorRenderer = (config: PageErrorConfig): ErrorRenderer => ({
  bodyError: ({ kind }) =>
    kind === 'too_large'
      ? new PageRefusal('too_large', 'error.large-form', 'request_entity_too_large')
      : new PageRefusal('invalid', 'error.body'),
  notFound: () => new PageRefusal('not_found', 'error.nothing', 'not_found'),
  methodNotAllowed: () => new PageRefusal('method_not_allowed', 'error.method', 'method_not_allowed'),
  unexpected: (cause) => new PageRefusal('internal', 'error.unexpected', 'unexpected_failure', { cause }),
  render(error, req) {
    const t = textsFor(req)
    const { apiExternalUrl, uiEnabled } = config
    const base = new URL(apiExternalUrl).pathname.replace(/\/+$/, '')
    const page = errorPage(t, {
      title: titleOf(t, error),
      message: messageOf(t, error),
      home: wayOn(t, req, { base, apiExternalUrl, uiEnabled }, error),
    })
    const { headers = {}, body } = pageAnswer(page, {
      language: t.language,
      brand: brandOf(config),
      secure: apiExternalUrl.startsWith('https:'),
      ...(uiEnabled ? { icon: `${base}/ui/icon` } : {}),
    })
    return { headers, body }
  },
})

type Site = { base: string; apiExternalUrl: string; uiEnabled: boolean }

/** Back to the page whose form came too often, which still has what was typed; otherwise to the beginning. */
function wayOn(t: UiTexts, req: Request, { base, apiExternalUrl, uiEnabled }: Site, { kind }: AppError) {
  if (!uiEnabled) return undefined
  const referer = req.get('referer') ?? ''
  const from = parseUrl(referer)
  const isOurs = from?.origin === new URL(apiExternalUrl).origin && from.pathname.startsWith(`${base}/ui`)
  return kind === 'limited' && from !== null && isOurs
    ? { href: `${from.pathname}${from.search}`, label: t('error.back') }
    : { href: `${base}/ui`, label: t('sign-in') }
}

function titleOf(t: UiTexts, { kind }: AppError): string {
  const key = `error.title.${kind}`
  return t(isUiKey(key) ? key : 'error.title')
}

// Details of server errors are only for the log.
function messageOf(t: UiTexts, error: AppError): string {
  if (error.kind === 'internal') return t('error.unexpected')
  const { retryAfterSeconds } = error
  const again =
    error.kind === 'limited' && retryAfterSeconds !== undefined
      ? t('error.limited', { time: durationText(t.language, Math.ceil(retryAfterSeconds)) })
      : null
  return again ?? refusalText(t, error)
}
