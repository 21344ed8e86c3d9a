#!/bin/sh
# Loads what has changed since the last run into a folder: TIDEMARK_URL, TIDEMARK_KEY; curl.sh FOLDER.
# Each run leaves records-<watermark>.ndjson with new and changed submissions, and a line for each deleted one.
set -eu
folder=$1
since=$(cat "$folder/watermark" 2>/dev/null || echo 1970-01-01T00:00:00.000Z)

# --fail: an error is no data; an answer that breaks off is an error, too. --retry waits as long as Retry-After says.
curl --fail --silent --show-error --get --retry 10 --compressed \
  --header "Authorization: Bearer $TIDEMARK_KEY" --header 'Accept: application/x-ndjson' \
  --data-urlencode "changedSince=$since" --data includeDeleted=true \
  --dump-header "$folder/headers" --output "$folder/part" "$TIDEMARK_URL/records"

watermark=$(tr -d '\r' <"$folder/headers" | sed -n 's/^[Rr]eplica-[Ww]atermark: //p' | tail -n 1)
mv "$folder/part" "$folder/records-$(echo "$watermark" | tr -d ':').ndjson"
echo "$watermark" >"$folder/watermark"
