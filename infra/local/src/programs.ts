import { existsSync, readFileSync } from 'node:fs'
import { delimiter } from 'node:path'
import { parseEnv } from 'node:util'
import which from 'which'

/** What decides how a server is installed here. */
export interface System {
  /** ID and ID_LIKE of /etc/os-release, the nearest first; elsewhere the platform, such as `darwin`. */
  names: readonly string[]
  isRoot: boolean
}

type Server = 'redis' | 'postgresql'

const OS_RELEASE = '/etc/os-release'

/** By distribution: the command, and the packages of both servers. openSUSE calls itself opensuse-leap or -tumbleweed, and is like suse. */
const INSTALLERS: Readonly<Record<string, readonly [command: string, redis: string, postgresql: string]>> = {
  alpine: ['doas apk add', 'valkey', 'postgresql17'],
  arch: ['sudo pacman -S', 'valkey', 'postgresql'],
  debian: ['sudo apt-get install', 'redis-server', 'postgresql'],
  fedora: ['sudo dnf install', 'valkey', 'postgresql-server'],
  nixos: ['nix-shell -p', 'valkey', 'postgresql'],
  rhel: ['sudo dnf install', 'redis', 'postgresql-server'],
  suse: ['sudo zypper install', 'valkey', 'postgresql-server'],
  ubuntu: ['sudo apt-get install', 'redis-server', 'postgresql'],
  darwin: ['brew install', 'valkey', 'postgresql@17'],
}

/** All programs of these names: those on the PATH, then those in further folders. A name may be a path. */
export function findPrograms(
  names: readonly string[],
  path: string | undefined,
  furtherFolders: readonly string[] = [],
): string[] {
  const folders = [...(path ? [path] : []), ...furtherFolders].join(delimiter)
  return names.flatMap((name) => which.sync(name, { all: true, nothrow: true, path: folders }) ?? [])
}

export const thisSystem = (): System => ({
  names: existsSync(OS_RELEASE) ? distributionsIn(readFileSync(OS_RELEASE, 'utf8')) : [process.platform],
  isRoot: process.getuid?.() === 0,
})

export function distributionsIn(text: string): string[] {
  const { ID = '', ID_LIKE = '' } = parseEnv(text)
  return `${ID} ${ID_LIKE}`.split(/\s+/).filter(Boolean)
}

/** The one command that installs a server on this very system; null where we know none. */
export function installCommand({ names, isRoot }: System, server: Server): string | null {
  const known = names.find((name) => name in INSTALLERS)
  const [command = '', redis, postgresql] = INSTALLERS[known ?? ''] ?? []
  if (command === '') return null
  return `${isRoot ? command.replace(/^(sudo|doas) /, '') : command} ${server === 'redis' ? redis : postgresql}`
}

/** For the error where there is none: what was tried, and the ways out. */
export function noServer(
  system: System,
  { server, name, tried, or }: { server: Server; name: string; tried: readonly string[]; or: string },
): Error {
  const command = installCommand(system, server) ?? `install ${name} with what this system has for it`
  return new Error(
    [
      `No ${name} was found or fetched.`,
      ...tried.map((line, index) => `  ${index === 0 ? 'tried:' : '      '} ${line}`),
      `  Fix: ${command}`,
      `       or set ${or}.`,
    ].join('\n'),
  )
}
