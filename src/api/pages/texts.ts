import type { Scene } from '../../core/model/form.ts'

/** `%` is replaced by a number. */
const texts = {
  language: ['en', 'zh-Hans'],
  languageName: ['English', '简体中文'],
  languageSwitch: ['Language', '语言'],
  frontAbout: [
    "Scripts and dashboards read a team's quiz forms and their submissions here, as JSON, NDJSON or CSV.",
    '脚本和仪表板可以在此读取团队的测验表单及其提交记录，格式为 JSON、NDJSON 或 CSV。',
  ],
  docs: ['API documentation', 'API 文档'],
  description: ['OpenAPI description', 'OpenAPI 描述'],
  firstRequest: ['A first request', '第一个请求'],
  keyMaker: ['An owner of the team creates the key in the settings area.', '密钥由团队所有者在设置页面中创建。'],
  title: ['Explore submissions', '浏览提交记录'],
  about: [
    "Your team's submissions, read from the API with your key. The key is not stored: it is gone once you leave this page.",
    '使用您的密钥从 API 读取团队的提交记录。密钥不会被保存，离开此页面后即消失。',
  ],
  noScript: ['This page needs JavaScript.', '此页面需要 JavaScript。'],
  key: ['Account key', '账户密钥'],
  noKey: ['Enter an account key first.', '请先输入账户密钥。'],
  show: ['Show', '显示'],
  form: ['Form', '表单'],
  titleSearch: ['Search titles', '搜索标题'],
  allForms: ['All forms', '全部表单'],
  noForm: ['Choose a form first.', '请先选择一个表单。'],
  formsFound: ['Forms found: %', '找到的表单：%'],
  counted: ['Count by', '统计依据'],
  level: ['Level', '等级'],
  outcome: ['Outcome', '结果'],
  utmCampaign: ['Campaign', '活动'],
  answer: ['Answer', '答案'],
  question: ['Question', '题目'],
  span: ['Time', '时间'],
  days: ['% days', '% 天'],
  timeZone: ['Time zone', '时区'],
  day: ['Day', '日期'],
  submissions: ['Submissions', '提交记录'],
  found: ['Submissions: %', '提交数：%'],
  chart: ['Chart of the submissions of each day', '每日提交记录图表'],
  chartHelp: [
    'Point at a day to see its numbers, or focus the chart and press the arrow keys.',
    '将指针移到某一天可查看其数字；也可聚焦图表后按方向键。',
  ],
  valuesShown: ['Values on show', '显示的值'],
  others: ['Others (%)', '其他（%）'],
  download: ['Download CSV', '下载 CSV'],
  numbers: ['Numbers of the chart', '图表中的数字'],
  value: ['Value', '值'],
  mean: ['Mean score', '平均分'],
  none: ['(none)', '（无）'],
  knowledge_quiz: ['Knowledge quiz', '知识测验'],
  random_knowledge_quiz: ['Random knowledge quiz', '随机知识测验'],
  scored_quiz: ['Scored quiz', '计分测验'],
  outcome_quiz: ['Outcome quiz', '结果测验'],
  perForm: ['Submissions of each form', '各表单的提交数'],
  requests: ['As requests', '对应的请求'],
  unreachable: ['The API cannot be reached.', '无法连接 API。'],
  again: ['Try again in % s.', '请在 % 秒后重试。'],
} as const satisfies Readonly<Record<Scene, unknown> & Record<string, readonly [english: string, chinese: string]>>

export type Texts = Readonly<Record<keyof typeof texts, string>>

const textsAt = (index: 0 | 1): Texts =>
  Object.fromEntries(Object.entries(texts).map(([name, translations]) => [name, translations[index]])) as Texts

/** English, then Chinese. */
export const catalogues = [textsAt(0), textsAt(1)] as const
