import { AppError, isAppError } from '@signet/errors'
import { statusOf } from '@signet/http'
import { DEFAULT_LANGUAGE, durationText } from '@signet/language'
import { html, type Html } from '@signet/pages'
import { RuleError } from '../errors/rule-error.js'
import type { Refusal } from '../handovers/handover-service.js'
import type { Parameters } from '../oauth/parameters.js'
import { textsIn, type PageKey, type Texts } from '../pages/texts.js'

/** A refusal by a page itself, worded in the reader's language. */
export class PageRefusal extends AppError {
  constructor(
    readonly key: PageKey,
    readonly field?: string,
  ) {
    super('invalid', 'bad_request', textsIn(DEFAULT_LANGUAGE)(key))
  }
}

/** A broken rule about one field of the form. */
class FieldError extends AppError {
  constructor(
    readonly field: string,
    readonly refusal: AppError,
  ) {
    super(refusal.kind, refusal.code, refusal.message)
  }
}

/** Attaches the field to the error of a broken rule. */
export async function inField<Result>(field: string, rule: () => Promise<Result> | Result): Promise<Result> {
  try {
    return await rule()
  } catch (error) {
    if (isAppError(error) && error.kind === 'invalid') throw new FieldError(field, error)
    throw error
  }
}

/** The value of a field that offers only these choices. */
export function chosenOf<Choice>(
  fields: Parameters,
  field: string,
  choices: readonly Choice[],
  otherwise: PageKey,
): Choice {
  const choice = choices.find((one) => String(one) === fields.get(field))
  if (choice === undefined) throw new PageRefusal(otherwise, field)
  return choice
}

/** Whether the person can do something about the error. Other errors get the error page. */
export const isRefusal = (error: unknown): error is AppError => isAppError(error) && statusOf(error) < 500

/** Turns an error into a refusal for people. */
export function refusalOf(t: Texts, error: AppError): Refusal {
  const own = ownWords(t, error instanceof FieldError ? error.refusal : error)
  return {
    message: own ?? error.message,
    language: own === null ? DEFAULT_LANGUAGE : t.language,
    status: statusOf(error),
    fault: error instanceof PageRefusal || error instanceof FieldError ? error.field : undefined,
    retryAfterSeconds: error.retryAfterSeconds,
  }
}

function ownWords(t: Texts, error: AppError): string | null {
  const { kind, retryAfterSeconds } = error
  if (kind === 'not_found') return t('portal.refusal.missing')
  if (kind === 'gone') return t('portal.refusal.gone')
  if (error instanceof PageRefusal) return t(error.key)
  if (error instanceof RuleError) return t(`portal.rule.${error.rule}`, error.values)
  if (kind !== 'limited' || retryAfterSeconds === undefined) return null
  const time = durationText(t.language, Math.ceil(retryAfterSeconds))
  return t('error.wait', { message: t('error.limited'), time })
}

/**
 * The text of a refusal. An error that no page should cause has only the API's message, and the markup tells screen readers that it is
 * in another language.
 */
export const refusalText = (t: Texts, { message, language = t.language }: Refusal): string | Html =>
  language === t.language ? message : html`<span lang="${language}">${message}</span>`
