import { randomUUID } from 'node:crypto'
import { defaultResource, resourceFromAttributes, type Resource } from '@opentelemetry/resources'

export type ResourceAttributes = Readonly<Record<string, string>>

/** Describes the process in every span and metric. `attributes` override detected values. */
export const resourceOf = (attributes: ResourceAttributes): Resource =>
  defaultResource().merge(resourceFromAttributes({ 'service.instance.id': randomUUID(), ...attributes }))
