export { statusOf, type ErrorRenderer, type BodyProblem } from './error-renderer.js'
export {
  route,
  type Answer,
  type BodySpec,
  type Effect,
  type Method,
  type ParameterDoc,
  type ResponseDoc,
  type Route,
  type RouteDocs,
  type RouteSpec,
} from './route.js'
export type { BodySoFar } from './read-bytes.js'
export { mountRoutes, type MountOptions } from './mount.js'
export { withShortcut, type Application } from './shortcut.js'
export { routeCaller, type RouteCall } from './route-caller.js'
export { errorHandler, notFoundHandler } from './errors.js'
export {
  requestContext,
  contextOf,
  contextOfRequest,
  statusSeen,
  type RequestContext,
} from './request-context.js'
export { inOrder } from './in-order.js'
export { atKnownTime } from './known-time.js'
export { compileSchema, type JsonSchema } from './schema.js'
export { healthHandlers, metricsHandler } from './health.js'
export { Drain } from './drain.js'
export { listen, type Listener } from './listen.js'
export { runService, type Service } from './service.js'
export { clientAddress } from './client-address.js'
export { underOneLoopbackName } from './loopback-name.js'
