/** Where a collector is and how it is spoken to. */
export type OtlpOptions = {
  protocol: 'http/protobuf' | 'grpc'
  /** Of one kind of signal, with its path where the protocol has one. */
  url: string
  headers: Readonly<Record<string, string>>
  timeoutMs: number
  compression: 'none' | 'gzip'
}
