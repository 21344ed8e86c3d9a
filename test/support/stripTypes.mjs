import { stripTypeScriptTypes } from 'node:module'

/** Jest transform: Node's own type stripping, so that tests run the same code as production. */
export default {
  process: (source) => ({ code: stripTypeScriptTypes(source) }),
}
