import { dateTimeText, durationText, languages, type Language } from '@signet/language'
import {
  htmlLayout,
  logoAttachments,
  parseTemplate,
  renderHtml,
  renderSubject,
  renderText,
  textLayout,
  type Attachment,
  type MailContent,
  type Template,
} from '@signet/mail'
import { providerLabel } from '@signet/pages/provider-label'
import type { Observer } from '../observers/observer.js'
import type { Outbound } from '../outbound/outbound.js'
import { contentsIn, mailText } from './contents.js'
import { mailKinds, noticeKinds, type MailKind, type MailVariables, type NoticeKind } from './kinds.js'
import type { RenderConfig } from './mail-config.js'
import { askedBy, languageOf, type MailOrigin } from './mail-origin.js'
import { TemplateSource } from './template-source.js'

type Kind = MailKind | NoticeKind

export type RenderedMail = {
  subject: string
  html: string
  text?: string
  attachments?: readonly Attachment[]
}

type Request = { requestId?: string; origin: MailOrigin }
type BuiltIn = { subject: Template; html: Template; text: Template }
type Custom = { subject: Template | undefined; source: TemplateSource | undefined }
type Deps = {
  config: RenderConfig
  outbound: Outbound
  observer: Pick<Observer, 'mailSubjectUnusable' | 'mailTemplateUnavailable'>
  now?: () => Date
}

/** Turns a kind and its variables into subject and bodies (docs/specification.md#template-variables). */
export class MailRenderer {
  readonly #config: RenderConfig
  /** Built-in emails, in the languages in which one was needed so far. */
  readonly #builtIn = new Map<Language, ReadonlyMap<Kind, BuiltIn>>()
  readonly #custom: ReadonlyMap<Kind, Custom>

  constructor(deps: Deps) {
    this.#config = deps.config
    this.#custom = new Map([...mailKinds, ...noticeKinds].map((kind) => [kind, customOf(kind, deps)]))
    // Load them up front, so that the first email does not have to wait.
    for (const { source } of this.#custom.values()) void source?.get()
  }

  async render(kind: Kind, variables: MailVariables, { requestId, origin }: Request): Promise<RenderedMail> {
    const language = languageOf(variables, origin)
    const mail = this.#builtInIn(language).get(kind)
    const custom = this.#custom.get(kind)
    if (!mail || !custom) throw new Error(`there is no email of the kind ${kind}`)
    const values = templateValues(this.#config, language, variables, origin)
    const subject = renderSubject(custom.subject ?? mail.subject, values)
    const loaded = await custom.source?.get(requestId)
    // A custom template has no text part: ours could show a link that the template leaves out on purpose.
    if (loaded) return { subject, html: renderHtml(loaded, values) }
    const attachments = logoAttachments(this.#config.brand)
    return { subject, html: renderHtml(mail.html, values), text: renderText(mail.text, values), attachments }
  }

  /** Does the work that the first email in each language would do: preparing texts and formatting dates. */
  async prepare(): Promise<void> {
    const at = new Date()
    for (const language of languages)
      await this.render('recovery', {}, { origin: { ip: '', route: '', language, at } })
  }

  #builtInIn(language: Language): ReadonlyMap<Kind, BuiltIn> {
    const known = this.#builtIn.get(language)
    if (known) return known
    const mails = builtInMails(language, this.#config)
    this.#builtIn.set(language, mails)
    return mails
  }
}

const builtInMails = (language: Language, { brand }: RenderConfig): ReadonlyMap<Kind, BuiltIn> =>
  new Map([...contentsIn(language)].map(([kind, content]) => [kind, prepare(content, { brand, language })]))

const prepare = (content: MailContent, look: Parameters<typeof htmlLayout>[1]): BuiltIn => ({
  subject: parseTemplate(content.subject),
  html: parseTemplate(htmlLayout(content, look)),
  text: parseTemplate(textLayout(content, look)),
})

function customOf(kind: Kind, { config, ...deps }: Deps): Custom {
  const url = config.templates[kind]
  return {
    subject: parsedSubject(config.subjects[kind], deps.observer),
    source: url ? new TemplateSource(absoluteUrl(url, config.siteUrl), deps) : undefined,
  }
}

function parsedSubject(subject: string | undefined, observer: Deps['observer']): Template | undefined {
  if (!subject) return undefined
  try {
    return parseTemplate(subject)
  } catch (error) {
    observer.mailSubjectUnusable(subject, error)
    return undefined
  }
}

const absoluteUrl = (url: string, siteUrl: string) =>
  url.startsWith('http') ? url : `${siteUrl.replace(/\/+$/, '')}/${url.replace(/^\/+/, '')}`

/** The owner of the address that an account is about to lose must not ignore the email. */
const isToOldAddress = ({ newEmail, sendingTo }: MailVariables): boolean =>
  newEmail !== undefined && sendingTo !== undefined && newEmail !== sendingTo

function templateValues(
  { siteUrl, brand, secretMs }: RenderConfig,
  language: Language,
  variables: MailVariables,
  origin: MailOrigin,
): Record<string, unknown> {
  const { factorType } = variables
  const isNamed = factorType === 'totp' || factorType === 'phone' || factorType === 'webauthn'
  return {
    SiteURL: siteUrl,
    ProductName: brand.name,
    Inviter: variables.inviter ?? brand.name,
    NotYou: mailText(language, isToOldAddress(variables) ? 'email_change.alarm' : 'not-you'),
    ExpiresIn: durationText(language, secretMs / 1000),
    AskedBy: askedBy(language, origin),
    Language: language,
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
    FactorType: factorType,
    FactorName: isNamed ? mailText(language, `factor.${factorType}`) : undefined,
    RecoveryCodesLeft: variables.recoveryCodesLeft,
    DeletionDate:
      variables.deletionDate === undefined
        ? undefined
        : dateTimeText(language, new Date(variables.deletionDate)),
    Data: variables.data,
  }
}
