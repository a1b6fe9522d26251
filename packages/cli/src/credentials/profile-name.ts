export const DEFAULT_PROFILE = 'default'
export const PROFILE_NAME = /^[a-z0-9][a-z0-9_-]{0,31}$/

/** The file name of a profile. That of the default profile does not contain its name. */
export const fileOf = (profile: string): string =>
  profile === DEFAULT_PROFILE ? 'credentials.json' : `credentials-${profile}.json`

/** The profile whose file has this name, or undefined if it is not the file of a profile. */
export function profileOf(file: string): string | undefined {
  if (file === fileOf(DEFAULT_PROFILE)) return DEFAULT_PROFILE
  const [, name = ''] = /^credentials-(.+)\.json$/.exec(file) ?? []
  return PROFILE_NAME.test(name) ? name : undefined
}
