export { type Answer, reply } from './answers.js'
export { type DeliveryView, receiverRoutes } from './control.js'
export {
  type DeliveryFilter,
  type Hook,
  type ReceivedDelivery,
  type Receiver,
  startReceiver,
} from './receiver.js'
