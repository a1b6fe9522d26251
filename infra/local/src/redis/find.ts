import { installCommand, type System, thisSystem } from '../system.js'
import {
  CACHE,
  checked,
  ENGINE_FOLDERS,
  type RedisProgram,
  type Search,
  USUAL_FOLDERS,
  type Way,
  WAYS,
} from './ways.js'

type Options = Partial<Search> & { system?: System; ways?: readonly Way[] }

/** A Redis or Valkey to start: REDIS_SERVER_BIN, else the first way that leads to one. One error names all that was tried. */
export async function findRedis({ ways = WAYS, system, ...given }: Options = {}): Promise<RedisProgram> {
  const search: Search = {
    env: process.env,
    usualFolders: USUAL_FOLDERS,
    engineFolders: ENGINE_FOLDERS,
    cacheDir: CACHE,
    say: console.log,
    ...given,
  }
  const named = search.env['REDIS_SERVER_BIN']
  if (named) return checked(named)
  const tried: string[] = []
  for (const { name, find } of ways)
    try {
      return await find(search)
    } catch (error) {
      tried.push(`${name}: ${error instanceof Error ? error.message : String(error)}`)
    }
  throw new Error(noRedis(tried, system ?? thisSystem(search.env)))
}

function noRedis(tried: readonly string[], system: System): string {
  const command =
    installCommand(system, 'redis') ?? 'install Redis or Valkey with what this system has for it'
  return [
    'No Redis server was found or fetched.',
    ...tried.map((line, index) => `  ${index === 0 ? 'tried:' : '      '} ${line}`),
    `  Fix: ${command}`,
    '       or set REDIS_SERVER_BIN to the program, or REDIS_URL to a running server.',
  ].join('\n')
}
