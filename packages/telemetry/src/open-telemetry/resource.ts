import { randomUUID } from 'node:crypto'
import { defaultResource, resourceFromAttributes, type Resource } from '@opentelemetry/resources'

export type ResourceAttributes = Readonly<Record<string, string>>

/** What every span and metric says about the process; `attributes` win over what is found by itself. */
export const resourceOf = (attributes: ResourceAttributes): Resource =>
  defaultResource().merge(resourceFromAttributes({ 'service.instance.id': randomUUID(), ...attributes }))
