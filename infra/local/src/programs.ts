import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** The first program of these names on the PATH, or else in further folders. */
export function findProgram(
  names: readonly string[],
  env: NodeJS.ProcessEnv,
  furtherFolders: readonly string[] = [],
): string | undefined {
  const folders = [...(env['PATH'] ?? '').split(delimiter).filter(Boolean), ...furtherFolders]
  return folders.flatMap((folder) => names.map((name) => join(folder, name))).find(isProgram)
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
