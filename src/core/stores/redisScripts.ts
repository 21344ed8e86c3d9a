import { entityTypes } from '../model/teamList.ts'
import { script } from './redis.ts'

/*
 * All Lua that Redis runs, of the account keys, the lists and the watermark. Each script is atomic.
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
export const applyScript = script(`${decode}
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
return {'applied'}`)

/**
 * A reserved slot is below every record, and given up when its time is over. The name of the completeness marker is a value: the settings area
 * may only read it.
 */
export const reserveScript = script(`${decode}
local teamKeys = KEYS[1]
local id, now, untilMs, max = ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])
local complete, runId = ARGV[5], ARGV[6]
if redis.call('GET', complete) ~= runId then return 'incomplete' end
local held = redis.call('HGETALL', teamKeys)
local own, taken = {}, 0
for i = 1, #held, 2 do
  local slot = decode(held[i + 1])
  if held[i] == id then own = slot
  elseif slot.reservedUntilMs and slot.reservedUntilMs < now then redis.call('HDEL', teamKeys, held[i])
  elseif not slot.isDeleted then taken = taken + 1 end
end
if own.isDeleted then return 'deleted' end
local isFull = taken >= max
if own.key then return isFull and 'surplus' or 'held' end
if isFull then return 'full' end
redis.call('HSET', teamKeys, id, ' {"revision":0,"reservedUntilMs":' .. untilMs .. '}')
return 'reserved'`)

export const completeScript = script(`
if redis.call('DEL', KEYS[2]) == 0 then return 0 end
redis.call('SET', KEYS[1], ARGV[1])
return 1`)

/**
 * Lua that defines `freshnessOf(team, first)`; the arguments from ARGV[first] on are `freshnessNames`. A script that includes it reads
 * all of it at one moment, so that no token is older than the watermark.
 */
const freshnessLua = `
local function freshnessOf(team, first)
  local read = redis.call('HMGET', ARGV[first], 'published', 'run', 'generation')
  for _, type in ipairs({${entityTypes.map((type) => `'${type}'`).join(', ')}}) do
    local list = type .. '/' .. team
    table.insert(read, redis.call('GET', ARGV[first + 2] .. list))
    table.insert(read, redis.call('EXISTS', ARGV[first + 1], ARGV[first + 3] .. list))
  end
  return read
end`

/** Names are values here: of a key that is declared as such, Redis would demand the right to write it. */
export const readListsScript = script(`${freshnessLua}\nreturn freshnessOf(ARGV[1], 2)`)

export const lookupScript = script(`${freshnessLua}
local complete, holders = redis.call('GET', ARGV[1]), redis.call('HVALS', ARGV[2])
if #holders ~= 1 then return {complete, false} end
return {complete, holders[1], unpack(freshnessOf(cjson.decode(holders[1]).teamId, 3))}`)

/** A digest that two live keys claim has no holder. */
export const holdersScript = script(`
local read = {redis.call('GET', ARGV[1]) or ''}
for i = 2, #ARGV do
  local holders = redis.call('HVALS', ARGV[i])
  read[i] = #holders == 1 and holders[1] or ''
end
return read`)

/**
 * A mark is its owner and the time of Redis (ms) until which it counts: those of others do not prolong it. A former claimant of the
 * partition may still write, but does not replace the mark of the current one.
 */
export const markScript = script(`
local owners, lifeMs, time = KEYS[#KEYS], tonumber(ARGV[#ARGV]), redis.call('TIME')
local nowMs = time[1] * 1000 + math.floor(time[2] / 1000)
for i = 1, #KEYS - 1 do
  local marks = redis.call('HGETALL', KEYS[i])
  for at = 1, #marks, 2 do
    local untilMs = tonumber(string.match(marks[at + 1], '%d+$') or '')
    if untilMs and untilMs <= nowMs then redis.call('HDEL', KEYS[i], marks[at]) end
  end
  local partition, owner = ARGV[2 * i - 1], ARGV[2 * i]
  if redis.call('HGET', owners, partition) == owner or not redis.call('HGET', KEYS[i], partition) then
    redis.call('HSET', KEYS[i], partition, string.format('%s %.0f', owner, nowMs + lifeMs))
  end
  redis.call('PEXPIRE', KEYS[i], lifeMs)
end
return 1`)

export const settleScript = script(`
for i, key in ipairs(KEYS) do
  local mark = redis.call('HGET', key, ARGV[2 * i - 1])
  if mark and string.match(mark, '^(.*) %d+$') == ARGV[2 * i] then redis.call('HDEL', key, ARGV[2 * i - 1]) end
end
return 1`)

/**
 * The watermark is the lowest partition watermark, once every partition has one. Neither of them ever goes back. Partition watermarks of
 * an earlier run of Redis are dropped: a Redis that comes back with an older state, or a replica that lagged and takes over, has older
 * ones than readers were told. What was published last it may have lost as well, so each publisher tells what it knows of that, also when
 * its partition watermarks are refused. Once a publisher withholds the watermark of a generation, nobody publishes it.
 */
export const publishScript = script(`
local highest = tonumber(redis.call('HGET', KEYS[1], 'highest') or '-1')
if tonumber(ARGV[5]) > highest then
  highest = tonumber(ARGV[5])
  redis.call('HSET', KEYS[1], 'highest', ARGV[5])
end
if redis.call('EXISTS', KEYS[2]) == 1 then return 'held' end
local generation = redis.call('HGET', KEYS[1], 'generation')
if not generation then return 'forgotten' end
if generation ~= ARGV[1] then return 'superseded' end
local every = cjson.decode(ARGV[4])
for i = 7, #ARGV, 2 do
  local owner = redis.call('HGET', KEYS[3], ARGV[i])
  if owner and owner ~= ARGV[3] then return 'displaced' end
end
if ARGV[6] == '1' then
  redis.call('HSET', KEYS[1], 'withheld', '1')
  redis.call('HDEL', KEYS[1], 'published')
end
if redis.call('HGET', KEYS[1], 'partitionsRun') ~= ARGV[2] then
  for _, name in ipairs(every) do redis.call('HDEL', KEYS[1], name) end
  redis.call('HSET', KEYS[1], 'partitionsRun', ARGV[2])
end
for i = 7, #ARGV, 2 do
  local known = tonumber(redis.call('HGET', KEYS[1], ARGV[i]) or '-1')
  if tonumber(ARGV[i + 1]) > known then redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
end
local lowest = nil
for _, name in ipairs(every) do
  local watermark = tonumber(redis.call('HGET', KEYS[1], name) or '-1')
  if watermark < 0 then return 'incomplete' end
  if lowest == nil or watermark < lowest then lowest = watermark end
end
if lowest == nil then return 'incomplete' end
if lowest < tonumber(redis.call('HGET', KEYS[1], 'floor') or '-1') then return 'behind' end
local published = math.max(lowest, tonumber(redis.call('HGET', KEYS[1], 'published') or '-1'))
if published < highest then return 'behind' end
redis.call('HDEL', KEYS[1], 'floor')
if redis.call('HGET', KEYS[1], 'withheld') then return 'withheld' end
redis.call('HSET', KEYS[1], 'published', string.format('%.0f', published), 'run', ARGV[2], 'highest', string.format('%.0f', published))
return string.format('%.0f', published)`)

/**
 * Partition watermarks belong to one generation and are dropped with it. The published watermark stays true across a switch,
 * unless a floor withdraws it. ARGV[3], if given, is the generation that this one replaces: where watermarks of a third one count, nothing
 * is changed, and the answer is 0.
 */
export const setGenerationScript = script(`
local kept = redis.call('HMGET', KEYS[1], 'generation', 'published', 'run', 'floor', 'highest', 'raised')
if ARGV[3] and kept[1] and kept[1] ~= ARGV[1] and kept[1] ~= ARGV[3] then return 0 end
if kept[1] ~= ARGV[1] then
  redis.call('DEL', KEYS[1])
  redis.call('HSET', KEYS[1], 'generation', ARGV[1])
  if kept[5] then redis.call('HSET', KEYS[1], 'highest', kept[5]) end
  if kept[6] then redis.call('HSET', KEYS[1], 'raised', kept[6]) end
  if kept[2] and kept[3] then redis.call('HSET', KEYS[1], 'published', kept[2], 'run', kept[3]) end
end
local floor = tonumber(ARGV[2])
if floor >= 0 then
  redis.call('HDEL', KEYS[1], 'published', 'run')
  redis.call('HSET', KEYS[1], 'floor', string.format('%.0f', math.max(floor, tonumber(kept[4] or '-1'))))
elseif kept[4] then
  redis.call('HSET', KEYS[1], 'floor', kept[4])
end
return 1`)

/**
 * What was published before this claim counts for the claimant, what a former owner publishes after it is refused. The former owner's watermark
 * of the partition goes: while another partition holds the published one back, it may be above that, and must not be published later.
 */
export const claimScript = script(`
if tonumber(ARGV[2]) > tonumber(redis.call('HGET', KEYS[1], 'highest') or '-1') then redis.call('HSET', KEYS[1], 'highest', ARGV[2]) end
for i = 3, #ARGV do
  redis.call('HSET', KEYS[2], ARGV[i], ARGV[1])
  redis.call('HDEL', KEYS[1], ARGV[i])
end
return redis.call('HMGET', KEYS[1], 'highest', 'raised')`)

export const noteRaisedScript = script(`
if tonumber(ARGV[1]) > tonumber(redis.call('HGET', KEYS[1], 'raised') or '0') then redis.call('HSET', KEYS[1], 'raised', ARGV[1]) end
return 1`)

export const extendHoldScript = script(
  `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0`,
)

export const releaseHoldScript = script(
  `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`,
)
