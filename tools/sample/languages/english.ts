import { type Language, levels, questions } from './language.ts'

export const english: Language = {
  locale: 'en_US',
  systemText: {
    start: 'Start',
    next: 'Next',
    back: 'Back',
    submit: 'Submit',
    required: 'Please answer this question.',
    thanks: 'Thank you! Your report is being prepared.',
  },
  contact: {
    page: 'About you',
    name: 'Full name',
    email: 'Email address',
    comment: 'Anything you would like to add?',
    heardFrom: 'How did you hear about this quiz?',
    channels: ['Newsletter', 'A colleague', 'Social media', 'Event'],
  },
  agreement: ['Strongly disagree', 'Disagree', 'Neutral', 'Agree', 'Strongly agree'],
  levels: levels(`
    Getting started | You have made a first step in "{subject}". Several basics are still open, which is normal at this stage. | Begin with the introductory unit and repeat the quiz in two weeks. Short, regular sessions help most.
    Developing | You know the main ideas behind "{subject}", but they do not yet hold in every situation. | Pick the two weakest areas below and work through one practical example for each of them.
    Proficient | You are on solid ground in "{subject}" and handle most situations with confidence. | Close the remaining gaps and share what works for you with a colleague who is new to the topic.
    Expert | An excellent result: in "{subject}" you rank among the strongest participants of this quarter. | Consider mentoring others, and take the advanced quiz to keep your knowledge fresh.
  `),
  remarks: [
    '{dimension} is where you can gain the most. The answers show uncertainty in everyday cases.',
    '{dimension} is in fair shape; a little more routine would make your decisions quicker.',
    '{dimension} is one of your strengths. Keep relying on it when things get busy.',
  ],
  dimensionsTitle: 'Your profile',
  advice: [
    'Your answers suggest that {dimension} deserves attention first: reserve twenty minutes twice a week and note one situation in which you applied it.',
    'A useful exercise is to explain {dimension} to somebody outside your team. Wherever you hesitate, there is something left to learn.',
    'Compare your result in {dimension} with the average of all participants; the distance is smaller than it may feel.',
    'Plan the next month in small steps. One concrete habit related to {dimension} is worth more than a long list of intentions.',
    'Ask a colleague to observe you for a day and to tell you what they noticed about {dimension}. Feedback from practice beats any test.',
    'When you repeat "{subject}", take it at a calm moment of the day: about a fifth of your answers came very quickly.',
  ],
  comments: [
    'Clear questions, thank you.',
    'Question 3 was a bit ambiguous for people working in shifts.',
    'Could I get the report as a PDF?',
    'Took me about eight minutes on the phone, works well.',
  ],
  people: {
    given: ['Olivia', 'James', 'Amara', 'Noah', 'Priya', 'Ethan', 'Grace', 'Liam', 'Zoe', 'Marcus', 'Hannah', 'Owen'],
    family: ['Carter', 'Okafor', 'Bennett', 'Patel', 'Murphy', 'Hughes', 'Nguyen', 'Foster', 'Reid', 'Coleman'],
    order: 'given first',
  },
  editions: ['{title}', '{title} {year}', '{title} – Refresher'],
  subjects: [
    {
      scene: 'knowledge_quiz',
      key: 'data-protection',
      title: 'Data Protection Basics',
      description:
        'Ten minutes on personal data at work: what counts as personal, who may see it, and what to do in an incident.',
      dimensions: ['Legal basics', 'Secure handling', 'Rights of individuals', 'Incident response'],
      questions: questions(`
        Which of these is personal data? | A work email with a name | A sales total | A product code | A room number
        What is the safest way to share a customer list? | An access-controlled folder | A private email account | A printed copy on the desk | A public link
        A customer asks what you store about them. What now? | Pass the request on at once | Ignore it | Ask for a fee | Delete everything
        You sent a file to the wrong person. First step? | Report it immediately | Wait for a complaint | Send it again | Tell nobody
        When may data be kept? | As long as its purpose requires | Forever | Exactly one year | Until the disk is full
        What belongs in a strong sign-in? | A second factor | Your birthday | The team password | The company name
      `),
    },
    {
      scene: 'scored_quiz',
      key: 'team-leadership',
      title: 'Team Leadership Self-Assessment',
      description: 'Eight statements about how you lead. There are no right answers, only honest ones.',
      dimensions: ['Communication', 'Delegation', 'Trust', 'Decision-making'],
      statements: [
        'I tell my team the reasons behind a decision.',
        'I hand over whole tasks, not only parts of them.',
        'Mistakes are discussed openly in my team.',
        'I decide even when information is incomplete.',
        'I listen to the end before I answer.',
        'I let others choose their own way to a goal.',
        'I keep promises that I make to my team.',
        'I revise a decision when the facts change.',
      ],
    },
    {
      scene: 'outcome_quiz',
      key: 'career-path',
      title: 'Which Career Path Suits You?',
      description: 'Five situations, four directions. Find out where your energy comes from.',
      outcomes: ['The Analyst', 'The Creator', 'The Connector', 'The Organizer'],
      questions: questions(`
        A free afternoon at work. What do you do? | Dig into the numbers | Sketch a new idea | Have coffee with another team | Tidy up the backlog
        In meetings you are the one who … | asks for evidence | suggests something unusual | brings people together | keeps an eye on time
        Praise that you remember best? | You found the cause | Nobody else would have thought of it | You made us a team | Everything just worked
        A project is late. Your first move? | Find out why | Look for another way | Talk to everyone involved | Write a new plan
        Which tool would you miss most? | The spreadsheet | The whiteboard | The phone | The calendar
      `),
    },
  ],
}
