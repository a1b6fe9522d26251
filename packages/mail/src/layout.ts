/** What an email says. All texts are templates, so that values are escaped where they are printed. */
export type MailContent = {
  subject: string
  heading: string
  sentence: string
  /** What the email is about, line by line. */
  facts?: readonly { label: string; value: string }[]
  /** What to do. */
  advice?: string
  /** Label of the button that opens the ConfirmationURL. */
  button?: string
  /** Label of a link that opens the RecoveryURL. */
  recovery?: string
  /** Shows the Token to type in. */
  code?: boolean
  /** What to do if someone else triggered the email. */
  closing: string
}

// Mail programs know little CSS: tables for the frame, styles on the elements, one block for small screens and dark mode.
const STYLE = `
  body { margin: 0; padding: 0; width: 100%; background: #f4f5f7; -webkit-text-size-adjust: 100%; }
  @media (max-width: 600px) {
    .outer { padding: 0 !important; }
    .card { border-radius: 0 !important; border: 0 !important; }
    .inner { padding: 32px 24px !important; }
    .button { display: block !important; text-align: center !important; }
    .code { font-size: 24px !important; letter-spacing: 4px !important; }
  }
  @media (prefers-color-scheme: dark) {
    body, .outer { background: #16181d !important; }
    .card { background: #22252c !important; border-color: #353a44 !important; }
    h1, .code { color: #f4f5f7 !important; }
    .code { background: #16181d !important; border-color: #353a44 !important; }
    p, .value { color: #c9ced8 !important; }
    .muted { color: #9aa2b1 !important; }
    .link { color: #9db7ff !important; }
    .closing { border-color: #353a44 !important; }
    .bar { background: #6d8bff !important; }
  }`

const FONT = "font-family:-apple-system,BlinkMacSystemFont,'Segoe UI',Roboto,Helvetica,Arial,sans-serif"

const heading = (text: string) =>
  `<h1 style="margin:0 0 16px;${FONT};font-size:24px;line-height:1.3;font-weight:700;color:#1b1f29">${text}</h1>`

const paragraph = (text: string) =>
  `<p style="margin:0 0 24px;${FONT};font-size:16px;line-height:1.6;color:#3d4454">${text}</p>`

const muted = (text: string) =>
  `<p class="muted" style="margin:0 0 16px;${FONT};font-size:14px;line-height:1.6;color:#667085">${text}</p>`

const button = (label: string) =>
  `<p style="margin:0 0 24px"><a class="button" href="{{ .ConfirmationURL }}" style="display:inline-block;padding:14px 28px;${FONT};font-size:16px;font-weight:600;line-height:1.25;color:#ffffff;background:#3355dd;border-radius:8px;text-decoration:none">${label}</a></p>`

const code = () =>
  `<p class="code" style="margin:0 0 24px;padding:16px;font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:28px;font-weight:700;letter-spacing:6px;line-height:1.25;text-align:center;color:#1b1f29;background:#f4f5f7;border:1px solid #e2e5eb;border-radius:8px">{{ .Token }}</p>`

const fallbackLink = () =>
  muted(
    'If the button does not work, copy this address into your browser:<br>' +
      '<a class="link" href="{{ .ConfirmationURL }}" style="font-size:12px;color:#3355dd;word-break:break-all">{{ .ConfirmationURL }}</a>',
  )

const recoveryLink = (label: string) =>
  paragraph(`<a class="link" href="{{ .RecoveryURL }}" style="color:#3355dd">${label}</a>`)

const facts = (lines: NonNullable<MailContent['facts']>) =>
  `<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" style="margin:0 0 24px">${lines.map(fact).join('')}</table>`

const fact = ({ label, value }: { label: string; value: string }) =>
  `<tr><td style="padding:0 0 12px;${FONT};font-size:14px;line-height:1.5"><span class="muted" style="color:#667085">${label}</span><br><span class="value" style="color:#3d4454">${value}</span></td></tr>`

const closing = (text: string) =>
  `<p class="muted closing" style="margin:24px 0 0;padding:20px 0 0;border-top:1px solid #e2e5eb;${FONT};font-size:14px;line-height:1.6;color:#667085">${text}</p>`

/** The template of a built-in email's HTML part: readable on phones, in dark mode and by screen readers. */
export function htmlLayout(content: MailContent): string {
  const main = [
    heading(content.heading),
    paragraph(content.sentence),
    content.facts === undefined ? '' : facts(content.facts),
    content.advice === undefined ? '' : paragraph(content.advice),
    content.button === undefined ? '' : button(content.button),
    content.code ? (content.button === undefined ? '' : muted('Or enter this code:')) + code() : '',
    content.recovery === undefined ? '' : recoveryLink(content.recovery),
    content.button === undefined ? '' : fallbackLink(),
    closing(content.closing),
  ].join('\n')
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<title>${content.heading}</title>
<style>${STYLE}</style>
</head>
<body>
<div role="main">
<div style="display:none;max-height:0;overflow:hidden">${content.sentence}</div>
<table role="presentation" class="outer" width="100%" cellpadding="0" cellspacing="0" border="0" style="table-layout:fixed;padding:40px 16px;background:#f4f5f7">
<tr><td align="center">
<table role="presentation" class="card" width="100%" cellpadding="0" cellspacing="0" border="0" style="max-width:560px;table-layout:fixed;background:#ffffff;border:1px solid #e2e5eb;border-radius:12px;overflow:hidden">
<tr><td class="bar" height="4" style="height:4px;line-height:4px;font-size:0;background:#3355dd">&nbsp;</td></tr>
<tr><td class="inner" style="padding:36px 40px 40px;overflow-wrap:anywhere;word-break:break-word">
${main}
</td></tr>
</table>
</td></tr>
</table>
</div>
</body>
</html>
`
}

/** The template of the plain-text part, with the same content. */
export function textLayout(content: MailContent): string {
  return [
    content.heading,
    content.sentence,
    (content.facts ?? []).map(({ label, value }) => `${label}: ${value}`).join('\n'),
    content.advice ?? '',
    content.button === undefined ? '' : `${content.button}:\n{{ .ConfirmationURL }}`,
    content.recovery === undefined ? '' : `${content.recovery}:\n{{ .RecoveryURL }}`,
    content.code ? (content.button === undefined ? '{{ .Token }}' : 'Or enter this code: {{ .Token }}') : '',
    content.closing,
  ]
    .filter((block) => block !== '')
    .join('\n\n')
    .concat('\n')
}
