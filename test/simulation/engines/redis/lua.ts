import { LuaApi } from 'wasmoon-lua5.1'
import { type Reply, Status } from './commands.ts'
import { ReplyError } from './keyspace.ts'

/** Executes a Redis command of a script. */
type CallCommand = (name: string, args: readonly string[]) => Reply

/*
 * Lua 5.1, as in Redis: same arithmetic, same formatting of numbers; tables iterate in the same order in every run. One Lua state serves
 * all simulated servers of this process; as in Redis, scripts share no state.
 */

const api = await LuaApi.initialize()
const lua = api.luaL_newstate()
/**
 * The library's raw exports. Its wrappers convert arguments of any type, which takes longer than most calls. Texts are passed in memory
 * allocated here, because the wrappers put them on a small stack and end them at the first NUL.
 */
const raw = api.module as unknown as {
  _lua_createtable(state: number, items: number, fields: number): void
  _lua_gettop(state: number): number
  _lua_pcall(state: number, args: number, results: number, handler: number): number
  _lua_pushboolean(state: number, value: number): void
  _lua_pushlstring(state: number, text: number, length: number): void
  _lua_pushnumber(state: number, value: number): void
  _lua_rawget(state: number, at: number): void
  _lua_rawgeti(state: number, at: number, item: number): void
  _lua_rawset(state: number, at: number): void
  _lua_rawseti(state: number, at: number, item: number): void
  _lua_settop(state: number, at: number): void
  _lua_toboolean(state: number, at: number): number
  _lua_tolstring(state: number, at: number, length: number): number
  _lua_tonumber(state: number, at: number): number
  _lua_type(state: number, at: number): number
  _luaL_checkstack(state: number, free: number, message: number): void
}
const registry = -10_000
const globals = -10_002
const [ofNil, ofBoolean, ofNumber, ofText, ofTable] = [0, 1, 3, 4, 5]
/** The Lua type of the value at a stack index. */
const typeAt = (at: number): number => raw._lua_type(lua, at)

/** Host functions cannot throw into Lua: they return a success flag, and the result or an error. */
const prelude = `
local call, decode, null = ...
local function raising(f)
  return function(...)
    local succeeded, result = f(...)
    if not succeeded then error(result, 0) end
    return result
  end
end
redis = {call = raising(call)}
cjson = {decode = raising(decode), null = null}
io, os, debug, package, require, dofile, loadfile, module, print = nil
math.random, math.randomseed = nil
setmetatable(_G, {__newindex = function(_, name) error('Attempt to modify a readonly table', 2) end})`

/** Script text → number of the compiled script. */
const compiled = new Map<string, number>()
let callCommand: CallCommand = () => null
const lengthAt = api.module._malloc(4)
let room = { pointer: api.module._malloc(4_096), bytes: 4_096 }
let memory = Buffer.from(api.module.HEAPU8.buffer)
/** An error of the host that is no Redis reply. */
let defect: unknown

const host = (name: string, act: () => void): number =>
  api.module.addFunction(() => {
    const top = raw._lua_gettop(lua)
    try {
      raw._lua_pushboolean(lua, 1)
      act()
    } catch (error) {
      if (!(error instanceof ReplyError)) defect = error
      raw._lua_settop(lua, top)
      raw._lua_pushboolean(lua, 0)
      push({ err: error instanceof ReplyError ? error.message : `the simulation failed in ${name}` })
    }
    return 2
  }, 'ii')

const commandOf = host('redis.call', () => {
  const [name = '', ...args] = Array.from({ length: raw._lua_gettop(lua) - 1 }, (_, at) => argument(at + 1))
  pushReply(callCommand(name.toLowerCase(), args))
})
const decoder = host('cjson.decode', () => push(JSON.parse(argument(1))))

api.luaL_openlibs(lua)
api.luaL_loadstring(lua, prelude)
for (const pushed of [commandOf, decoder]) api.lua_pushcclosure(lua, pushed, 0)
push(null)
if (raw._lua_pcall(lua, 3, 0, 0) !== 0) throw new Error(textAt(-1))
for (const name of ['KEYS', 'ARGV']) setGlobal(name, [])

/** Runs a script as EVAL does. Throws `ReplyError` for an error of the script or of one of its commands. */
export function runLua(text: string, keys: readonly string[], args: readonly string[], call: CallCommand): Reply {
  callCommand = call
  defect = undefined
  try {
    raw._lua_rawgeti(lua, registry, compile(text))
    setGlobal('KEYS', keys)
    setGlobal('ARGV', args)
    const hasFailed = raw._lua_pcall(lua, 0, 1, 0) !== 0
    if (defect !== undefined) throw defect
    const reply = replyAt(1)
    if (hasFailed) throw new ReplyError(`ERR ${String(reply)}`)
    return reply
  } finally {
    raw._lua_settop(lua, 0)
  }
}

function compile(text: string): number {
  const known = compiled.get(text)
  if (known !== undefined) return known
  if (api.luaL_loadstring(lua, text) !== 0)
    throw new ReplyError(`ERR Error compiling script (new function): ${textAt(-1)}`)
  const reference = api.luaL_ref(lua, registry)
  compiled.set(text, reference)
  return reference
}

function setGlobal(name: string, values: readonly string[]): void {
  pushText(name)
  push(values)
  // Bypasses the metatable that makes globals read-only for scripts.
  raw._lua_rawset(lua, globals)
}

function argument(at: number): string {
  const type = typeAt(at)
  if (type !== ofText && type !== ofNumber)
    throw new ReplyError('ERR Lua redis lib command arguments must be strings or integers')
  return type === ofNumber ? String(raw._lua_tonumber(lua, at)) : textAt(at)
}

/** The memory of Lua, which is reallocated when it grows. */
function currentMemory(): Buffer {
  if (memory.buffer !== api.module.HEAPU8.buffer) memory = Buffer.from(api.module.HEAPU8.buffer)
  return memory
}

function pushText(text: string): void {
  const most = 3 * text.length
  if (most > room.bytes) {
    api.module._free(room.pointer)
    room = { pointer: api.module._malloc(2 * most), bytes: 2 * most }
  }
  raw._lua_pushlstring(lua, room.pointer, currentMemory().write(text, room.pointer))
}

function textAt(at: number): string {
  const pointer = raw._lua_tolstring(lua, at, lengthAt)
  const text = currentMemory()
  return text.toString('utf8', pointer, pointer + text.readUInt32LE(lengthAt))
}

/** Pushes a JSON value; null becomes `cjson.null`. */
function push(value: unknown): void {
  if (typeof value === 'string') pushText(value)
  else if (typeof value === 'number') raw._lua_pushnumber(lua, value)
  else if (typeof value === 'boolean') raw._lua_pushboolean(lua, value ? 1 : 0)
  else if (value === null) api.lua_pushlightuserdata(lua, 0)
  else if (Array.isArray(value)) pushList(value, push)
  else {
    raw._luaL_checkstack(lua, 4, 0)
    raw._lua_createtable(lua, 0, 0)
    for (const [name, member] of Object.entries(value as object)) {
      pushText(name)
      push(member)
      raw._lua_rawset(lua, -3)
    }
  }
}

function pushReply(reply: Reply): void {
  if (reply === null) raw._lua_pushboolean(lua, 0)
  else if (reply instanceof Status) push({ ok: reply.text })
  else if (Array.isArray(reply)) pushList(reply, pushReply)
  else push(reply)
}

function pushList<T>(values: readonly T[], pushOne: (value: T) => void): void {
  raw._luaL_checkstack(lua, 4, 0)
  raw._lua_createtable(lua, values.length, 0)
  values.forEach((element, at) => {
    pushOne(element)
    raw._lua_rawseti(lua, -2, at + 1)
  })
}

/** Converts a Lua value to a reply as Redis does: numbers lose their fraction, and a list ends before its first nil. */
function replyAt(at: number): Reply {
  switch (typeAt(at)) {
    case ofText:
      return textAt(at)
    case ofNumber:
      return Math.trunc(raw._lua_tonumber(lua, at))
    case ofBoolean:
      return raw._lua_toboolean(lua, at) === 1 ? 1 : null
    case ofTable:
      return replyOfTable(api.lua_absindex(lua, at))
    default:
      return null
  }
}

function replyOfTable(at: number): Reply {
  const [err, ok] = [fieldAt(at, 'err'), fieldAt(at, 'ok')]
  if (err !== undefined) throw new ReplyError(err)
  if (ok !== undefined) return new Status(ok)
  const list: Reply[] = []
  for (;;) {
    raw._lua_rawgeti(lua, at, list.length + 1)
    const isEnd = typeAt(-1) === ofNil
    if (!isEnd) list.push(replyAt(-1))
    raw._lua_settop(lua, -2)
    if (isEnd) return list
  }
}

function fieldAt(at: number, name: string): string | undefined {
  pushText(name)
  raw._lua_rawget(lua, at)
  const text = typeAt(-1) === ofText ? textAt(-1) : undefined
  raw._lua_settop(lua, -2)
  return text
}
