import { type Language, questions } from './language.ts'

export const chinese: Language = {
  locale: 'zh_CN',
  systemText: {
    start: '开始',
    next: '下一页',
    back: '上一页',
    submit: '提交',
    required: '请回答此题。',
    thanks: '感谢参与！报告正在生成。',
  },
  contact: {
    page: '个人信息',
    name: '姓名',
    email: '电子邮箱',
    comment: '您还有什么想补充的吗？',
    heardFrom: '您是如何得知本测验的？',
    channels: ['公众号', '同事推荐', '社交媒体', '线下活动'],
  },
  agreement: ['非常不同意', '不同意', '一般', '同意', '非常同意'],
  levels: [
    {
      name: '入门',
      summary: '在《{subject}》中，您刚刚起步，部分基础知识还需要补充。',
      suggestions: '建议先学习入门单元，两周后再次测验。每天十分钟比一次学两小时更有效。',
    },
    {
      name: '进阶',
      summary: '您已了解《{subject}》的主要概念，但在具体情境中还不够熟练。',
      suggestions: '请选择得分最低的两个维度，各完成一个实际案例练习。',
    },
    {
      name: '熟练',
      summary: '您在《{subject}》方面基础扎实，能够从容应对大多数情况。',
      suggestions: '补齐剩余的薄弱点，并把经验分享给新同事。',
    },
    {
      name: '精通',
      summary: '成绩优异！在《{subject}》中，您位居本季度参与者前列。',
      suggestions: '可以尝试指导他人，并参加高级测验以保持水平。',
    },
  ],
  remarks: [
    '“{dimension}”的提升空间最大，多道题的作答显示出犹豫。',
    '“{dimension}”表现中等，多加练习会让判断更快。',
    '“{dimension}”是您的优势，忙碌时也值得信赖。',
  ],
  dimensionsTitle: '能力画像',
  advice: [
    '从作答情况看，建议优先关注“{dimension}”：每周安排两次、每次二十分钟的练习，并记录一个实际应用的场景，月底回顾时会看到明显变化。',
    '不妨试着向团队以外的人讲解“{dimension}”。凡是讲得不流畅的地方，往往就是还可以继续学习的地方。',
    '与全体参与者的平均水平相比，您在“{dimension}”上的差距其实比感觉中要小，稳步前进即可。',
    '把下个月拆成小步骤来完成。围绕“{dimension}”养成一个具体的习惯，比列出一长串计划更有价值。',
    '请一位同事观察您一天的工作，并告诉您他对“{dimension}”的印象。来自实践的反馈胜过任何测验。',
    '再次参加《{subject}》时，请选择一个安静的时间段：约五分之一的题目作答速度过快，可能影响了结果。',
  ],
  comments: ['题目清晰，谢谢。', '第三题的选项有点相似。', '可以把报告导出为 PDF 吗？', '手机上作答很流畅。'],
  people: {
    given: [
      '伟|wei',
      '芳|fang',
      '子涵|zihan',
      '浩然|haoran',
      '静怡|jingyi',
      '磊|lei',
      '欣妍|xinyan',
      '宇轩|yuxuan',
      '丽娜|lina',
    ],
    family: ['王|wang', '李|li', '张|zhang', '刘|liu', '陈|chen', '赵|zhao', '周|zhou', '吴|wu', '欧阳|ouyang'],
    order: 'family first',
  },
  editions: ['{title}', '{title}（{year}年版）', '{title} 复习版'],
  subjects: [
    {
      scene: 'knowledge_quiz',
      key: 'information-security-cn',
      title: '信息安全知识测试',
      description: '面向全体员工的年度测验：账号、邮件、数据与应急处理。',
      dimensions: ['账号安全', '邮件防范', '数据保护', '应急处理'],
      questions: questions(`
        以下哪种密码最安全？ | 长口令加动态验证码 | 生日 | 手机号后六位 | 公司名称
        收到陌生链接时应该怎么做？ | 不点击并上报 | 先打开看看 | 转发给同事 | 回复询问
        客户名单应存放在哪里？ | 有权限控制的文件夹 | 个人网盘 | 桌面 | 公开群聊
        发现电脑中毒后首先要做什么？ | 断网并报告 | 重启 | 继续工作 | 安装游戏
        离开座位时应该怎么做？ | 锁定屏幕 | 关闭显示器 | 什么都不做 | 把密码贴在屏幕上
        如何识别钓鱼邮件？ | 核对发件人域名 | 看字体大小 | 看发送时间 | 看附件名称长度
      `),
    },
    {
      scene: 'outcome_quiz',
      key: 'career-personality-cn',
      title: '你的职业性格类型',
      description: '五个情境，四种类型，看看你的能量来自哪里。',
      outcomes: ['分析者', '创造者', '联结者', '组织者'],
      questions: questions(`
        工作中突然空出一个下午，你会？ | 研究数据 | 画新想法的草图 | 找其他团队聊聊 | 整理待办事项
        开会时，你通常是…… | 追问依据的人 | 提出新点子的人 | 活跃气氛的人 | 控制时间的人
        项目延期了，你的第一反应是？ | 查找原因 | 换一种做法 | 与相关的人沟通 | 重新排计划
        你最难忘的一句表扬是？ | 你找到了关键 | 别人想不到 | 有你团队才像团队 | 一切井井有条
        最离不开的工具是？ | 电子表格 | 白板 | 电话 | 日历
      `),
    },
  ],
}
