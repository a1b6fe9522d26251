import labels from './provider-labels.json' with { type: 'json' }

/** External providers (the file is generated from their definitions in apps/auth), and the sign-in methods that need none. */
const LABELS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ...labels,
    email: 'email',
    passkey: 'a passkey',
    phone: 'phone',
  }),
)

/** The display name of a provider. An identity of another issuer is named after the issuer's URL. */
export const providerLabel = (name: string): string => LABELS.get(name) ?? name
