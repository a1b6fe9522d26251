import { describe, expect, it } from '@jest/globals'
import {
  captchaPolicy,
  captchaWidget,
  contentHeading,
  errorPage,
  formScript,
  html,
  pageAnswer,
  type Page,
} from './index.js'
import { kitTexts } from './page-texts.js'
import { providerLabel } from './provider-label.js'

const FORM_SCRIPT = '/base/form.js?v=1'
const plain: Page = { title: 'A page', body: html`<p>Hello</p>` }
const withForm: Page = { title: 'A form', body: html`<form method="post" action="/x"></form>` }

function answer(page: Page, options: Partial<Parameters<typeof pageAnswer>[1]> = {}) {
  const { status, headers = {}, body } = pageAnswer(page, { secure: false, ...options })
  const policy = headers['Content-Security-Policy'] ?? ''
  return { status, headers, text: String(body), policy, nonce: /'nonce-([^']+)'/.exec(policy)?.[1] ?? '' }
}

describe('the document', () => {
  it('names its language, its encoding and its title, and is for no search engine', () => {
    const { text, headers } = answer(plain)
    expect(text).toMatch(/^<!doctype html>\s*<html lang="en">/)
    expect(text).toContain('<meta charset="utf-8" />')
    expect(text).toContain('<meta name="viewport" content="width=device-width, initial-scale=1" />')
    expect(text).toContain('<meta name="robots" content="noindex" />')
    expect(text).toContain('<title>A page</title>')
    expect(headers['Content-Type']).toBe('text/html; charset=utf-8')
  })

  it('has one main landmark with the body in it', () => {
    const { text } = answer(plain)
    expect(text.match(/<main>/g)).toHaveLength(1)
    expect(/<main>.*<p>Hello<\/p>.*<\/main>/s.test(text)).toBe(true)
  })

  it('begins with a way past the navigation where there is one', () => {
    const body = html`<nav></nav>
      ${contentHeading('Tokens')}`
    const { text } = answer({ title: 'Tokens', body }, { language: 'de' })
    expect(text).toMatch(/<body>\s*<a class="skip" href="#content">Zum Inhalt springen<\/a>/)
    expect(text).toContain('<h1 id="content" tabindex="-1">Tokens</h1>')
    expect(answer({ title: 'x', body: html`<p>${'id="content"'}</p>` }).text).not.toContain('href="#content"')
  })

  it('prints titles and messages as text', () => {
    const evil = '</title><script>alert(1)</script>'
    const { text } = answer(errorPage(kitTexts('en'), { title: evil, message: evil }))
    expect(text).not.toContain('<script')
    expect(text.match(/<\/title>/g)).toHaveLength(1)
  })

  it('loads nothing from elsewhere', () => {
    const { text } = answer(withForm, { formScript: FORM_SCRIPT })
    const addresses = [...text.matchAll(/(?:src|href)="([^"]*)"|url\(([^)]*)\)|@import/g)].map(([, at]) => at)
    expect(addresses).toEqual([FORM_SCRIPT])
  })
})

describe('the content security policy', () => {
  it('lets no script in where there is none, and allows the style by a nonce', () => {
    const { policy, text, nonce } = answer(plain, { formScript: FORM_SCRIPT })
    expect(policy).toBe(
      `default-src 'none'; style-src 'nonce-${nonce}'; base-uri 'none'; frame-ancestors 'none'`,
    )
    expect(text).toContain(`<style nonce="${nonce}">`)
    expect(text).not.toContain('<script')
  })

  it('has another nonce in each answer, of 128 bits', () => {
    const nonces = Array.from({ length: 20 }, () => answer(plain).nonce)
    expect(new Set(nonces).size).toBe(20)
    for (const nonce of nonces) expect(Buffer.from(nonce, 'base64')).toHaveLength(16)
  })

  it('allows the script of forms by that nonce, and no connection', () => {
    const { policy, text, nonce } = answer(withForm, { formScript: FORM_SCRIPT })
    expect(policy).toBe(
      `default-src 'none'; style-src 'nonce-${nonce}'; script-src 'nonce-${nonce}'; base-uri 'none'; frame-ancestors 'none'`,
    )
    expect(text).toContain(`<script src="${FORM_SCRIPT}" nonce="${nonce}" defer></script>`)
  })

  it('takes no form that somebody typed for one of ours', () => {
    const typed: Page = { title: 'x', body: html`<p>${'<form>'}</p>` }
    expect(answer(typed, { formScript: FORM_SCRIPT }).policy).not.toContain('script-src')
  })

  it('allows a script in the page by that nonce, and its requests to this server', () => {
    const { policy, text, nonce } = answer({ ...plain, script: 'let a = 1 < 2 && "b"' })
    expect(policy).toContain(`script-src 'nonce-${nonce}'; connect-src 'self';`)
    expect(text).toMatch(/<script nonce="[^"]+">\s*let a = 1 < 2 && "b"\s*<\/script>/)
  })

  it('adds what a page asks for to what every page has', () => {
    const allow = { 'script-src': ['https://a.example'], 'frame-src': ['https://b.example'] }
    const { policy, nonce } = answer({ ...withForm, allow }, { formScript: FORM_SCRIPT })
    expect(policy).toContain(`script-src 'nonce-${nonce}' https://a.example; frame-src https://b.example;`)
  })

  it('never names form-action, which browsers apply to the redirects after the form', () => {
    expect(answer(withForm, { formScript: FORM_SCRIPT }).policy).not.toContain('form-action')
  })
})

describe('the other headers', () => {
  it('refuse frames, sniffing and caches, and keep the origin on our own forms', () => {
    expect(answer(plain).headers).toMatchObject({
      'X-Frame-Options': 'DENY',
      'X-Content-Type-Options': 'nosniff',
      'Cache-Control': 'no-store',
      Pragma: 'no-cache',
      'Referrer-Policy': 'same-origin',
    })
  })

  it('ask for https only where the service has it', () => {
    expect(answer(plain).headers).not.toHaveProperty('Strict-Transport-Security')
    // Without includeSubDomains, because others may run the subdomains.
    expect(answer(plain, { secure: true }).headers['Strict-Transport-Security']).toBe('max-age=31536000')
  })

  it('are joined by those of the caller, with its status', () => {
    const { status, headers } = answer(plain, { status: 400, headers: { 'Set-Cookie': 'a=b' } })
    expect([status, headers['Set-Cookie'], headers['X-Frame-Options']]).toEqual([400, 'a=b', 'DENY'])
  })
})

describe('the icon', () => {
  it('is loaded from this server, where the page names it', () => {
    const { text, policy } = answer(plain, { icon: '/base/favicon.svg' })
    expect(text).toContain('<link rel="icon" href="/base/favicon.svg" />')
    expect(policy).toContain("; img-src 'self'; base-uri")
    expect(answer(plain).text).not.toContain('rel="icon"')
  })
})

describe('a page that waits', () => {
  it('may ask this server, and only with its script', () => {
    const waiting: Page = { ...withForm, polls: true }
    expect(answer(waiting, { formScript: FORM_SCRIPT }).policy).toContain("connect-src 'self'")
    expect(answer(waiting).policy).not.toContain('connect-src')
    expect(answer(withForm, { formScript: FORM_SCRIPT }).policy).not.toContain('connect-src')
  })
})

describe('the script of forms', () => {
  it('has an address that changes with its text, so that browsers may keep it', () => {
    expect(formScript.at('/ui/form.js')).toMatch(/^\/ui\/form\.js\?v=[\w-]{10}$/)
    expect(formScript.answer.headers['Cache-Control']).toContain('immutable')
  })
})

describe('a CAPTCHA', () => {
  it.each(['hcaptcha', 'turnstile'] as const)('of %s is let in by its policy, and only there', (provider) => {
    const siteKey = '"><script>alert(1)</script>'
    const widget = captchaWidget({ provider, siteKey }).text
    expect(widget.match(/<script/g)).toHaveLength(1)
    const [, origin = ''] = /src="(https:\/\/[^/]+)\//.exec(widget) ?? []
    const allowed = captchaPolicy({ provider, siteKey })['script-src'] ?? []
    const hosts = allowed.map((source) => source.replace('*.', ''))
    expect(hosts.some((host) => new URL(origin).hostname.endsWith(new URL(host).hostname))).toBe(true)
  })
})

describe('the name of a provider', () => {
  it.each([
    ['github', 'GitHub'],
    ['gitlab', 'GitLab'],
    ['azure', 'Microsoft'],
    ['twitter', 'X'],
    ['google', 'Google'],
    ['email', 'email'],
    ['https://issuer.example', 'https://issuer.example'],
  ])('of %s is %s', (name, label) => {
    expect(providerLabel(name)).toBe(label)
  })
})
