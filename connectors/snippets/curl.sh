#!/bin/sh
# Loads what has changed since the last run into a folder: TIDEMARK_URL, TIDEMARK_KEY; curl.sh FOLDER.
# Each run leaves files records-<number>.json, each a page of the change feed: submissions that are new or have changed, and deleted ones.
# The later a file's number, the newer is what it says. The next run begins at the cursor of the last file, so nothing else has to be kept.
# FIELDS leaves only these fields, besides id, changedAt and deleted: FIELDS=submittedAt,result.score. Other fields need another folder.
set -eu
folder=$1
work=$(mktemp -d "$folder/.run.XXXXXX")
trap 'rm -rf "$work"' EXIT

# The cursor of a page and whether there are more; both stand behind its items.
end_of() {
  tail -c 5000 "$1" | LC_ALL=C sed -n 's/.*"cursor":"\([^"]*\)","hasMore":\([a-z]*\)}$/\1 \2/p'
}

number=$(ls "$folder" | sed -n 's/^records-\([0-9]*\)\.json$/\1/p' | tail -n 1)
cursor=
if [ -n "$number" ]; then
  cursor=$(end_of "$folder/records-$number.json")
  cursor=${cursor% *}
fi
more=true
while [ "$more" = true ]; do
  # --fail: an error is no data; an answer that breaks off is an error, too. --retry waits as long as Retry-After says.
  if ! status=$(curl --fail --silent --show-error --get --retry 10 --compressed \
    --header "Authorization: Bearer $TIDEMARK_KEY" --data limit=1000 \
    ${cursor:+--data-urlencode "cursor=$cursor"} ${FIELDS:+--data-urlencode "fields=$FIELDS"} \
    --output "$work/page" --write-out '%{http_code}' "$TIDEMARK_URL/record-changes"); then
    [ "$status" != 410 ] || echo 'The API cannot tell any more what was deleted since the last run: load into an empty folder.' >&2
    exit 1
  fi
  end=$(end_of "$work/page")
  if [ -z "$end" ]; then
    echo 'The answer is no page of changes.' >&2
    exit 1
  fi
  # Nothing is new.
  [ "${end% *}" != "$cursor" ] || break
  cursor=${end% *} more=${end#* }
  number=$(printf %08d "$(expr "${number:-0}" + 1)")
  # Fails if another run has put its page there meanwhile.
  ln "$work/page" "$folder/records-$number.json"
  rm "$work/page"
done
