import { boolean, text } from '@signet/config'
import { span } from './durations.js'

/** The sign-in page for people, which is no part of the API. */
export const uiSettings = {
  uiEnabled: boolean({
    env: 'AUTH_UI_ENABLED',
    fallback: true,
    doc: 'Serve the sign-in pages for people at `/ui`.',
  }),
  uiSessionDuration: span({
    env: 'AUTH_UI_SESSION_DURATION',
    fallback: 12 * 3_600_000,
    minMs: 60_000,
    doc: 'How long the sign-in pages remember who signed in, at most until the browser is closed.',
  }),
  uiCaptchaSiteKey: text({
    env: 'AUTH_UI_CAPTCHA_SITE_KEY',
    optional: true,
    doc: 'Site key of the CAPTCHA on those pages; required while both are enabled.',
  }),
}
