/**
 * Makes PostgreSQL notice within about ten seconds that a client has silently disappeared. Otherwise the locks of an open transaction
 * stay until the operating system gives up, which takes two hours. A startup parameter, without effect on a Unix socket.
 */
export const NOTICE_LOST_CLIENTS = [
  '-c tcp_keepalives_idle=5',
  '-c tcp_keepalives_interval=2',
  '-c tcp_keepalives_count=3',
  '-c tcp_user_timeout=10000',
].join(' ')
