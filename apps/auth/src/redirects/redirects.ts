/** AUTH_SITE_URL and AUTH_URI_ALLOW_LIST (contract 14.2). */
export type RedirectConfig = { readonly siteUrl: string; readonly uriAllowList: readonly string[] }
