import { type Language, questions } from './language.ts'

export const german: Language = {
  locale: 'de_DE',
  systemText: {
    start: 'Los geht’s',
    next: 'Weiter',
    back: 'Zurück',
    submit: 'Absenden',
    required: 'Bitte beantworten Sie diese Frage.',
    thanks: 'Vielen Dank! Ihr Bericht wird erstellt.',
  },
  contact: {
    page: 'Angaben zur Person',
    name: 'Vor- und Nachname',
    email: 'E-Mail-Adresse',
    comment: 'Möchten Sie uns noch etwas mitteilen?',
    heardFrom: 'Wie sind Sie auf den Test aufmerksam geworden?',
    channels: ['Newsletter', 'Kollegin oder Kollege', 'Soziale Medien', 'Messe'],
  },
  agreement: ['Trifft gar nicht zu', 'Trifft eher nicht zu', 'Teils, teils', 'Trifft eher zu', 'Trifft voll zu'],
  levels: [
    {
      name: 'Einstieg',
      summary: 'Bei „{subject}“ stehen Sie noch am Anfang. Einige Grundlagen fehlen, das lässt sich gut aufholen.',
      suggestions: 'Beginnen Sie mit der Einführung und wiederholen Sie den Test in zwei Wochen.',
    },
    {
      name: 'Grundkenntnisse',
      summary: 'Die wichtigsten Begriffe rund um „{subject}“ sind Ihnen vertraut, im Alltag fehlt noch die Sicherheit.',
      suggestions:
        'Wählen Sie die zwei schwächsten Bereiche und üben Sie jeden davon an einem Beispiel aus Ihrer Arbeit.',
    },
    {
      name: 'Fortgeschritten',
      summary: 'In „{subject}“ haben Sie ein solides Fundament und treffen meist die richtige Entscheidung.',
      suggestions: 'Schließen Sie die letzten Lücken und geben Sie Ihr Wissen an neue Kolleginnen und Kollegen weiter.',
    },
    {
      name: 'Sehr gut',
      summary: 'Ein hervorragendes Ergebnis: Bei „{subject}“ gehören Sie zu den Besten dieses Quartals.',
      suggestions: 'Unterstützen Sie andere als Ansprechperson und frischen Sie Ihr Wissen jährlich auf.',
    },
  ],
  remarks: [
    'Im Bereich {dimension} liegt das größte Potenzial; mehrere Antworten zeigen Unsicherheit.',
    'Der Bereich {dimension} ist ordentlich ausgeprägt, etwas mehr Routine würde helfen.',
    '{dimension} gehört zu Ihren Stärken. Darauf können Sie auch unter Zeitdruck bauen.',
  ],
  dimensionsTitle: 'Ihr Profil',
  advice: [
    'Ihre Antworten legen nahe, mit {dimension} zu beginnen: Planen Sie zweimal pro Woche zwanzig Minuten ein und notieren Sie eine Situation, in der Sie es angewendet haben.',
    'Eine gute Übung ist es, {dimension} jemandem außerhalb des Teams zu erklären. Wo Sie zögern, gibt es noch etwas zu lernen.',
    'Der Abstand zum Durchschnitt aller Teilnehmenden ist im Bereich {dimension} kleiner, als er sich anfühlt.',
    'Gehen Sie in kleinen Schritten vor. Eine feste Gewohnheit rund um {dimension} bringt mehr als eine lange Liste guter Vorsätze.',
    'Bitten Sie eine Kollegin oder einen Kollegen um Rückmeldung zu {dimension}; die Praxis zeigt mehr als jeder Test.',
    'Nehmen Sie sich für „{subject}“ beim nächsten Mal mehr Ruhe: Ein Fünftel der Antworten kam sehr schnell.',
  ],
  comments: [
    'Gut verständlich, danke.',
    'Frage 4 passt nicht ganz zu unserer Werkstatt.',
    'Kann ich den Bericht auch als PDF bekommen?',
    'Hat auf dem Handy problemlos funktioniert.',
  ],
  people: {
    given: [
      'Anna',
      'Jürgen',
      'Lena',
      'Mehmet',
      'Sören',
      'Katharina',
      'Björn',
      'Yasemin',
      'Felix',
      'Ursula',
      'Jonas',
      'Käthe',
    ],
    family: [
      'Müller',
      'Schröder',
      'Keller',
      'Yılmaz',
      'Weiß',
      'Hoffmann',
      'Bäcker',
      'Krüger',
      'Lehmann',
      'Größl',
      'Vogel',
    ],
    order: 'given first',
  },
  editions: ['{title}', '{title} {year}', '{title} – Auffrischung'],
  subjects: [
    {
      scene: 'knowledge_quiz',
      key: 'arbeitssicherheit',
      title: 'Grundlagen der Arbeitssicherheit',
      description:
        'Die jährliche Unterweisung für alle Beschäftigten: Fluchtwege, Heben und Tragen, Maschinen, Erste Hilfe.',
      dimensions: ['Notfall', 'Ergonomie', 'Maschinen', 'Erste Hilfe'],
      questions: questions(`
        Der Feueralarm ertönt. Was tun Sie zuerst? | Über den Fluchtweg ins Freie gehen | Die E-Mail fertig schreiben | Den Aufzug nehmen | Das Feuer suchen
        Wie hebt man eine schwere Kiste? | Aus den Knien, mit geradem Rücken | Mit rundem Rücken | Einhändig | Möglichst schnell
        An der Säge fehlt die Schutzhaube. Und nun? | Anhalten und melden | Vorsichtiger arbeiten | Handschuhe anziehen | Bis zur Pause warten
        Wo steht die Nummer der Ersthelfer? | Auf dem Aushang | Im Lohnzettel | Nirgends | Nur beim Pförtner
        Was bedeutet ein grünes Schild mit Pfeil? | Rettungsweg | Rauchen erlaubt | Einbahnstraße | Kantine
        Wie oft wird der Bildschirmplatz geprüft? | Regelmäßig und bei Beschwerden | Nie | Alle zehn Jahre | Nur beim Umzug
      `),
    },
    {
      scene: 'scored_quiz',
      key: 'zeitmanagement',
      title: 'Selbsteinschätzung Zeitmanagement',
      description: 'Acht Aussagen dazu, wie Sie Ihren Arbeitstag planen. Ehrliche Antworten helfen am meisten.',
      dimensions: ['Planung', 'Prioritäten', 'Konzentration', 'Erholung'],
      statements: [
        'Ich plane den nächsten Tag am Abend zuvor.',
        'Ich beginne mit der wichtigsten Aufgabe.',
        'Ich arbeite eine Stunde lang ohne Unterbrechung.',
        'Ich mache Pausen, bevor ich müde bin.',
        'Ich lasse Puffer für Unvorhergesehenes.',
        'Ich kann eine Bitte freundlich ablehnen.',
        'Mein Telefon liegt beim Arbeiten außer Reichweite.',
        'Nach Feierabend lese ich keine E-Mails.',
      ],
    },
    {
      scene: 'knowledge_quiz',
      key: 'datenschutz',
      title: 'Datenschutz im Arbeitsalltag',
      description: 'Was sind personenbezogene Daten, wer darf sie sehen, und was ist bei einer Panne zu tun?',
      dimensions: ['Rechtsgrundlagen', 'Sicherer Umgang', 'Rechte Betroffener', 'Datenpannen'],
      questions: questions(`
        Was ist ein personenbezogenes Datum? | Eine E-Mail-Adresse mit Namen | Der Jahresumsatz | Eine Artikelnummer | Die Raumtemperatur
        Wie geben Sie eine Kundenliste weiter? | Über einen geschützten Ordner | Über ein privates Postfach | Als Ausdruck | Über einen offenen Link
        Ein Kunde verlangt Auskunft. Was tun Sie? | Unverzüglich weiterleiten | Ignorieren | Eine Gebühr verlangen | Alles löschen
        Eine Datei ging an die falsche Person. Erster Schritt? | Sofort melden | Abwarten | Erneut senden | Niemandem sagen
        Wie lange darf man Daten aufbewahren? | Solange der Zweck es erfordert | Für immer | Genau ein Jahr | Bis die Platte voll ist
        Wohin gehört vertrauliches Papier? | In den Datenschutzcontainer | In den Papierkorb | Auf den Drucker | In die Küche
      `),
    },
  ],
}
