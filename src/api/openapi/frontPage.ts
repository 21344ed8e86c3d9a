import { contentSecurityPolicy, html, htmlDocument } from '../../core/process/html.ts'
import { languageSwitch, respondInLanguage } from '../../core/process/languages.ts'
import { pageAssets, readStyle, respondWithFile, type StaticFile, staticFile } from '../../core/process/staticFile.ts'
import type { ApiMiddleware } from '../context.ts'
import { descriptionPath } from './docsPage.ts'

const english = {
  language: 'en',
  languageName: 'English',
  languageSwitch: 'Language',
  about: "Scripts and dashboards read a team's quiz forms and their submissions here, as JSON, NDJSON or CSV.",
  docs: 'API documentation',
  description: 'OpenAPI description',
  explore: 'Explore submissions',
  first: 'A first request',
  key: 'An owner of the team creates the key in the settings area.',
}

const chinese: typeof english = {
  language: 'zh-Hans',
  languageName: '简体中文',
  languageSwitch: '语言',
  about: '脚本和仪表板可以在此读取团队的测验表单及其提交记录，格式为 JSON、NDJSON 或 CSV。',
  docs: 'API 文档',
  description: 'OpenAPI 描述',
  explore: '浏览提交记录',
  first: '第一个请求',
  key: '密钥由团队所有者在设置页面中创建。',
}

/** Stands for the origin until the browser names it, where no `BASE_URL` does. */
const defaultOrigin = 'http://127.0.0.1:3000'
const script = `const request = document.querySelector('textarea')
request.value = request.value.replace('"${defaultOrigin}/', \`"\${location.origin}/\`)
request.addEventListener('focus', () => request.select())
`

const { paths, files } = pageAssets('/docs', readStyle(), script)

/** Answers `/` to whoever prefers HTML over JSON, as browsers do, and the files that the page loads. For others `/` is no route. */
export function frontPage(baseUrl: string): ApiMiddleware {
  const request = `curl -H "Authorization: Bearer <API_KEY>" "${new URL(baseUrl, defaultOrigin)}/forms?limit=1"`
  const headers = { 'Content-Security-Policy': contentSecurityPolicy({}), 'Referrer-Policy': 'no-referrer' }
  const pageIn = (say: typeof english): typeof english & { readonly page: StaticFile } => {
    const text = htmlDocument({
      language: say.language,
      title: 'Tidemark API',
      assets: paths,
      head: html`<script src="${paths.script}" defer></script>`,
      brand: { name: 'Tidemark API', href: '/' },
      barEnd: languageSwitch([english, chinese], say, '/'),
      main: html`<h1>Tidemark</h1>
<p>${say.about}</p>
<p class="hstack"><a class="button" href="/docs" hreflang="en">${say.docs}</a> <a class="button outline" href="${descriptionPath}" hreflang="en">${say.description}</a> <a class="button outline" href="/explore">${say.explore}</a></p>
<section class="card">
<h2 id="first">${say.first}</h2>
<p id="key">${say.key}</p>
<textarea readonly rows="4" aria-labelledby="first" aria-describedby="key">${request}</textarea>
</section>`,
    })
    return { ...say, page: staticFile('html', String(text), 'public, no-cache', headers) }
  }
  const pages = [pageIn(english), pageIn(chinese)] as const
  return (ctx, next) => {
    if (!['GET', 'HEAD'].includes(ctx.method)) return next()
    const file = files.get(ctx.path)
    if (file !== undefined) return respondWithFile(ctx, file)
    if (ctx.path !== '/' || ctx.accepts('json', 'html') !== 'html') return next()
    respondInLanguage(ctx, pages)
    return ctx.vary('Accept')
  }
}
