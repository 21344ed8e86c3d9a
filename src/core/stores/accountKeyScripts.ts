import { deletedRevision } from '../model/ids.ts'

/**
 * The scripts by which the key view is written, each in one step.
 *
 * An entry of `teamKeys` is `{"revision", "key", "holder", "at"}`: the newest record, what `accountKey` holds when this key has its
 * digest, and the record's place if it is known. A reserved slot is `{"revision": 0, "reservedUntilMs"}`. Lua never writes an
 * entry anew, because it does not keep all digits of a revision.
 *
 * A claim is `<place> <teamId>/<keyId>`: where the first record of a key with this digest was appended. `digestClaims` holds the
 * claims of all live keys that have the digest now; the first one in the order of places holds it. `keyClaims` keeps the places of
 * every digest that a key ever had, so that neither the order nor the number of times in which records are applied matters. Of two
 * records with one revision, which two writers made at once, the one that revokes the key is the newer.
 */
export const applyScript = `
local teamKeys, deletedKeys, keyClaims, digestClaims, holders, complete = unpack(KEYS)
local team, id, revision, record, digest, place, mayDisplace, runId = unpack(ARGV)
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
local places = cjson.decode(redis.call('HGET', keyClaims, id) or '{}')
local function claimOf(of) return places[of] .. ' ' .. team .. '/' .. id end
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
if not places[digest] or place < places[digest] then places[digest] = place end
local newDigest = isNewer and digest or oldDigest
if not newDigest then
  redis.call('HSET', keyClaims, id, cjson.encode(places))
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

redis.call('HSET', keyClaims, id, cjson.encode(places))
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

/** The entries of a team's keys that hold their digests. */
export const listScript = `${holdsItsDigest}
local teamKeys, holders = unpack(KEYS)
local all, held = redis.call('HGETALL', teamKeys), {}
for i = 2, #all, 2 do
  if holdsItsDigest(cjson.decode(all[i]), holders) then held[#held + 1] = all[i] end
end
return held`

/** A reserved slot is below every record, and given up when its time is over. A key without its digest takes none. */
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

export const completeScript = `
if redis.call('DEL', KEYS[2]) == 0 then return 0 end
redis.call('SET', KEYS[1], ARGV[1])
return 1`
