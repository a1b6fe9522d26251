export function takeLock(file: string): { release?: () => void; owner?: number | null }
export function isAlive(pid: number): boolean
