#!/bin/sh
# Stands before `tidemark` on PATH with `secretsAs: files`: reads each secret into the variable that its file is named after.
set -eu
for file in "$SECRETS_FOLDER"/*; do
  [ -f "$file" ] || continue
  value=$(cat "$file")
  export "${file##*/}=$value"
done
exec /app/bin/tidemark "$@"
