import { palettes, SIGNET, type Brand, type Palette } from '@signet/brand'
import type { Language } from '@signet/language'
import { footerText, mailFooter, mailHeader } from './brand.js'
import { layoutTextsIn } from './texts.js'

/** The brand and the language of an email. */
export type MailLook = { brand: Brand; language: Language }

const OURS: MailLook = { brand: SIGNET, language: 'en' }

/** The content of an email. All texts are templates, so that values are escaped where they are printed. */
export type MailContent = {
  subject: string
  heading: string
  sentence: string
  /** What the email is about, one fact per line. */
  facts?: readonly { label: string; value: string }[]
  /** What to do. */
  advice?: string | undefined
  /** Label of the button that opens the ConfirmationURL. */
  button?: string | undefined
  /** Label of a link that opens the RecoveryURL. */
  recovery?: string | undefined
  /** Shows the Token for the reader to type in. */
  code?: boolean
  /** What to do if someone else triggered the email. */
  closing: string
}

// Mail programs support little CSS, so there are tables for the frame, styles on the elements, and one block for small screens and dark
// mode.
const styleOf = ({ light, dark }: ReturnType<typeof palettes>) => `
  body { margin: 0; padding: 0; width: 100%; background: ${light.bg}; -webkit-text-size-adjust: 100%; }
  @media (max-width: 600px) {
    .outer { padding: 0 !important; }
    .card { border-radius: 0 !important; border: 0 !important; }
    .inner { padding: 32px 24px !important; }
    .button { display: block !important; text-align: center !important; }
    .code { font-size: 24px !important; letter-spacing: 4px !important; }
  }
  @media (prefers-color-scheme: dark) {
    body, .outer { background: ${dark.bg} !important; }
    .card { background: ${dark.card} !important; border-color: ${dark.line} !important; }
    h1, .code, .name { color: ${dark.text} !important; }
    .code { background: ${dark.field} !important; border-color: ${dark.line} !important; }
    p, .value { color: ${dark.text} !important; }
    .muted, .legal { color: ${dark.soft} !important; }
    .link { color: ${dark.accent} !important; }
    .closing { border-color: ${dark.line} !important; }
    .bar, .button { background: ${dark.accent} !important; }
    .button { color: ${dark.onAccent} !important; }
  }`

const FONT = "font-family:-apple-system,BlinkMacSystemFont,'Segoe UI',Roboto,Helvetica,Arial,sans-serif"

const heading = (light: Palette, text: string) =>
  `<h1 style="margin:0 0 16px;${FONT};font-size:24px;line-height:1.3;font-weight:700;color:${light.text}">${text}</h1>`

const paragraph = (light: Palette, text: string) =>
  `<p style="margin:0 0 24px;${FONT};font-size:16px;line-height:1.6;color:${light.text}">${text}</p>`

const muted = (light: Palette, text: string) =>
  `<p class="muted" style="margin:0 0 16px;${FONT};font-size:14px;line-height:1.6;color:${light.soft}">${text}</p>`

const button = (light: Palette, label: string) =>
  `<p style="margin:0 0 24px"><a class="button" href="{{ .ConfirmationURL }}" style="display:inline-block;padding:14px 28px;${FONT};font-size:16px;font-weight:600;line-height:1.25;color:${light.onAccent};background:${light.accent};border-radius:8px;text-decoration:none">${label}</a></p>`

const code = (light: Palette) =>
  `<p class="code" style="margin:0 0 24px;padding:16px;font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:28px;font-weight:700;letter-spacing:6px;line-height:1.25;text-align:center;color:${light.text};background:${light.bg};border:1px solid ${light.line};border-radius:8px">{{ .Token }}</p>`

const fallbackLink = (light: Palette, text: string) =>
  muted(
    light,
    `${text}<br><a class="link" href="{{ .ConfirmationURL }}" style="font-size:12px;color:${light.accent};word-break:break-all">{{ .ConfirmationURL }}</a>`,
  )

const recoveryLink = (light: Palette, label: string) =>
  paragraph(light, `<a class="link" href="{{ .RecoveryURL }}" style="color:${light.accent}">${label}</a>`)

const facts = (light: Palette, lines: NonNullable<MailContent['facts']>) =>
  `<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" style="margin:0 0 24px">${lines.map((line) => fact(light, line)).join('')}</table>`

const fact = (light: Palette, { label, value }: { label: string; value: string }) =>
  `<tr><td style="padding:0 0 12px;${FONT};font-size:14px;line-height:1.5"><span class="muted" style="color:${light.soft}">${label}</span><br><span class="value" style="color:${light.text}">${value}</span></td></tr>`

const closing = (light: Palette, text: string) =>
  `<p class="muted closing" style="margin:24px 0 0;padding:20px 0 0;border-top:1px solid ${light.line};${FONT};font-size:14px;line-height:1.6;color:${light.soft}">${text}</p>`

/** The template of a built-in email's HTML part: readable on phones, in dark mode and by screen readers. */
export function htmlLayout(content: MailContent, { brand, language }: MailLook = OURS): string {
  const t = layoutTextsIn(language)
  const colors = palettes(brand.accent)
  const { light } = colors
  const about = content.facts === undefined ? '' : facts(light, content.facts)
  const main = [
    heading(light, content.heading),
    paragraph(light, content.sentence),
    content.code ? '' : about,
    content.advice === undefined ? '' : paragraph(light, content.advice),
    content.button === undefined ? '' : button(light, content.button),
    content.code ? (content.button === undefined ? '' : muted(light, t('or-code'))) + code(light) : '',
    content.recovery === undefined ? '' : recoveryLink(light, content.recovery),
    content.button === undefined ? '' : fallbackLink(light, t('copy-link')),
    content.code ? about : '',
    closing(light, content.closing),
  ].join('\n')
  return `<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<title>${content.heading}</title>
<style>${styleOf(colors)}</style>
</head>
<body>
<div role="main">
<div style="display:none;max-height:0;overflow:hidden">${content.sentence}</div>
<table role="presentation" class="outer" width="100%" cellpadding="0" cellspacing="0" border="0" style="table-layout:fixed;padding:40px 16px;background:${light.bg}">
<tr><td align="center">
${mailHeader(brand, light)}
<table role="presentation" class="card" width="100%" cellpadding="0" cellspacing="0" border="0" style="max-width:560px;table-layout:fixed;background:${light.card};border:1px solid ${light.line};border-radius:12px;overflow:hidden">
<tr><td class="bar" height="4" style="height:4px;line-height:4px;font-size:0;background:${light.accent}">&nbsp;</td></tr>
<tr><td class="inner" style="padding:36px 40px 40px;overflow-wrap:anywhere;word-break:break-word">
${main}
</td></tr>
</table>
${mailFooter(brand, light, t)}
</td></tr>
</table>
</div>
</body>
</html>
`
}

/** The template of the plain-text part, with the same content. */
export function textLayout(content: MailContent, { brand, language }: MailLook = OURS): string {
  const t = layoutTextsIn(language)
  const about = (content.facts ?? []).map(({ label, value }) => `${label}: ${value}`).join('\n')
  return [
    brand.name,
    content.heading,
    content.sentence,
    content.code ? '' : about,
    content.advice ?? '',
    content.button === undefined ? '' : `${content.button}:\n{{ .ConfirmationURL }}`,
    content.recovery === undefined ? '' : `${content.recovery}:\n{{ .RecoveryURL }}`,
    content.code ? (content.button === undefined ? '{{ .Token }}' : `${t('or-code')} {{ .Token }}`) : '',
    content.code ? about : '',
    content.closing,
    footerText(brand, t),
  ]
    .filter((block) => block !== '')
    .join('\n\n')
    .concat('\n')
}
