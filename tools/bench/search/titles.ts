import { type Random, seededRandom } from '../../sample/random.ts'
import { zipf } from '../zipf.ts'

type Vocabulary = {
  readonly locale: string
  readonly share: number
  readonly words: readonly string[]
  readonly separator: ' ' | ''
  /** Whether two words may be written as one. */
  readonly hasCompounds?: boolean
}

const words = (text: string): string[] => text.trim().split(/\s+/)

const english = words(`
  quiz test the for of and training exam to in safety survey basics introduction final check feedback your assessment new
  product team knowledge level data course how skills security what sales onboarding practice review customer math unit
  service health chapter english you science history quarterly annual about compliance style is personality leadership
  my are week day policy risk management which workplace first class advanced research work mock communication
  certification marketing language questions student project fire food general awareness office school grade company with
  weekly plan brand digital learning home vocabulary biology world geography chemistry readiness module grammar physics
  summer career employee privacy evaluation software support midterm monthly self spring evidence protection best
  practices fun trivia music movie book animal travel sports football coffee wine city country capital holiday christmas
  halloween birthday party friend family love pet dog cat garden kitchen recipe nutrition diet fitness sleep stress
  mindset habit motivation teamwork conflict ethics diversity culture law contract finance budget accounting tax
  insurance bank invest market price retail store warehouse logistics delivery supply quality process audit machine
  engine electrical energy water climate environment recycling chemical hazard ladder helmet forklift driver vehicle
  traffic road bicycle train flight hotel restaurant waiter barista hygiene allergy medicine nurse patient anatomy
`)

const german = words(`
  quiz test der und für die prüfung schulung sicherheit wissen im von umfrage grundlagen einführung mitarbeiter
  unterweisung arbeitsschutz zu datenschutz abschluss kunden zwischenprüfung deutsch mathematik jahres produkt kapitel
  führung brandschutz geschichte erdkunde bewertung übung vertrieb gesundheit ernährung verkehr straße größe fragebogen
  qualität maschine lager hygiene küche betrieb ausbildung bewerbung zufriedenheit persönlichkeit erste hilfe umwelt
  energie rechnung gefahrstoffe klasse schüler lehrer wortschatz rechtschreibung chemie physik biologie musik fußball
`)

const chinese = words(`
  测试 考试 知识 培训 安全 调查 问卷 员工 产品 期末 期中 基础 新员工 满意度 客户 入职 模拟 练习 竞赛 年度 数学 英语 语文 性格 心理 健康
  管理 质量 信息 消防 生产 食品 卫生 物理 化学 历史 地理 第一章 第二章 第三章 复习 销售 服务 法律 合规 保密 急救 驾驶 交通 团队 领导力
  沟通 能力 评估 测评 职业 学习 单元 小学 初中 高中 招聘 面试 岗位 操作 规范 流程 设备 仓库 物流 财务 税务 保险 护理 医疗 中医 环保
`)

/** Words of quiz titles in three kinds of languages: separate words, compounds, and words without separators. */
const vocabularies: readonly Vocabulary[] = [
  { locale: 'en_US', share: 70, words: english, separator: ' ' },
  { locale: 'de_DE', share: 15, words: german, separator: ' ', hasCompounds: true },
  { locale: 'zh_CN', share: 15, words: chinese, separator: '' },
]

export type Title = { readonly text: string; readonly locale: string }

/** Of companies, products, courses and people: most distinct words are names. */
const names = 30_000
const nameShare = 0.18
const compoundShare = 0.3
const titleCaseShare = 0.6
/** How many titles in ten have 2, 3, … words before their ending. */
const lengths = [1, 3, 3, 2, 1]
const fewestWords = 2
const onsets = [...'bdfghklmnprstvz', 'br', 'ch', 'cl', 'gr', 'pl', 'qu', 'sh', 'st', 'th', 'tr']
const vowels = [...'aeiou', 'ai', 'ea', 'io', 'ou']
const codas = ['', '', '', 'l', 'm', 'n', 'r', 's', 'x', 'nd', 'rt']

const nameRanks = zipf(names, 1)
const languages = vocabularies.map((vocabulary) => ({ ...vocabulary, ranks: zipf(vocabulary.words.length, 0.9) }))
type Language = (typeof languages)[number]
const shares = vocabularies.map(({ share }) => share)

/** With word frequencies as in real titles. */
export function makeTitle(random: Random): Title {
  const language = languages[random.weighted(shares)] as Language
  const count = fewestWords + random.weighted(lengths)
  const words = Array.from({ length: count }, () => word(random, language))
  const isTitleCase = random.chance(titleCaseShare)
  const cased = words.map((word, at) => (at === 0 || isTitleCase ? capitalized(word) : word))
  return { text: cased.join(language.separator) + ending(random), locale: language.locale }
}

function word(random: Random, { words, ranks, hasCompounds = false }: Language): string {
  const one = (): string => words[ranks.rankAt(random.float())] ?? ''
  if (random.chance(nameShare)) return nameOf(nameRanks.rankAt(random.float()))
  return hasCompounds && random.chance(compoundShare) ? one() + one() : one()
}

function nameOf(rank: number): string {
  const random = seededRandom(`name/${rank}`)
  const syllables = Array.from(
    { length: 2 + random.weighted([2, 2, 1]) },
    () => random.pick(onsets) + random.pick(vowels),
  )
  return capitalized(syllables.join('') + random.pick(codas))
}

function ending(random: Random): string {
  const place = random.below(100)
  if (place < 12) return ` ${2016 + random.below(11)}`
  if (place < 17) return ' (copy)'
  if (place < 21) return ` v${2 + random.below(4)}`
  if (place < 28) return ` ${1 + random.below(40)}`
  if (place < 31) return ` - ${random.text('ABCDEFGHKLMNPRST', 3)}${100 + random.below(400)}`
  return ''
}

const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)
