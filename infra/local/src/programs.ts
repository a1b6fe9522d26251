import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** The first program of these names on the PATH, or else in further folders. */
export const findProgram = (...search: Parameters<typeof findPrograms>): string | undefined =>
  findPrograms(...search)[0]

/** All of them, each path once. */
export function findPrograms(
  names: readonly string[],
  env: NodeJS.ProcessEnv,
  furtherFolders: readonly string[] = [],
): string[] {
  const folders = new Set([...(env['PATH'] ?? '').split(delimiter).filter(Boolean), ...furtherFolders])
  return [...folders].flatMap((folder) => names.map((name) => join(folder, name))).filter(isProgram)
}

/** PATH may name folders that are not there, or not ours to look into. */
export function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return statSync(file).isFile()
  } catch {
    return false
  }
}
