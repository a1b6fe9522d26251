/** Where emails and providers send the browser back to. */
export const uiReturnUrl = ({ apiExternalUrl }: { apiExternalUrl: string }): string =>
  `${apiExternalUrl.replace(/\/+$/, '')}/ui/return`
