import type { Language } from './language.ts'

export const french: Language = {
  locale: 'fr_FR',
  systemText: {
    start: 'Commencer',
    next: 'Suivant',
    back: 'Retour',
    submit: 'Envoyer',
    required: 'Merci de répondre à cette question.',
    thanks: 'Merci ! Votre rapport est en préparation.',
  },
  contact: {
    page: 'À propos de vous',
    name: 'Nom et prénom',
    email: 'Adresse e-mail',
    comment: 'Souhaitez-vous ajouter quelque chose ?',
    heardFrom: 'Comment avez-vous connu ce questionnaire ?',
    channels: ['Lettre d’information', 'Un collègue', 'Réseaux sociaux', 'Salon professionnel'],
  },
  agreement: ['Pas du tout d’accord', 'Plutôt pas d’accord', 'Neutre', 'Plutôt d’accord', 'Tout à fait d’accord'],
  levels: [
    {
      name: 'Débutant',
      summary: 'Pour « {subject} », vous en êtes aux premiers pas ; quelques bases restent à poser.',
      suggestions: 'Commencez par le module d’introduction et refaites le questionnaire dans deux semaines.',
    },
    {
      name: 'En progrès',
      summary: 'Les grandes idées de « {subject} » sont acquises, mais pas encore dans toutes les situations.',
      suggestions: 'Choisissez les deux domaines les plus faibles et travaillez un exemple concret pour chacun.',
    },
    {
      name: 'Confirmé',
      summary: 'Vos résultats pour « {subject} » sont solides et vous gérez la plupart des situations avec assurance.',
      suggestions: 'Comblez les dernières lacunes et partagez vos bonnes pratiques avec un nouveau collègue.',
    },
    {
      name: 'Excellent',
      summary: 'Un résultat remarquable : pour « {subject} », vous êtes parmi les meilleurs du trimestre.',
      suggestions: 'Proposez votre aide aux autres et entretenez cet équilibre au fil des mois.',
    },
  ],
  remarks: [
    'C’est en « {dimension} » que votre marge de progression est la plus grande.',
    'Le domaine « {dimension} » est correct ; un peu plus de régularité ferait la différence.',
    '« {dimension} » compte parmi vos points forts, même dans les périodes chargées.',
  ],
  dimensionsTitle: 'Votre profil',
  advice: [
    'Vos réponses invitent à commencer par « {dimension} » : réservez vingt minutes deux fois par semaine et notez une situation où vous l’avez mis en pratique.',
    'Essayez d’expliquer « {dimension} » à une personne extérieure à votre équipe ; chaque hésitation indique une piste de progrès.',
    'En « {dimension} », l’écart avec la moyenne des participants est plus faible qu’il n’y paraît.',
    'Avancez par petites étapes : une habitude concrète liée à « {dimension} » vaut mieux qu’une longue liste de bonnes intentions.',
    'Demandez à un collègue ce qu’il observe chez vous à propos de « {dimension} » ; le terrain en dit plus qu’un test.',
    'La prochaine fois, répondez à « {subject} » à un moment plus calme : un cinquième de vos réponses a été très rapide.',
  ],
  comments: [
    'Questions claires, merci.',
    'La question 2 m’a fait réfléchir.',
    'Serait-il possible de recevoir le rapport en PDF ?',
    'Un peu long sur téléphone, mais utile.',
  ],
  people: {
    given: ['Chloé', 'Lucas', 'Inès', 'Étienne', 'Camille', 'Théo', 'Aïcha', 'Hugo', 'Margaux', 'François', 'Noémie'],
    family: ['Martin', 'Lefèvre', 'Benali', 'Moreau', 'Dubois', 'Garnier', 'Lemaître', 'Rousseau', 'Traoré', 'Perrin'],
    order: 'given first',
  },
  editions: ['{title}', '{title} {year}', '{title} (version courte)'],
  subjects: [
    {
      scene: 'scored_quiz',
      key: 'bien-etre',
      title: 'Évaluation du bien-être au travail',
      description:
        'Huit affirmations sur votre quotidien professionnel. Les réponses ne sont lues que de façon agrégée.',
      dimensions: ['Énergie', 'Relations', 'Sens', 'Équilibre'],
      statements: [
        'Je commence la journée avec entrain.',
        'Je peux compter sur mes collègues.',
        'Je comprends à quoi sert mon travail.',
        'Je quitte le travail à une heure raisonnable.',
        'Je dors assez pour être en forme.',
        'Les désaccords se règlent avec respect.',
        'Mes efforts sont reconnus.',
        'Je déconnecte pendant mes congés.',
      ],
    },
    {
      scene: 'outcome_quiz',
      key: 'type-de-voyageur',
      title: 'Quel type de voyageur êtes-vous ?',
      description: 'Cinq questions pour trouver l’escapade qui vous ressemble.',
      outcomes: ['L’Explorateur', 'L’Épicurien', 'Le Contemplatif', 'L’Organisateur'],
      questions: [
        [
          'Votre bagage idéal ?',
          'Un sac à dos',
          'Une valise à moitié vide',
          'Un carnet de dessin',
          'Une liste bien cochée',
        ],
        [
          'Le premier matin, vous…',
          'partez sans plan',
          'cherchez le marché',
          'regardez le lever du soleil',
          'suivez l’itinéraire',
        ],
        [
          'Le meilleur souvenir ?',
          'Un sentier perdu',
          'Un dîner inoubliable',
          'Le silence d’un lac',
          'Un trajet sans accroc',
        ],
        [
          'Le train est en retard.',
          'Je visite le quartier',
          'Je trouve une terrasse',
          'Je lis',
          'Je réserve le suivant',
        ],
        ['Vous rapportez…', 'des histoires', 'des épices', 'des photos', 'tous les billets'],
      ],
    },
  ],
}
