import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Bytes of live objects, after a garbage collection. */
export function heapBytes(): number {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  return getHeapStatistics().used_heap_size
}
