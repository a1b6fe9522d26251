export type PortRange = { from: number; to: number }

/** Parses `WEBHOOKS_ALLOWED_PORTS`, e.g. `443,1024-65535`. Throws `RangeError` for anything else. */
export function parsePortRanges(list: string): PortRange[] {
  return list.split(',').map((entry) => {
    const [, from = '', to = from] = /^([0-9]{1,5})(?:-([0-9]{1,5}))?$/.exec(entry.trim()) ?? []
    const range = { from: Number(from || NaN), to: Number(to || NaN) }
    if (!(range.from >= 1 && range.from <= range.to && range.to <= 65535)) {
      throw new RangeError('ports must be a list like 443,1024-65535')
    }
    return range
  })
}
