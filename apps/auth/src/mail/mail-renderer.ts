import {
  htmlLayout,
  parseTemplate,
  renderHtml,
  renderSubject,
  renderText,
  textLayout,
  type Template,
} from '@signet/mail'
import { providerLabel } from '@signet/pages/provider-label'
import type { Logger } from '@signet/telemetry'
import type { Outbound } from '../outbound/outbound.js'
import { contents } from './contents.js'
import { mailKinds, noticeKinds, type MailKind, type MailVariables, type NoticeKind } from './kinds.js'
import type { RenderConfig } from './mail-config.js'
import { TemplateSource } from './template-source.js'

type Kind = MailKind | NoticeKind

export type RenderedMail = { subject: string; html: string; text?: string }

type BuiltIn = { subject: Template; html: Template; text: Template; source?: TemplateSource }
type Deps = { config: RenderConfig; outbound: Outbound; log: Logger; now?: () => Date }

/** Turns a kind and its variables into subject and bodies (docs/specification.md#emails). */
export class MailRenderer {
  readonly #siteUrl: string
  readonly #mails: ReadonlyMap<Kind, BuiltIn>

  constructor(deps: Deps) {
    this.#siteUrl = deps.config.siteUrl
    this.#mails = new Map([...mailKinds, ...noticeKinds].map((kind) => [kind, prepare(kind, deps)]))
    // Loaded up front, so that the first email need not wait.
    for (const { source } of this.#mails.values()) void source?.get()
  }

  async render(kind: Kind, variables: MailVariables, requestId?: string): Promise<RenderedMail> {
    const mail = this.#mails.get(kind)
    if (!mail) throw new Error(`there is no email of the kind ${kind}`)
    const values = templateValues(this.#siteUrl, variables)
    const subject = renderSubject(mail.subject, values)
    const loaded = await mail.source?.get(requestId)
    // No text part with a custom template: ours could show the link that the template deliberately leaves out.
    if (loaded) return { subject, html: renderHtml(loaded, values) }
    return { subject, html: renderHtml(mail.html, values), text: renderText(mail.text, values) }
  }
}

function prepare(kind: Kind, { config, ...deps }: Deps): BuiltIn {
  const content = contents[kind]
  const url = config.templates[kind]
  return {
    subject: parsedSubject(config.subjects[kind], deps.log) ?? parseTemplate(content.subject),
    html: parseTemplate(htmlLayout(content)),
    text: parseTemplate(textLayout(content)),
    ...(url ? { source: new TemplateSource(absoluteUrl(url, config.siteUrl), deps) } : {}),
  }
}

function parsedSubject(subject: string | undefined, log: Logger): Template | undefined {
  if (!subject) return undefined
  try {
    return parseTemplate(subject)
  } catch (error) {
    log.error('an email subject cannot be used', { subject, error })
    return undefined
  }
}

const absoluteUrl = (url: string, siteUrl: string) =>
  url.startsWith('http') ? url : `${siteUrl.replace(/\/+$/, '')}/${url.replace(/^\/+/, '')}`

const FACTOR_NAMES: Readonly<Record<string, string>> = { totp: 'authenticator app', phone: 'phone' }

function templateValues(siteUrl: string, variables: MailVariables): Record<string, unknown> {
  return {
    SiteURL: siteUrl,
    Email: variables.email,
    ConfirmationURL: variables.confirmationUrl,
    RecoveryURL: variables.recoveryUrl,
    Token: variables.token,
    TokenHash: variables.tokenHash,
    RedirectTo: variables.redirectTo,
    NewEmail: variables.newEmail,
    OldEmail: variables.oldEmail,
    SendingTo: variables.sendingTo,
    Phone: variables.phone,
    OldPhone: variables.oldPhone,
    Provider: variables.provider,
    ProviderName: variables.provider === undefined ? undefined : providerLabel(variables.provider),
    FactorType: variables.factorType,
    FactorName: FACTOR_NAMES[variables.factorType ?? ''],
    RecoveryCodesLeft: variables.recoveryCodesLeft,
    DeletionDate: variables.deletionDate,
    Data: variables.data,
  }
}
