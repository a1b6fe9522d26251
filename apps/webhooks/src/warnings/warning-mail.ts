import { parseUrl } from '@signet/address-guard/parse-url'
import type { Brand } from '@signet/brand'
import { dateTimeText, type Language } from '@signet/language'
import {
  htmlLayout,
  logoAttachments,
  parseTemplate,
  renderHtml,
  renderSubject,
  renderText,
  textLayout,
  type MailContent,
  type OutgoingMail,
  type TemplateValues,
} from '@signet/mail'
import { FAILURES_TO_DISABLE } from '@signet/webhook-core'
import { explainFailure } from './failure-advice.js'
import { warningText, type WarningKey } from './texts.js'
import type { ClaimedWarning } from './warning-store.js'

export type WarningMailDeps = {
  brand: Brand
  /** Where the owner can fix the endpoint. */
  manageUrl: (warning: Pick<ClaimedWarning, 'endpointId'>) => string
}

type WarningMail = Omit<OutgoingMail, 'to' | 'id'>

/** The email about a failing or disabled endpoint (docs/specification.md#warnings). */
export function warningMail(
  warning: ClaimedWarning,
  language: Language,
  { brand, manageUrl }: WarningMailDeps,
): WarningMail {
  const content = contentOf(language, warning.threshold >= FAILURES_TO_DISABLE ? 'disabled' : 'failing')
  const { what, advice } = explainFailure(language, warning.lastError)
  const values: TemplateValues = {
    Url: withoutQuery(warning.url),
    EndpointId: warning.endpointId,
    Failures: warning.failures,
    Limit: FAILURES_TO_DISABLE,
    FailingSince: dateTimeText(language, warning.failingSince ?? warning.failedAt),
    FailedAt: dateTimeText(language, warning.failedAt),
    Failure: what,
    Reason: warning.lastError,
    Advice: advice,
    ConfirmationURL: manageUrl(warning),
  }
  const look = { brand, language }
  return {
    subject: renderSubject(parseTemplate(content.subject), values),
    html: renderHtml(parseTemplate(htmlLayout(content, look)), values),
    text: renderText(parseTemplate(textLayout(content, look)), values),
    attachments: logoAttachments(brand),
  }
}

function contentOf(language: Language, stage: 'failing' | 'disabled'): MailContent {
  const text = (key: WarningKey) => warningText(language, key)
  return {
    subject: text(`${stage}.subject`),
    heading: text(`${stage}.heading`),
    sentence: text(`${stage}.sentence`),
    facts: [
      { label: text('fact.webhook'), value: '{{ .Url }} (id {{ .EndpointId }})' },
      { label: text('fact.since'), value: '{{ .FailingSince }}' },
      { label: text('fact.last-failure'), value: '{{ .FailedAt }}: {{ .Failure }} ({{ .Reason }})' },
    ],
    advice: text(`${stage}.advice`),
    button: text('button'),
    closing: text('closing'),
  }
}

/** Removes the query, which may contain a secret of the receiver that must not end up in a mailbox. */
function withoutQuery(url: string): string {
  const parsed = parseUrl(url)
  return parsed === null ? '' : `${parsed.origin}${parsed.pathname}`
}
