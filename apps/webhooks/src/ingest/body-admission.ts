import {
  route,
  type BodySoFar,
  type BodySpec,
  type RequestContext,
  type Route,
  type RouteSpec,
} from '@signet/http'
import type { Request } from 'express'
import type { ServiceCaller } from '../api/service-caller.js'
import { accountHint, SEARCHED_BYTES } from './account-hint.js'
import { BodyCharge, BodyMemory, type BodyMemoryOptions } from './body-memory.js'
import { MAX_BODY_BYTES, SMALL_BODY_BYTES } from './body-sizes.js'

type End = Pick<RequestContext['end'], 'isGone' | 'onceGone'>

/** A request whose body is being read or handled. */
type Upload = {
  charge: BodyCharge
  /** The account in the path, if there is one. */
  accountId: string
  caller: string
  declaredBytes: number
  owner?: string
  /** Counts the request and its handler. The last one to finish releases the memory. */
  users: number
}

/**
 * Limits the memory that large bodies take together until they have been handled, even if their client has disconnected by then. A body
 * is charged for the part that has arrived; while there is no room, nothing more of it is read. Accounts take turns, and a body that
 * waits too long is refused. Small bodies never wait.
 */
export class BodyAdmission {
  readonly #memory: BodyMemory
  readonly #uploads = new WeakMap<End, Upload>()

  constructor(options: BodyMemoryOptions = {}) {
    this.#memory = new BodyMemory(options)
  }

  /** A route whose bodies count toward the limit. Its handler must not finish before it no longer needs the body. */
  route(spec: RouteSpec<ServiceCaller, Buffer> & { body: BodySpec }): Route {
    return route<ServiceCaller, Buffer>({
      ...spec,
      guard: async (input) => {
        await spec.guard?.(input)
        this.#uploads.set(input.context.end, newUpload(input.req, input.caller))
      },
      body: { ...spec.body, makeRoom: (soFar) => this.#makeRoom(soFar) },
      handle: (input) => this.#whileHandled(input.context.end, async () => spec.handle(input)),
    })
  }

  #makeRoom({ end, bytes, beginning, refuse }: BodySoFar): Promise<void> | undefined {
    const upload = this.#uploads.get(end)
    if (upload === undefined || bytes <= SMALL_BODY_BYTES) return undefined
    if (upload.owner === undefined) {
      upload.owner = ownerOf(upload, beginning(SEARCHED_BYTES))
      upload.users = 1
      end.onceGone(() => this.#release(upload))
    }
    const atLeastBytes = Math.max(bytes, upload.declaredBytes)
    return this.#memory.grow(upload.charge, {
      owner: upload.owner,
      atLeastBytes,
      arrivedBytes: bytes,
      refuse,
    })
  }

  async #whileHandled<Result>(end: End, handle: () => Promise<Result>): Promise<Result> {
    const upload = this.#uploads.get(end)
    // A small body has no charge.
    if (upload?.owner === undefined) return handle()
    this.#memory.arrived(upload.charge)
    upload.users += 1
    try {
      return await handle()
    } finally {
      this.#release(upload)
    }
  }

  #release(upload: Upload): void {
    upload.users -= 1
    if (upload.users === 0) this.#memory.release(upload.charge)
  }
}

const newUpload = (
  { headers, params }: Pick<Request, 'headers' | 'params'>,
  { name }: ServiceCaller,
): Upload => ({
  charge: new BodyCharge(),
  accountId: String(params['account_id'] ?? '').toLowerCase(),
  caller: name,
  declaredBytes: Math.min(Number(headers['content-length'] ?? 0), MAX_BODY_BYTES),
  users: 0,
})

/** The owner whose turn a body uses: the account in the path or at the beginning of the body, otherwise the service that sends it. */
function ownerOf({ accountId, caller }: Upload, beginning: Buffer): string {
  const known = accountId || accountHint(beginning)
  return known === '' ? `caller ${caller}` : known
}
