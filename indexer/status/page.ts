import { html } from 'hono/html'
import { isHealthy } from '../../src/core/process/health.ts'
import type { Html } from './html.ts'
import { partitions } from './partitions.ts'
import { checks, thisIndexer } from './processes.ts'
import { indices } from './stores.ts'
import { tiles } from './tiles.ts'
import type { StatusView } from './view.ts'
import { duration, timeOfDay } from './words.ts'

export type AssetPaths = { readonly style: string; readonly script: string; readonly icon: string }

export const refreshSeconds = 5

/** The whole document. Without JavaScript the browser loads it anew; with it, the script puts the new content in its place. */
export function statusPage(view: StatusView, assets: AssetPaths): Html {
  const { nowMs, checks: results, own, observed, isRefreshing } = view
  const { watermarkMs } = observed
  const age = watermarkMs === undefined ? 'no tidemark' : duration(Math.max(0, nowMs - watermarkMs) / 1_000)
  const isReady = isHealthy(results)
  const problems = results.filter(({ problem }) => problem !== undefined)
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${isReady ? '' : 'Not ready · '}${age} – Tidemark status</title>
<link rel="icon" href="${assets.icon}" type="image/svg+xml">
<link rel="stylesheet" href="${assets.style}">
${
  isRefreshing
    ? html`<noscript><meta http-equiv="refresh" content="${refreshSeconds}"></noscript>
<script src="${assets.script}" data-seconds="${refreshSeconds}" defer></script>`
    : ''
}
</head>
<body>
<header class="bar">
<div class="bar-inner">
<a class="brand" href="/status"><img src="${assets.icon}" alt="" width="28" height="28"><span>Tidemark status</span></a>
<div class="bar-end">
${
  isRefreshing
    ? html`<span class="muted">Refreshes every ${refreshSeconds} s</span> <a href="/status?refresh=off">Pause</a>`
    : html`<span class="muted">Paused</span> <a href="/status">Resume</a>`
}
</div>
</div>
</header>
<main>
<p class="lost" role="alert" hidden>The indexer does not answer. What you see is what it said last.</p>
<div class="head">
<h1>${isReady ? 'Ready' : 'Not ready'} <span class="badge ${isReady ? 'good' : 'bad'}">${isReady ? 'every check is ok' : `${problems.length} of ${results.length} checks ${problems.length === 1 ? 'is' : 'are'} not ok`}</span></h1>
<p class="lead">${
    watermarkMs === undefined
      ? 'There is no watermark: nothing is promised of how complete answers are.'
      : html`Everything appended to Kafka before <time datetime="${new Date(watermarkMs).toISOString()}">${timeOfDay(watermarkMs)}</time> is searchable.`
  } Seen by ${own.name} at <time datetime="${new Date(nowMs).toISOString()}">${timeOfDay(nowMs)}</time> UTC.</p>
${isReady ? '' : html`<ul class="problems" role="list">${problems.map(({ name, problem }) => html`<li><strong>${name}</strong> ${problem}</li>`)}</ul>`}
</div>
${tiles(view)}
${partitions(view)}
<div class="columns">
<div class="stack">
${indices(view)}
${thisIndexer(view)}
</div>
${checks(view)}
</div>
</main>
</body>
</html>
`
}
