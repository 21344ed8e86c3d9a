import { script } from './redis.ts'

/*
 * Every account key is a record in Kafka; these scripts store its newest state in Redis.
 * A field of the hash `teamKeys` is `<position> <value>` of the key's newest record. The position is `<partition>/<offset>`; empty if unknown; `-<epoch ms>`
 * for a change whose record no indexer has read yet. The value is JSON as `accountKeyValue` renders it; scripts never encode it, because Lua would lose digits
 * of revisions. A reserved slot has an empty position and the value `{"revision":0,"reservedUntilMs":…}`.
 * Once its record is read, a deletion moves to the hash `deletedKeys`, which grows for ever: no script reads it whole.
 * The hash `accountKey` of a digest has a field `<teamId>/<keyId>` → `FoundKey` for each live key (active, revoked or expired). A key with live records in two
 * partitions has a second field, `<teamId>/<keyId> in another partition`: if one record is deleted, the other could bring the key back. A digest with several
 * fields is contested: no request is accepted with it.
 */

/**
 * Returns the value of a field as a table (with `isDeleted` if its key is null), the position without `-<epoch ms>`, and the value as text. A missing field has
 * revision 0.
 */
const decode = `
local function decode(field)
  local position, value = string.match(field or ' {"revision":0}', '^([%d/]*)%S* (.*)$')
  local entry = cjson.decode(value)
  if entry.key == cjson.null then entry.key, entry.isDeleted = nil, true end
  return entry, position, value
end`

/**
 * Adds the key `name` with its `FoundKey` (`found`, as JSON) to the hash of its digest, or removes it if `found` is nil or false, and updates `contested`.
 * `isSplit`: the key has live records in two partitions.
 */
const claim = `
local function claim(digests, contested, digest, name, found, isSplit)
  local claims = digests .. digest
  if found then redis.call('HSET', claims, name, found) else redis.call('HDEL', claims, name, name .. ' in another partition') end
  if found and isSplit then redis.call('HSET', claims, name .. ' in another partition', found) end
  redis.call(redis.call('HLEN', claims) > 1 and 'SADD' or 'SREM', contested, digest)
end`

/**
 * Stores the state `new` unless the stored state, `old`, wins. A deletion wins, then the higher revision, then a revocation: concurrent writers may make two
 * states of one revision. Returns the members of `ApplyResult` (accountKeyStore.ts): its kind and, if the caller must append the record of `old` again, the value
 * of `old`.
 * - `isLater`: positions are padded with zeros (sourceRecord.ts), so their order as texts is that of their offsets. An empty position is below all others. The
 *   order of two partitions means nothing; it only decides about a needless append.
 * - `mustAppendAgain`: compaction will keep the record of `new`, and remove the earlier one of `old`, which is the newest state; or `old` is a deletion whose
 *   record was perhaps never appended. After any other change that no indexer has read (its position is empty), its record is still to come.
 */
export const applyScript = script(`${decode}${claim}
local teamKeys, deletedKeys, digests, contested = unpack(KEYS)
local team, id, position, value, found, complete, runId = unpack(ARGV)
if complete and redis.call('GET', complete) ~= runId then return {'incomplete'} end
local old, oldPosition, oldValue = decode(redis.call('HGET', teamKeys, id) or redis.call('HGET', deletedKeys, id))
local new, newPosition = decode(position .. ' ' .. value)
local name = team .. '/' .. id
local function store(value)
  local isForGood = new.isDeleted and newPosition ~= ''
  if isForGood then redis.call('HDEL', teamKeys, id) end
  redis.call('HSET', isForGood and deletedKeys or teamKeys, id, position .. ' ' .. value)
end

local function isNewer()
  if old.isDeleted or new.isDeleted then return not old.isDeleted end
  if new.revision ~= old.revision then return new.revision > old.revision end
  return new.key.state == 'revoked' and old.key.state ~= 'revoked'
end
local function isSplit()
  if not old.key or not new.key then return false end
  local oldPartition, newPartition = string.match(oldPosition, '^%d+'), string.match(newPosition, '^%d+')
  if oldPartition and newPartition and oldPartition ~= newPartition then return true end
  return redis.call('HGET', digests .. old.key.digest, name .. ' in another partition') ~= false
end
local split = isSplit()
if not isNewer() then
  if split then
    local storedKey = redis.call('HGET', digests .. old.key.digest, name)
    claim(digests, contested, old.key.digest, name, storedKey, true)
  end
  local isLater = newPosition > oldPosition
  if value == oldValue or old.isDeleted and new.isDeleted then
    if isLater then store(oldValue) end
    return {'stale'}
  end
  local isConflict = not old.isDeleted and new.revision == old.revision
  local mustAppendAgain = isLater and (oldPosition ~= '' or old.isDeleted)
  return {isConflict and 'conflict' or 'stale', mustAppendAgain and oldValue}
end

store(value)
if old.key and not (new.key and new.key.digest == old.key.digest) then claim(digests, contested, old.key.digest, name) end
if new.key then claim(digests, contested, new.key.digest, name, found, split) end
return {'applied'}`)

/** Removes a key. Returns 0 and changes nothing if its newest record has another position. */
export const forgetScript = script(`${decode}${claim}
local teamKeys, digests, contested = unpack(KEYS)
local name, id, expected = unpack(ARGV)
local entry, position = decode(redis.call('HGET', teamKeys, id))
if position ~= expected then return 0 end
redis.call('HDEL', teamKeys, id)
if entry.key then claim(digests, contested, entry.key.digest, name) end
return 1`)

/**
 * Reserves a slot for the key `id` unless other keys have taken `max`; deletes expired slots. Returns a `Reservation` (accountKeyStore.ts), or `incomplete`. A
 * key that exists already is `held`; or `surplus`, if other keys have taken `max`, as when Redis lost its slot before its record was applied.
 */
export const reserveScript = script(`${decode}
local teamKeys, deletedKeys = unpack(KEYS)
local id, now, untilMs, max = ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])
local complete, runId = ARGV[5], ARGV[6]
if redis.call('GET', complete) ~= runId then return 'incomplete' end
local fields = redis.call('HGETALL', teamKeys)
local own, taken = {}, 0
for i = 1, #fields, 2 do
  local slot = decode(fields[i + 1])
  if fields[i] == id then own = slot
  elseif slot.reservedUntilMs and slot.reservedUntilMs < now then redis.call('HDEL', teamKeys, fields[i])
  elseif not slot.isDeleted then taken = taken + 1 end
end
if own.isDeleted or redis.call('HGET', deletedKeys, id) then return 'deleted' end
local isFull = taken >= max
if own.key then return isFull and 'surplus' or 'held' end
if isFull then return 'full' end
redis.call('HSET', teamKeys, id, ' {"revision":0,"reservedUntilMs":' .. untilMs .. '}')
return 'reserved'`)

/** Marks the store complete in a run of Redis. Returns 0 and changes nothing if the mark of the replay has expired, or Redis was flushed meanwhile. */
export const completeScript = script(`
if redis.call('DEL', KEYS[2]) == 0 then return 0 end
redis.call('SET', KEYS[1], ARGV[1])
return 1`)
