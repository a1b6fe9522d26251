import type { Language } from '@signet/language'
import { parseTemplate, renderText } from '@signet/mail'
import type { FailureReason } from '@signet/webhook-core'
import { isWarningKey, warningText, type WarningKey } from './texts.js'

type Explained = { what: string; advice: string }

/** Describes a failure to the owner of the receiver, and what usually helps (docs/specification.md#failure-reasons). */
export function explainFailure(language: Language, reason: FailureReason): Explained {
  const [, status] = /^http_(\d{3})$/.exec(reason) ?? []
  const what =
    status === undefined
      ? textOr(language, `what.${reason}`, reason)
      : renderText(parseTemplate(warningText(language, 'what.status')), { Status: status })
  const general: WarningKey = status?.startsWith('3') ? 'advice.redirect' : 'advice.general'
  return { what, advice: textOr(language, `advice.${reason}`, warningText(language, general)) }
}

const textOr = (language: Language, key: string, otherwise: string): string =>
  isWarningKey(key) ? warningText(language, key) : otherwise
