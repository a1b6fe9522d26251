import { boolean, text } from '@signet/config'

/** The sign-in page for people, which is no part of the API. */
export const uiSettings = {
  uiEnabled: boolean({
    env: 'AUTH_UI_ENABLED',
    fallback: false,
    doc: 'Serve the sign-in page for people at `/ui`.',
  }),
  uiCaptchaSiteKey: text({
    env: 'AUTH_UI_CAPTCHA_SITE_KEY',
    optional: true,
    doc: 'Site key of the CAPTCHA on that page; required while both are enabled.',
  }),
}
