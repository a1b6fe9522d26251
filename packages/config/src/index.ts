export {
  ConfigError,
  defineSettings,
  loadConfig,
  rule,
  type ConfigOf,
  type Rule,
  type Setting,
} from './settings.js'
export {
  boolean,
  choice,
  duration,
  hostName,
  httpUrl,
  integer,
  list,
  nodeEnvironment,
  parseDuration,
  parsed,
  text,
  type SettingOptions,
} from './kinds.js'
export { renderEnvExample, renderMarkdown } from './render.js'
export { readEnvironment, readVariables } from './environment.js'
