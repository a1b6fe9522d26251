import { statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'

const IN_MEMORY = '/dev/shm'
const ROOM_BYTES = 4 * 1024 ** 3

/**
 * Where servers of tests keep their data: in memory if there is enough, otherwise in the folder for temporary files. Copying a
 * database in memory takes a twentieth of the time that it takes on a disk.
 */
export function scratchFolder() {
  try {
    const { bavail, bsize } = statfsSync(IN_MEMORY)
    // The size of the file system is only a limit: other programs may use the memory.
    const roomBytes = Math.min(bavail * bsize, process.availableMemory())
    return roomBytes >= ROOM_BYTES ? IN_MEMORY : tmpdir()
  } catch {
    return tmpdir() // no such file system here
  }
}
