#!/bin/sh
# Loads what has changed since the last run into a folder: TIDEMARK_URL, TIDEMARK_KEY; curl.sh FOLDER.
# Each run leaves records-<since>_<watermark>.ndjson with submissions that are new or have changed since the last run's watermark, and
# a line for each deleted one. Later runs have later names; one whose watermark did not move is repeated by the next.
# FIELDS leaves only these fields, besides id: FIELDS=submittedAt,result.score
set -eu
folder=$1
since=$(cat "$folder/watermark" 2>/dev/null || echo 1970-01-01T00:00:00.000Z)
# Another run may not have ended.
work=$(mktemp -d "$folder/.run.XXXXXX")
trap 'rm -rf "$work"' EXIT

# --fail: an error is no data; an answer that breaks off is an error, too. --retry waits as long as Retry-After says.
curl --fail --silent --show-error --get --retry 10 --compressed \
  --header "Authorization: Bearer $TIDEMARK_KEY" --header 'Accept: application/x-ndjson' \
  --data-urlencode "changedSince=$since" --data includeDeleted=true ${FIELDS:+--data-urlencode "fields=id,$FIELDS"} \
  --dump-header "$work/headers" --output "$work/part" "$TIDEMARK_URL/records"

watermark=$(tr -d '\r' <"$work/headers" | sed -n 's/^[Rr]eplica-[Ww]atermark: //p' | tail -n 1)
if [ -z "$watermark" ]; then
  echo 'The answer has no Replica-Watermark: nobody knows where the next run would begin.' >&2
  exit 1
fi
mv "$work/part" "$folder/records-$(echo "${since}_$watermark" | tr -d ':').ndjson"
echo "$watermark" >"$work/watermark"
mv "$work/watermark" "$folder/watermark"
