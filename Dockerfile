# One image for every process: the API by default; `node indexer/main.ts`, `node settings/main.ts` and
# `node settings/keysCommand.ts` are the others.
FROM node:24-bookworm-slim

# KafkaJS waits negative times now and then; Node 24 would say so in the middle of the JSON log.
ENV NODE_ENV=production \
    NODE_OPTIONS=--disable-warning=TimeoutNegativeWarning \
    PORT=3000 \
    ADMIN_PORT=9100

WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --no-audit --no-fund --cache /tmp/npm && rm -rf /tmp/npm
COPY mappings mappings
COPY settings settings
COPY indexer indexer
COPY src src
# A clone made under a strict umask would be readable to root alone.
RUN chmod -R a+rX package.json mappings settings indexer src

USER node
EXPOSE 3000 9100
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + process.env.ADMIN_PORT + '/livez').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "src/main.ts"]
