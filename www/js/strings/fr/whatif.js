/** The sentences for questions to a recording, in French. */

/** @type {import('./words.js').Sentences} */
export const whatif = {
  'whatif.title': 'Et si…',
  'whatif.branches': 'À un événement venu de l’extérieur, demandez « et si… » : la réponse devient ici une branche, et ce qui a été enregistré reste.',
  'whatif.hint': 'La réponse est une branche : ce que ce servent aurait alors décidé. Tout ce qu’il a reçu d’autre reste comme enregistré.',
  'whatif.worth': 'Une branche d’un enregistrement : ce que ce servent aurait décidé avec ce qu’il a reçu. Ce que les autres machines auraient alors répondu, personne ne l’a enregistré.',
  'whatif.not.timer': 'Une de ses propres minuteries a mené ici. On ne peut changer que ce qui est venu de l’extérieur : allez à un tel événement.',
  'whatif.not.own': 'Quelque chose de lui-même a mené ici : la fin d’un tour où il répond à tout à la fois, ou son disque. On ne peut changer que ce qui est venu de l’extérieur : allez à un tel événement.',
  'whatif.not.sent': 'Ce datagramme a quitté le servent enregistré. Son effet à l’autre bout n’est pas dans cet enregistrement ; demandez pour un qui est arrivé.',
  'whatif.lose.datagram': 'ce datagramme s’était perdu ?',
  'whatif.late.datagram': (a) => `il était arrivé ${a.by} plus tard ?`,
  'whatif.twice.datagram': 'il était arrivé deux fois ?',
  'whatif.lose.connection': 'cette connexion avait été coupée ici ?',
  'whatif.late.connection': (a) => `ceci, et tout ce qui suit sur sa connexion, était arrivé ${a.by} plus tard ?`,
  'whatif.lose.arrival': 'cette connexion ne s’était jamais faite ?',
  'whatif.late.arrival': (a) => `elle s’était faite ${a.by} plus tard ?`,
  'whatif.lose.dial': 'personne n’y avait répondu ?',
  'whatif.late.dial': (a) => `la réponse avait pris ${a.by} de plus ?`,
  'whatif.lose.command': 'personne ne l’avait demandé ?',
  'whatif.late.command': (a) => `on l’avait demandé ${a.by} plus tard ?`,
  'whatif.lose.file': 'ce fichier n’avait pas été là ?',
  'whatif.late.file': (a) => `il avait été là ${a.by} plus tard ?`,
  'whatif.asked': (a) => `Et si ${a.text} ${a.same ? 'Pour ce servent, cela ne change rien.' : 'Une nouvelle branche commence ici ; ce qui a été enregistré reste.'} Ce que les autres machines auraient alors répondu, personne ne l’a enregistré.`,
  'whatif.lost': (a) => `${WHAT[a.what] ?? 'Ceci'}${a.who ? ` de ${a.who}` : ''} n’arrive pas.`,
  'whatif.late': (a) => `${WHAT[a.what] ?? 'Ceci'}${a.who ? ` de ${a.who}` : ''} arrive plus tard.`,
  'whatif.twice': (a) => `${WHAT[a.what] ?? 'Ceci'}${a.who ? ` de ${a.who}` : ''} arrive deux fois.`,
  'whatif.lost.short': 'perdu à',
  'whatif.late.short': 'plus tard à',
  'whatif.twice.short': 'deux fois à',
  'whatif.branch': 'Et si : non enregistré',
  'whatif.side.branch': 'et si',
  'whatif.side.recorded': 'tel qu’enregistré',
};

/** @type {Record<string, string>} */
const WHAT = { datagram: 'Un datagramme', connection: 'Ce qui suit sur une connexion', arrival: 'Une connexion', dial: 'La réponse à un appel', command: 'Un ordre', file: 'Un fichier' };
