import { brandOf, type BrandConfig } from '@signet/brand'
import type { AppError } from '@signet/errors'
import type { ErrorRenderer } from '@signet/http'
import { errorPage, pageAnswer } from '@signet/pages'
import type { Request } from 'express'
import { refererPage } from './context/referer-page.js'
import { PageRefusal, refusalText, waitText } from './context/refusals.js'
import { StaleForm } from './context/stale-form.js'
import { textsFor } from './context/texts-for.js'
import { isUiKey, type UiTexts } from './texts.js'

type PageErrorConfig = BrandConfig & { apiExternalUrl: string; uiEnabled: boolean }

/** Renders errors as pages. */
export const pageErrorRenderer = (config: PageErrorConfig): ErrorRenderer => ({
  bodyError: ({ kind }) =>
    kind === 'too_large'
      ? new PageRefusal('too_large', 'error.large-form', 'request_entity_too_large')
      : new PageRefusal('invalid', 'error.body'),
  notFound: () => new PageRefusal('not_found', 'refusal.not_found', 'not_found'),
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

/** If a form was sent too often or too late, leads back to its page with what was typed. Otherwise leads to the first page. */
function wayOn(t: UiTexts, req: Request, { base, apiExternalUrl, uiEnabled }: Site, error: AppError) {
  if (!uiEnabled) return undefined
  if (error instanceof StaleForm) return { href: error.back, label: t('error.back') }
  const from = error.kind === 'limited' ? refererPage(req, apiExternalUrl) : null
  return from === null ? { href: `${base}/ui`, label: t('sign-in') } : { href: from, label: t('error.back') }
}

function titleOf(t: UiTexts, { kind }: AppError): string {
  const key = `error.title.${kind}`
  return t(isUiKey(key) ? key : 'error.title')
}

// Details of server errors only go to the log.
function messageOf(t: UiTexts, error: AppError): string {
  if (error.kind === 'internal') return t('error.unexpected')
  return waitText(t, error) ?? refusalText(t, error)
}
