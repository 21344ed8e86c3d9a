import { deletedRevision } from '../model/ids.ts'

/*
 * The Lua scripts of the account-key store. Each is atomic.
 *
 * An entry of `teamKeys` is `{"revision", "key", "expiresAtMs", "at"}`: the newest record, and its position if it is known. A reserved
 * slot is `{"revision": 0, "reservedUntilMs"}`. Lua never writes an entry anew, because it does not keep all digits of a revision.
 *
 * A claim is `<position> <teamId>/<keyId>`: where the first record of a key with this digest was appended. The first claim in the order
 * of positions holds the digest. `digestClaims` has the claims of all live keys with a digest, while there are several. `keyClaims` has
 * the positions of all digests that a key ever had, as far as its entry does not tell them, so that neither the order nor the number of
 * times in which records are applied matters.
 */

/** After every other. */
export const lastPosition = '9999-12-31T23:59:59.999Z/9999999999/9999999999999999999'

/** What a look-up by digest finds. */
const holderOf = `
local function holderOf(team, id, entry)
  local expiresAtMs = entry.expiresAtMs and string.format('%.0f', entry.expiresAtMs) or 'null'
  return '{"teamId":"' .. team .. '","keyId":"' .. id .. '","state":"' .. entry.key.state .. '","expiresAtMs":' .. expiresAtMs .. '}'
end`

/** Of two records with one revision, which two writers made at once, the one that revokes the key is the newer. */
export const applyScript = `${holderOf}
local teamKeys, deletedKeys, keyClaims, digestClaims, holders, complete = unpack(KEYS)
local team, id, revision, record, digest, position, mayDisplace, runId = unpack(ARGV)
revision = tonumber(revision)
if complete and redis.call('GET', complete) ~= runId then return cjson.encode({outcome = 'incomplete'}) end
if redis.call('SISMEMBER', deletedKeys, id) == 1 then return cjson.encode({outcome = 'stale', isDeleted = true}) end

local function entryOf(itsTeam, itsId)
  local text = redis.call('HGET', teamKeys .. itsTeam, itsId)
  return text and cjson.decode(text) or {revision = 0}, text
end
local function positionsOf(itsTeam, itsId, entry)
  local positions = cjson.decode(redis.call('HGET', keyClaims .. itsTeam, itsId) or '{}')
  local its = entry.key and entry.key.digest
  if its and not positions[its] then positions[its] = entry.at or '${lastPosition}' end
  return positions
end
local function claimOf(itsPosition, itsTeam, itsId) return itsPosition .. ' ' .. itsTeam .. '/' .. itsId end
local function firstClaim(of) return redis.call('ZRANGE', digestClaims .. of, 0, 0)[1] end
local function claimant(claim) return string.match(claim, '^%S+ ([^/]+)/(.+)$') end
local function openClaims(of)
  local holder = redis.call('GET', holders .. of)
  if not holder or redis.call('ZCARD', digestClaims .. of) > 0 then return end
  local its = cjson.decode(holder)
  local positions = positionsOf(its.teamId, its.keyId, entryOf(its.teamId, its.keyId))
  redis.call('ZADD', digestClaims .. of, 0, claimOf(positions[of], its.teamId, its.keyId))
end
local function closeClaims(of)
  local first = firstClaim(of)
  if first then
    local itsTeam, itsId = claimant(first)
    redis.call('SET', holders .. of, holderOf(itsTeam, itsId, (entryOf(itsTeam, itsId))))
  else redis.call('DEL', holders .. of) end
  if redis.call('ZCARD', digestClaims .. of) == 1 then redis.call('DEL', digestClaims .. of) end
end

local old, oldText = entryOf(team, id)
local oldDigest = old.key and old.key.digest
local positions = positionsOf(team, id, old)
local oldClaim = oldDigest and claimOf(positions[oldDigest], team, id)
if oldDigest then openClaims(oldDigest) end

if revision == ${deletedRevision} then
  redis.call('HDEL', teamKeys .. team, id)
  redis.call('HDEL', keyClaims .. team, id)
  redis.call('SADD', deletedKeys, id)
  if oldDigest then
    redis.call('ZREM', digestClaims .. oldDigest, oldClaim)
    closeClaims(oldDigest)
  end
  return cjson.encode({outcome = 'applied', isDeleted = true})
end

local isNewer, isOlder, isSame = revision > old.revision, revision < old.revision, false
if revision == old.revision and old.key then
  local isRevoked, wasRevoked = cjson.decode(record).key.state == 'revoked', old.key.state == 'revoked'
  isNewer, isOlder = isRevoked and not wasRevoked, wasRevoked and not isRevoked
  isSame = isRevoked == wasRevoked
end
local isStored = isNewer or isSame and not old.at
if not positions[digest] or position < positions[digest] then positions[digest] = position end
local newDigest = isStored and digest or oldDigest
if not newDigest then
  redis.call('HSET', keyClaims .. team, id, cjson.encode(positions))
  return cjson.encode({outcome = 'stale'})
end

openClaims(newDigest)
local claim, before = claimOf(positions[newDigest], team, id), firstClaim(newDigest)
if oldClaim then redis.call('ZREM', digestClaims .. oldDigest, oldClaim) end
redis.call('ZADD', digestClaims .. newDigest, 0, claim)
local first = firstClaim(newDigest)
local isDisplacing = first == claim and before and before ~= claim and before ~= oldClaim
if isDisplacing and mayDisplace ~= '*' and mayDisplace ~= before then
  redis.call('ZREM', digestClaims .. newDigest, claim)
  if oldClaim then redis.call('ZADD', digestClaims .. oldDigest, 0, oldClaim) end
  closeClaims(newDigest)
  if oldDigest and oldDigest ~= newDigest then closeClaims(oldDigest) end
  local _, entry = entryOf(claimant(before))
  return cjson.encode({outcome = 'displaces', first = before, entry = entry})
end

if isStored then redis.call('HSET', teamKeys .. team, id, record) end
local told = isStored and position or old.at or '${lastPosition}'
if positions[newDigest] == told then positions[newDigest] = nil end
if next(positions) then redis.call('HSET', keyClaims .. team, id, cjson.encode(positions))
else redis.call('HDEL', keyClaims .. team, id) end
local answer = {outcome = isNewer and 'applied' or 'stale'}
if first ~= claim and not isOlder then answer.outcome = 'digest-held' end
if redis.call('ZCARD', digestClaims .. newDigest) > 1 then
  answer.digest, answer.claim, answer.first = newDigest, claim, first
end
if isOlder then answer.entry = oldText end
closeClaims(newDigest)
if oldDigest and oldDigest ~= newDigest then closeClaims(oldDigest) end
return cjson.encode(answer)`

const holdsItsDigest = `${holderOf}
local function holdsItsDigest(team, id, entry, holders)
  return entry.revision > 0 and redis.call('GET', holders .. entry.key.digest) == holderOf(team, id, entry)
end`

/** The entries of a team's keys that hold their digests. */
export const listScript = `${holdsItsDigest}
local teamKeys, holders = unpack(KEYS)
local all, held = redis.call('HGETALL', teamKeys), {}
for i = 1, #all, 2 do
  if holdsItsDigest(ARGV[1], all[i], cjson.decode(all[i + 1]), holders) then held[#held + 1] = all[i + 1] end
end
return held`

/** A reserved slot is below every record, and given up when its time is over. A key without its digest takes none. */
export const reserveScript = `${holdsItsDigest}
local teamKeys, deletedKeys, holders = unpack(KEYS)
local team, id, now, untilMs, max = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4], tonumber(ARGV[5])
if redis.call('SISMEMBER', deletedKeys, id) == 1 then return 'deleted' end
local held = redis.call('HGETALL', teamKeys)
local taken = 0
for i = 1, #held, 2 do
  local slot = cjson.decode(held[i + 1])
  if held[i] == id then
    if slot.revision > 0 then return 'held' end
  elseif slot.revision == 0 then
    if slot.reservedUntilMs < now then redis.call('HDEL', teamKeys, held[i]) else taken = taken + 1 end
  elseif holdsItsDigest(team, held[i], slot, holders) then taken = taken + 1 end
end
if taken >= max then return 'full' end
redis.call('HSET', teamKeys, id, '{"revision":0,"reservedUntilMs":' .. untilMs .. '}')
return 'reserved'`

export const completeScript = `
if redis.call('DEL', KEYS[2]) == 0 then return 0 end
redis.call('SET', KEYS[1], ARGV[1])
return 1`
