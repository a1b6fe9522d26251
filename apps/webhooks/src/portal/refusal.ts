import { AppError, isAppError } from '@signet/errors'
import { statusOf } from '@signet/http'
import { DEFAULT_LANGUAGE } from '@signet/language'
import { html, type Html } from '@signet/pages'
import type { Refusal } from '../handovers/handover-service.js'
import type { Parameters } from '../oauth/parameters.js'
import { textsIn, type PageKey, type Texts } from '../pages/texts.js'

/** What a page itself refuses. It says so in the language of its reader. */
export class PageRefusal extends AppError {
  constructor(
    readonly key: PageKey,
    readonly field?: string,
  ) {
    super('invalid', 'bad_request', textsIn(DEFAULT_LANGUAGE)(key))
  }
}

/** What a rule has against one field of the form. */
class FieldError extends AppError {
  constructor(
    readonly field: string,
    message: string,
  ) {
    super('invalid', 'bad_request', message)
  }
}

/** Ties what a rule has against the input to the field that it came from. */
export async function inField<Result>(field: string, rule: () => Promise<Result> | Result): Promise<Result> {
  try {
    return await rule()
  } catch (error) {
    if (isAppError(error) && error.kind === 'invalid') throw new FieldError(field, error.message)
    throw error
  }
}

/** The choice of a field that offers only these. */
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

/** What the person can do something about; the rest is for the error page. */
export const isRefusal = (error: unknown): error is AppError => isAppError(error) && statusOf(error) < 500

/** A refusal for people. */
export function refusalOf(t: Texts, error: AppError): Refusal {
  const own = ownWords(error)
  return {
    message: own === null ? error.message : t(own),
    language: own === null ? DEFAULT_LANGUAGE : t.language,
    status: statusOf(error),
    fault: error instanceof PageRefusal || error instanceof FieldError ? error.field : undefined,
    retryAfterSeconds: error.retryAfterSeconds,
  }
}

function ownWords(error: AppError): PageKey | null {
  if (error.kind === 'not_found') return 'portal.refusal.missing'
  return error instanceof PageRefusal ? error.key : null
}

/** The rules are those of the API and speak its language: screen readers are told where the page has another. */
export const refusalText = (t: Texts, { message, language = t.language }: Refusal): string | Html =>
  language === t.language ? message : html`<span lang="${language}">${message}</span>`
