import { deletedRevision } from '../model/ids.ts'

/**
 * The Lua scripts of the account-key store. Each is atomic.
 *
 * An entry of `teamKeys` is `{"revision", "key", "holder", "at"}`: the newest record, the value that `accountKey` gets when this key
 * holds its digest, and the record's position if it is known. A reserved slot is `{"revision": 0, "reservedUntilMs"}`. No script
 * encodes an entry again, because Lua's numbers would lose digits of a revision.
 *
 * A claim is `<position> <teamId>/<keyId>`: where the first record of a key with this digest was appended. `digestClaims` holds
 * the claims of all live keys that have the digest now; the key whose claim sorts first holds the digest. `keyClaims` keeps the
 * positions of every digest that a key ever had, so that records may be applied in any order and any number of times. Two writers may
 * write one revision at the same time; then the record that revokes the key is the newer one.
 */
export const applyScript = `
local teamKeys, deletedKeys, keyClaims, digestClaims, holders, complete = unpack(KEYS)
local team, id, revision, record, digest, position, mayDisplace, runId = unpack(ARGV)
revision = tonumber(revision)
if complete and redis.call('GET', complete) ~= runId then return cjson.encode({outcome = 'incomplete'}) end
if redis.call('SISMEMBER', deletedKeys, id) == 1 then return cjson.encode({outcome = 'stale'}) end

local function firstClaim(of) return redis.call('ZRANGE', digestClaims .. of, 0, 0)[1] end
local function entryOf(claim)
  local itsTeam, itsId = string.match(claim, '^%S+ ([^/]+)/(.+)$')
  return redis.call('HGET', teamKeys .. itsTeam, itsId)
end
local function giveToFirst(of)
  local claim = firstClaim(of)
  if claim then redis.call('SET', holders .. of, cjson.decode(entryOf(claim)).holder)
  else redis.call('DEL', holders .. of) end
end

local text = redis.call('HGET', teamKeys .. team, id)
local old = text and cjson.decode(text) or {revision = 0}
local oldDigest = old.key and old.key.digest
local positions = cjson.decode(redis.call('HGET', keyClaims, id) or '{}')
local function claimOf(of) return positions[of] .. ' ' .. team .. '/' .. id end
local oldClaim = oldDigest and claimOf(oldDigest)

if revision == ${deletedRevision} then
  redis.call('HDEL', teamKeys .. team, id)
  redis.call('HDEL', keyClaims, id)
  redis.call('SADD', deletedKeys, id)
  if oldDigest then
    redis.call('ZREM', digestClaims .. oldDigest, oldClaim)
    giveToFirst(oldDigest)
  end
  return cjson.encode({outcome = 'applied'})
end

local isNewer, isOlder = revision > old.revision, revision < old.revision
if revision == old.revision and old.key then
  local isRevoked, wasRevoked = cjson.decode(record).key.state == 'revoked', old.key.state == 'revoked'
  isNewer, isOlder = isRevoked and not wasRevoked, wasRevoked and not isRevoked
end
if not positions[digest] or position < positions[digest] then positions[digest] = position end
local newDigest = isNewer and digest or oldDigest
if not newDigest then
  redis.call('HSET', keyClaims, id, cjson.encode(positions))
  return cjson.encode({outcome = 'stale'})
end

local claim, before = claimOf(newDigest), firstClaim(newDigest)
if oldClaim then redis.call('ZREM', digestClaims .. oldDigest, oldClaim) end
redis.call('ZADD', digestClaims .. newDigest, 0, claim)
local first = firstClaim(newDigest)
local isDisplacing = first == claim and before and before ~= claim and before ~= oldClaim
if isDisplacing and mayDisplace ~= '*' and mayDisplace ~= before then
  redis.call('ZREM', digestClaims .. newDigest, claim)
  if oldClaim then redis.call('ZADD', digestClaims .. oldDigest, 0, oldClaim) end
  return cjson.encode({outcome = 'displaces', first = before, entry = entryOf(before)})
end

redis.call('HSET', keyClaims, id, cjson.encode(positions))
if isNewer then redis.call('HSET', teamKeys .. team, id, record) end
giveToFirst(newDigest)
if oldDigest and oldDigest ~= newDigest then giveToFirst(oldDigest) end
local answer = {outcome = isNewer and 'applied' or 'stale'}
if first ~= claim and not isOlder then answer.outcome = 'digest-held' end
if redis.call('ZCARD', digestClaims .. newDigest) > 1 then
  answer.digest, answer.claim, answer.first = newDigest, claim, first
end
if isOlder then answer.entry = text end
return cjson.encode(answer)`

const holdsItsDigest = `
local function holdsItsDigest(entry, holders)
  return entry.revision > 0 and redis.call('GET', holders .. entry.key.digest) == entry.holder
end`

/** Returns the entries of a team's keys that hold their digests. */
export const listScript = `${holdsItsDigest}
local teamKeys, holders = unpack(KEYS)
local all, held = redis.call('HGETALL', teamKeys), {}
for i = 2, #all, 2 do
  if holdsItsDigest(cjson.decode(all[i]), holders) then held[#held + 1] = all[i] end
end
return held`

/** Reserves a slot. Its revision, 0, is below that of every record; it expires. A key that does not hold its digest takes no slot. */
export const reserveScript = `${holdsItsDigest}
local teamKeys, deletedKeys, holders = unpack(KEYS)
local id, now, untilMs, max = ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])
if redis.call('SISMEMBER', deletedKeys, id) == 1 then return 'deleted' end
local held = redis.call('HGETALL', teamKeys)
local taken = 0
for i = 1, #held, 2 do
  local slot = cjson.decode(held[i + 1])
  if held[i] == id then
    if slot.revision > 0 then return 'held' end
  elseif slot.revision == 0 then
    if slot.reservedUntilMs < now then redis.call('HDEL', teamKeys, held[i]) else taken = taken + 1 end
  elseif holdsItsDigest(slot, holders) then taken = taken + 1 end
end
if taken >= max then return 'full' end
redis.call('HSET', teamKeys, id, '{"revision":0,"reservedUntilMs":' .. untilMs .. '}')
return 'reserved'`

/** Marks the store complete for a run of Redis, unless the replay's token has gone: then Redis was flushed meanwhile. */
export const completeScript = `
if redis.call('DEL', KEYS[2]) == 0 then return 0 end
redis.call('SET', KEYS[1], ARGV[1])
return 1`
