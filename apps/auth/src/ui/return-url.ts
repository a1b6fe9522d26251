/** Where links in emails and providers send the browser. */
export const uiReturnUrl = ({ apiExternalUrl }: { apiExternalUrl: string }): string =>
  `${apiExternalUrl.replace(/\/+$/, '')}/ui/return`
