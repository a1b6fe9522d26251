const LABELS: Readonly<Record<string, string>> = {
  azure: 'Microsoft',
  email: 'e-mail',
  github: 'GitHub',
  gitlab: 'GitLab',
  linkedin: 'LinkedIn',
  phone: 'phone',
  twitter: 'X',
  workos: 'WorkOS',
}

/** How people know a provider, in a sentence; identities by e-mail and phone are such providers too. */
export const providerLabel = (name: string): string =>
  LABELS[name] ?? name.charAt(0).toUpperCase() + name.slice(1)
