const LABELS: Readonly<Record<string, string>> = {
  azure: 'Microsoft',
  github: 'GitHub',
  gitlab: 'GitLab',
  linkedin: 'LinkedIn',
  twitter: 'X',
  workos: 'WorkOS',
}

/** How people know an external provider. */
export const providerLabel = (name: string): string =>
  LABELS[name] ?? name.charAt(0).toUpperCase() + name.slice(1)
