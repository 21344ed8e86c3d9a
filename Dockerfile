# One image for every process and command: `docker run tidemark --help` lists them; `api` by default. It writes nothing outside /app/var,
# which holds the keys of the sample and the secret of sign-in links, but the temporary file of a verification in TMPDIR.
ARG NODE_IMAGE=node:24-bookworm-slim

FROM ${NODE_IMAGE} AS dependencies
WORKDIR /app
COPY src/core/process/requiredNode.cjs src/core/process/
# Fails the build with exit code 78 when NODE_IMAGE has too old a Node.
RUN node src/core/process/requiredNode.cjs
COPY package.json package-lock.json ./
# No production dependency has an install script. Type declarations and source maps are not needed at run time.
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund \
 && find node_modules -type f \( -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' -o -name '*.map' \) -delete

FROM ${NODE_IMAGE}
ARG NODE_IMAGE
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Tidemark" \
      org.opencontainers.image.description="Read replica with search for quiz forms and submissions" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.base.name="${NODE_IMAGE}"
ENV NODE_ENV=production \
    PATH=/app/bin:$PATH \
    PORT=3000 \
    ADMIN_PORT=9100 \
    ADMIN_HOST=0.0.0.0
WORKDIR /app
RUN install -d -o node -g node -m 700 var
COPY --from=dependencies /app/node_modules node_modules
COPY package.json ./
COPY mappings mappings
# The only file of tools/engines that the sample imports.
COPY tools/engines/waiting.ts tools/engines/
COPY tools/sample tools/sample
COPY bin bin
COPY indexer indexer
COPY src src
# A clone made under a strict umask would be readable by root only.
RUN chmod -R a+rX package.json bin mappings tools indexer src

# The user `node`, by number: Kubernetes cannot tell by a name that it is not root. Any other user will do, but for the sample.
USER 1000:1000
EXPOSE 3000 9100
HEALTHCHECK --interval=10s --timeout=20s --start-period=30s CMD ["tidemark", "health", "/livez"]
ENTRYPOINT ["tidemark"]
CMD ["api"]
