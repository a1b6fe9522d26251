/** Address and protocol of a collector. */
export type OtlpOptions = {
  protocol: 'http/protobuf' | 'grpc'
  /** URL for one signal, including the path if the protocol has one. */
  url: string
  headers: Readonly<Record<string, string>>
  timeoutMs: number
  compression: 'none' | 'gzip'
}
