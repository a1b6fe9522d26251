const LABELS: Readonly<Record<string, string>> = {
  azure: 'Microsoft',
  email: 'email',
  github: 'GitHub',
  gitlab: 'GitLab',
  linkedin: 'LinkedIn',
  passkey: 'a passkey',
  phone: 'phone',
  twitter: 'X',
  workos: 'WorkOS',
}

/** The display name of a provider. Email and phone are providers too. */
export const providerLabel = (name: string): string =>
  LABELS[name] ?? name.charAt(0).toUpperCase() + name.slice(1)
