import type { Brand } from '@signet/brand'
import type { Answer, BodySpec, RouteDocs } from '@signet/http'
import { formScript, hidden, pageAnswer, type Html, type Page } from '@signet/pages'
import type { Request, Response } from 'express'
import type { Redirects } from '../../redirects/redirects.js'
import { refuseUnstorable } from '../../users/storable-text.js'
import { isSameOrigin } from '../../requests/same-origin.js'
import type { UiTexts } from '../texts.js'
import { textsFor } from './texts-for.js'
import { PageRefusal } from './refusals.js'
import type { Browser, BrowserState } from './browser-state.js'
import { KEPT, openKept, sealKept } from './kept-fields.js'
import { refererPage } from './referer-page.js'
import { StaleForm } from './stale-form.js'
import { contextFields, signInContextOf, withContext, type SignInContext } from './sign-in-context.js'

/** Forms that change something; each has its own CSRF token. */
export type FormName =
  | 'sign-in'
  | 'sign-up'
  | 'forgot'
  | 'phone'
  | 'code'
  | 'provider'
  | 'passkey'
  | 'factor'
  | 'password'
  | 'account'
  | 'settings'
  | 'link'
  | 'link-confirm'
  | 'operator'

/** Fields of a form; repeated fields are lists. */
export type PageForm = Readonly<Record<string, unknown>>

/** A person on one of the pages. */
export type Caller = {
  readonly browser: Browser
  readonly context: SignInContext
  readonly t: UiTexts
  /** The value of a field that was typed before, for a form that is shown again. */
  typed(name: string): string
}
export type Sent = Caller & { text(name: string): string }

export type AnswerExtras = { status?: number; headers?: Record<string, string> }

type Deps = { externalUrl: string; state: BrowserState; redirects: Redirects; brand: Brand }

export const pageForm: BodySpec = {
  as: 'form',
  optional: true,
  maxBytes: 16 * 1024,
  prepare(fields) {
    refuseUnstorable(fields)
    return fields
  },
}

/** Pages appear in no API document, so the summary is for readers of the code. */
export const pageDocs = (summary: string): RouteDocs => ({
  operationId: 'page',
  summary,
  tag: 'Sign-in page',
  responses: { 200: { description: 'An HTML page' }, 303: { description: 'A redirect' } },
})

/** What every page needs: URLs, form tokens and headers. */
export class SignInPages {
  readonly #base: string
  readonly #origin: string
  readonly #secure: boolean

  constructor(private readonly deps: Deps) {
    const { pathname, origin, protocol } = new URL(deps.externalUrl)
    this.#base = pathname.replace(/\/+$/, '')
    this.#origin = origin
    this.#secure = protocol === 'https:'
  }

  /** Reads the request of someone who opens a page. */
  open(req: Request, res: Response): Caller {
    // If a parameter is repeated, different readers could pick different values.
    if (Object.values(req.query).some(Array.isArray)) throw new PageRefusal('invalid', 'error.repeated')
    const browser = this.deps.state.read(req, res)
    const kept = openKept(this.deps.state, browser, textOf(req.query, KEPT))
    const typed = (name: string) => textOf(kept, name)
    return { browser, context: this.#context(req.query), t: textsFor(req), typed }
  }

  /** Reads a form that someone submitted. It must come from one of our pages in the same browser. */
  sent(req: Request, form: FormName, fields: PageForm): Sent {
    const browser = this.deps.state.find(req)
    const text = (name: string) => textOf(fields, name)
    const context = this.#context(fields)
    const t = textsFor(req)
    if (browser === null || !isSameOrigin(req, this.#origin)) throw foreignForm()
    if (this.deps.state.isFormToken(browser, form, text('csrf')))
      return { browser, context, text, t, typed: text }
    if (!this.deps.state.isFormOfBrowser(browser, form, text('csrf'))) throw foreignForm()
    throw new StaleForm(this.#pageOf(req, browser, context, text))
  }

  /** The URL of the page with the form, with what was typed there. */
  #pageOf(req: Request, browser: Browser, context: SignInContext, text: (name: string) => string): string {
    const page = refererPage(req, this.deps.externalUrl) ?? this.path('', context)
    const url = new URL(page, this.#origin)
    url.searchParams.set(KEPT, sealKept(this.deps.state, browser, text))
    return `${url.pathname}${url.search}`
  }

  /** The texts of a page that needs nothing else from the request. */
  texts(req: Request): UiTexts {
    return textsFor(req)
  }

  /** The fields that every form has. */
  fields({ browser, context }: Caller, form: FormName, more: Readonly<Record<string, string>> = {}): Html[] {
    const csrf = this.deps.state.formToken(browser, form)
    return hidden({ csrf, ...contextFields(context), ...more })
  }

  /** URL of another page in the same context. */
  path(below: string, context: SignInContext, more?: Readonly<Record<string, string>>): string {
    return withContext(`${this.#base}/ui${below}`, context, more)
  }

  /** URL of a form, whose fields carry the context, or of something that needs no context. */
  action(below: string): string {
    return `${this.#base}/ui${below}`
  }

  render({ language }: UiTexts, page: Page, { status = 200, headers = {} }: AnswerExtras = {}): Answer {
    const options = {
      secure: this.#secure,
      formScript: formScript.at(this.action('/form.js')),
      icon: this.action('/icon'),
      brand: this.deps.brand,
    }
    return pageAnswer(page, { status, headers, language, ...options })
  }

  redirect(location: string): Answer {
    return {
      status: 303,
      headers: {
        Location: location,
        'Cache-Control': 'no-store',
        Pragma: 'no-cache',
        'Referrer-Policy': 'no-referrer',
      },
    }
  }

  #context(values: PageForm): SignInContext {
    return signInContextOf((name) => textOf(values, name), this.deps.redirects)
  }
}

const foreignForm = () => new PageRefusal('forbidden', 'error.foreign-form')

function textOf(values: PageForm, name: string): string {
  const value: unknown = Object.hasOwn(values, name) ? values[name] : undefined
  const first: unknown = Array.isArray(value) ? value[0] : value
  return typeof first === 'string' ? first : ''
}
