import type { FastScanner, Shape } from './fastScanner.ts'
import { memberAt } from './fastShape.ts'
import type { Served } from './servedMembers.ts'

/** How a served member is written: what stands before its value, and where that is noted, or the members that it is made of. */
export type Step = { readonly before: Buffer; readonly slot: number; readonly members: readonly Step[] | undefined }

/** How objects of a shape are served. */
export const stepsOf = (served: Served, shape: Shape | undefined): Step[] =>
  served.map((each, at) => {
    const [name, members] = typeof each === 'string' ? [each] : each
    const member = memberAt(shape, name)
    return {
      before: Buffer.from(`${at === 0 ? '{' : ','}${JSON.stringify(name)}:`),
      slot: member.slot,
      members: members === undefined ? undefined : stepsOf(members, member.shape),
    }
  })

/** Values that are served otherwise than they came, by slot. */
export type Replaced = ReadonlyMap<number, Buffer>

const nothing = Buffer.from('null')
const closing = Buffer.from('}')
const none = -1

/**
 * Renders what a reader has found as `renderServed` does, by copying. Neighbours that are served as they stand are copied
 * together: where the value of a member begins just so many bytes after what was copied before as its name needs, there is
 * nothing but the name.
 */
export class FastRenderer {
  #to = Buffer.allocUnsafe(64 * 1024)
  #at = 0
  #from: Buffer = Buffer.alloc(0)
  /** What is to be copied next of `#from`; the end is -1 when nothing can be added to it. */
  #start = 0
  #end = none

  /** The served text of the object that `bytes` were read for. */
  render(steps: readonly Step[], reader: FastScanner, bytes: Buffer, replaced: Replaced | undefined): Buffer {
    this.#from = bytes
    this.#at = 0
    this.#end = none
    this.#members(steps, reader, replaced)
    this.#put(closing)
    return Buffer.from(this.#to.subarray(0, this.#at))
  }

  #members(steps: readonly Step[], reader: FastScanner, replaced: Replaced | undefined): void {
    for (const { before, slot, members } of steps) {
      const start = reader.startOf(slot)
      const other = start === none ? nothing : replaced?.get(slot)
      if (other !== undefined) {
        this.#put(before)
        this.#put(other)
        continue
      }
      if (this.#end === none || this.#end + before.length !== start) {
        this.#put(before)
        this.#start = start
      }
      const end = reader.endOf(slot)
      if (members === undefined || !reader.has(slot)) {
        this.#end = end
        continue
      }
      this.#end = start
      this.#members(members, reader, replaced)
      if (this.#end !== none && this.#end + closing.length === end) this.#end = end
      else this.#put(closing)
    }
  }

  #put(text: Buffer): void {
    if (this.#end !== none) this.#append(this.#from, this.#start, this.#end)
    this.#end = none
    this.#append(text, 0, text.length)
  }

  #append(source: Buffer, start: number, end: number): void {
    const length = end - start
    if (this.#at + length > this.#to.length) {
      const larger = Buffer.allocUnsafe(2 * (this.#at + length))
      this.#to.copy(larger, 0, 0, this.#at)
      this.#to = larger
    }
    source.copy(this.#to, this.#at, start, end)
    this.#at += length
  }
}
