/** The one HTTP client for calls to providers, gateways, CAPTCHA services and mail templates (contract 8.1). */
export type Outbound = {
  /** Resolves with whatever status the server answered; rejects with {@link OutboundError} when there is no answer. */
  request(request: OutboundRequest): Promise<OutboundResponse>
  close(): Promise<void>
}

export type OutboundRequest = {
  method?: 'GET' | 'POST'
  url: string
  headers?: Readonly<Record<string, string>>
  /** Sent form-encoded when it is a URLSearchParams. */
  body?: string | URLSearchParams
  /** For the whole exchange; 10 s by default. */
  timeoutMs?: number
  /** Of the answer's body; 1 MiB by default. */
  maxBytes?: number
}

export type OutboundResponse = { status: number; headers: Readonly<Record<string, string>>; text: string }

export class OutboundError extends Error {
  constructor(
    readonly reason: 'refused_address' | 'timeout' | 'too_large' | 'network',
    message: string,
    options?: { cause?: unknown },
  ) {
    super(message, options)
    this.name = 'OutboundError'
  }
}
