/** The id by which authenticators know an account: its random id as bytes, which reveals nothing about the person. */
export const handleOf = (userId: string): Buffer => Buffer.from(userId.replaceAll('-', ''), 'hex')

/** Whether an answer has the handle of this account. Authenticators that found a passkey by themselves send it. */
export function hasHandleOf(answer: object, userId: string): boolean {
  const { response } = answer as { response?: { userHandle?: unknown } }
  const handle = response?.userHandle
  return typeof handle === 'string' && Buffer.from(handle, 'base64url').equals(handleOf(userId))
}
