/*
 * The Lua scripts of the account-key store. Each is atomic.
 *
 * A field of `teamKeys` is `<position> <value>`: the newest record's value, as `accountKeyValue` writes it, and where it was appended, or
 * nothing while that is not known. A reserved slot is ` {"revision":0,"reservedUntilMs":…}`. Values are never encoded anew: Lua does not
 * keep all digits of a revision.
 *
 * A hash under `accountKey` has a field for each live key that claims a digest: `<teamId>/<keyId>` and its holder. A digest with several
 * claims opens nothing; `contestedDigests` names it.
 */

const decode = `
local function decode(field)
  local position, value = string.match(field or ' {"revision":0}', '^(%S*) (.*)$')
  local entry = cjson.decode(value)
  if entry.key == cjson.null then entry.key, entry.isDeleted = nil, true end
  return entry, position, value
end`

/**
 * A deletion beats all, then the higher revision. Of two records with one revision, which two writers made at once, the one that revokes the
 * key is the newer. Answers `{outcome, newest}`: the newest value where this record was appended after it and would outlive it in a
 * compacted topic, and a deletion whose own record may never have been appended.
 */
export const applyScript = `${decode}
local teamKeys, digests, contested, complete = unpack(KEYS)
local team, id, position, value, holder, runId = unpack(ARGV)
if complete and redis.call('GET', complete) ~= runId then return {'incomplete'} end
local old, oldPosition, oldValue = decode(redis.call('HGET', teamKeys, id))
local new = decode(' ' .. value)

local function isNewer()
  if old.isDeleted or new.isDeleted then return not old.isDeleted end
  if new.revision ~= old.revision then return new.revision > old.revision end
  return new.key.state == 'revoked' and old.key.state ~= 'revoked'
end
if not isNewer() then
  local isLater = position ~= '' and position > oldPosition
  if value == oldValue or old.isDeleted and new.isDeleted then
    if isLater then redis.call('HSET', teamKeys, id, position .. ' ' .. oldValue) end
    return {'stale'}
  end
  local isConflict = not old.isDeleted and new.revision == old.revision
  return {isConflict and 'conflict' or 'stale', isLater and (oldPosition ~= '' or old.isDeleted) and oldValue}
end

redis.call('HSET', teamKeys, id, position .. ' ' .. value)
local function claim(digest, its)
  if its then redis.call('HSET', digests .. digest, team .. '/' .. id, its)
  else redis.call('HDEL', digests .. digest, team .. '/' .. id) end
  redis.call(redis.call('HLEN', digests .. digest) > 1 and 'SADD' or 'SREM', contested, digest)
end
if old.key and not (new.key and new.key.digest == old.key.digest) then claim(old.key.digest) end
if new.key then claim(new.key.digest, holder) end
return {'applied'}`

/** A reserved slot is below every record, and given up when its time is over. */
export const reserveScript = `${decode}
local teamKeys = KEYS[1]
local id, now, untilMs, max = ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])
local held = redis.call('HGETALL', teamKeys)
local taken = 0
for i = 1, #held, 2 do
  local slot = decode(held[i + 1])
  if held[i] == id and slot.isDeleted then return 'deleted' end
  if held[i] == id and slot.key then return 'held' end
  if slot.reservedUntilMs and slot.reservedUntilMs < now then redis.call('HDEL', teamKeys, held[i])
  elseif held[i] ~= id and not slot.isDeleted then taken = taken + 1 end
end
if taken >= max then return 'full' end
redis.call('HSET', teamKeys, id, ' {"revision":0,"reservedUntilMs":' .. untilMs .. '}')
return 'reserved'`

export const completeScript = `
if redis.call('DEL', KEYS[2]) == 0 then return 0 end
redis.call('SET', KEYS[1], ARGV[1])
return 1`
