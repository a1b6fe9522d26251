import { leaseNextPort } from '../ports.js'

/** The usual ports, unless they are already in use. */
const WANTED = {
  auth: 8081,
  webhooks: 8082,
  internal: 8083,
  dispatcher: 8084,
  smtp: 1025,
  inbox: 8025,
  receiver: 8443,
}

export type Ports = typeof WANTED

/** Chooses all ports, each the wanted one or the next that is free, and says which ones had to move. */
export async function choosePorts(): Promise<{ ports: Ports; moved: string[] }> {
  const ports: Ports = { ...WANTED }
  const moved: string[] = []
  for (const name of Object.keys(WANTED) as (keyof Ports)[]) {
    const wanted = WANTED[name]
    // A port that has to move must not take the usual place of another one, or one taken port would move them all.
    const avoid = new Set(Object.values(WANTED).filter((other) => other !== wanted))
    ports[name] = await leaseNextPort(wanted, avoid)
    if (ports[name] !== wanted) moved.push(`port ${wanted} (${name}) is taken; using ${ports[name]}`)
  }
  return { ports, moved }
}
