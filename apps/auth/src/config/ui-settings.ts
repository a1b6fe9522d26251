import { boolean, choice, text } from '@signet/config'
import { span } from './durations.js'

/** The sign-in page for people, which is not part of the API. */
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
  // Scanners follow every link in an email, and would use the link up before the reader does (decision 0196).
  uiLinkConfirmation: choice({
    env: 'AUTH_UI_LINK_CONFIRMATION',
    choices: ['pages', 'all', 'off'],
    fallback: 'pages',
    doc: 'Which emailed links open a page whose button uses them, so that link scanners do not: those that the sign-in pages request, all, or none.',
  }),
  uiOtherDeviceEnabled: boolean({
    env: 'AUTH_UI_OTHER_DEVICE_ENABLED',
    fallback: true,
    doc: 'Let people who open such a link on another device choose to continue on the requesting device.',
  }),
  uiOperatorEnabled: boolean({
    env: 'AUTH_UI_OPERATOR_ENABLED',
    fallback: false,
    doc: 'Serve the operator page at `/ui/operator`, for people with one of `AUTH_JWT_ADMIN_ROLES` who have used a second factor.',
  }),
  uiCaptchaSiteKey: text({
    env: 'AUTH_UI_CAPTCHA_SITE_KEY',
    optional: true,
    doc: 'Site key of the CAPTCHA on those pages; required while both are enabled.',
  }),
}
