import { readdir } from 'node:fs/promises'
import { CredentialStore } from './credential-store.js'
import { profileOf } from './profile-name.js'

/** One sign-in of one profile. */
export type ProfileEntry = {
  profile: string
  url: string
  email: string
  /** Whether commands with this profile use this service when no address is given. */
  current: boolean
}

type Options = { configDir: string; warn: (text: string) => void }

/** The sign-ins of every profile that has one. */
export async function listProfiles({ configDir, warn }: Options): Promise<ProfileEntry[]> {
  const files: string[] = await readdir(configDir).catch(() => [])
  const entries: ProfileEntry[] = []
  for (const profile of files.flatMap((file) => profileOf(file) ?? []).sort()) {
    const store = new CredentialStore({ configDir, profile, preference: 'auto', warn })
    const current = await store.currentService()
    for (const { serviceUrl: url, email } of await store.list()) {
      entries.push({ profile, url, email, current: url === current })
    }
  }
  return entries
}
