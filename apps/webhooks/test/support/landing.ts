import type { FormBrowser } from './browser.js'

/** What the script of the landing page does with the access token that the identity server put in the fragment. */
export async function land(
  browser: FormBrowser,
  txn: string,
  accessToken: string,
  changes: Record<string, string> = {},
) {
  const page = await browser.get(`/oauth/callback?txn=${txn}`)
  const data = (name: string) => new RegExp(`data-${name}="([^"]*)"`).exec(page.text)?.[1] ?? ''
  const fields = { txn: data('txn'), csrf: data('csrf'), access_token: accessToken, ...changes }
  const answer = await browser.post(data('action') || '/oauth/authorize/session', fields, {
    accept: 'application/json',
  })
  return {
    page,
    status: answer.status,
    location: (JSON.parse(answer.text) as { location?: string }).location,
  }
}
