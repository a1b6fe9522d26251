import { parseUrl } from '@signet/address-guard/parse-url'
import {
  htmlLayout,
  parseTemplate,
  renderHtml,
  renderSubject,
  renderText,
  textLayout,
  type MailContent,
  type TemplateValues,
} from '@signet/mail'
import { FAILURES_TO_DISABLE } from '@signet/webhook-core'
import { explainFailure } from './failure-advice.js'
import type { ClaimedWarning } from './warning-store.js'

const COMMON = {
  button: 'Open your webhooks',
  closing:
    'You receive this because your account owns this webhook. There is at most one such email a day for each webhook and stage.',
} as const

const LAST_FAILURE = { label: 'Last failure', value: '{{ .FailedAt }}: {{ .Failure }} ({{ .Reason }})' }
const WEBHOOK = { label: 'Webhook', value: '{{ .Url }} (id {{ .EndpointId }})' }

const FAILING: MailContent = {
  ...COMMON,
  subject: 'Your webhook is failing: {{ .Failures }} failures in a row',
  heading: 'Your webhook is failing',
  sentence: `The last {{ .Failures }} attempts to deliver events to one of your webhooks failed. After ${FAILURES_TO_DISABLE} failures in a row it is disabled, and receives no more events until you enable it.`,
  facts: [WEBHOOK, { label: 'Failing since', value: '{{ .FailingSince }}' }, LAST_FAILURE],
  advice: '{{ .Advice }} Failed deliveries are tried again for a while, and one success resets the count.',
}

const DISABLED: MailContent = {
  ...COMMON,
  subject: 'Your webhook was disabled after {{ .Failures }} failures in a row',
  heading: 'Your webhook was disabled',
  sentence:
    'The last {{ .Failures }} attempts to deliver events to one of your webhooks failed, so it was disabled. It receives no more events until you enable it.',
  facts: [WEBHOOK, { label: 'Failing since', value: '{{ .FailingSince }}' }, LAST_FAILURE],
  advice:
    '{{ .Advice }} Then enable it, and have what it missed sent again: on the page below, or with POST /v1/webhooks/{{ .EndpointId }}/enable and POST /v1/webhooks/{{ .EndpointId }}/recover.',
}

const prepare = (content: MailContent) => ({
  subject: parseTemplate(content.subject),
  html: parseTemplate(htmlLayout(content)),
  text: parseTemplate(textLayout(content)),
})

const failing = prepare(FAILING)
const disabled = prepare(DISABLED)

export type WarningMail = { subject: string; html: string; text: string }

/** The email about a failing or disabled endpoint. `manageUrl` is where its owner can see to it. */
export function warningMail(warning: ClaimedWarning, manageUrl: string): WarningMail {
  const mail = warning.threshold >= FAILURES_TO_DISABLE ? disabled : failing
  const { what, advice } = explainFailure(warning.lastError)
  const values: TemplateValues = {
    Url: withoutQuery(warning.url),
    EndpointId: warning.endpointId,
    Failures: warning.failures,
    FailingSince: minuteOf(warning.failingSince ?? warning.failedAt),
    FailedAt: minuteOf(warning.failedAt),
    Failure: what,
    Reason: warning.lastError,
    Advice: advice,
    ConfirmationURL: manageUrl,
  }
  return {
    subject: renderSubject(mail.subject, values),
    html: renderHtml(mail.html, values),
    text: renderText(mail.text, values),
  }
}

/** A query may hold a secret of the receiver, which has no business in a mailbox. */
function withoutQuery(url: string): string {
  const parsed = parseUrl(url)
  return parsed === null ? '' : `${parsed.origin}${parsed.pathname}`
}

const minuteOf = (time: Date): string => `${time.toISOString().slice(0, 16).replace('T', ' ')} UTC`
