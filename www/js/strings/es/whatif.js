/** The sentences for questions to a recording, in Spanish. */

/** @type {import('./words.js').Sentences} */
export const whatif = {
  'whatif.title': 'Qué pasaría si…',
  'whatif.branches': 'En un suceso que vino de fuera, pregunte qué pasaría si: la respuesta será aquí una rama, y lo grabado se conserva.',
  'whatif.hint': 'La respuesta es una rama: lo que este servent habría decidido entonces. Todo lo demás que recibió queda como se grabó.',
  'whatif.worth': 'Una rama de una grabación: lo que este servent habría decidido con lo que recibió. Lo que los otros equipos habrían respondido no lo grabó nadie.',
  'whatif.not.timer': 'Lo trajo hasta aquí un temporizador propio. Solo se puede cambiar lo que vino de fuera: vaya a un suceso así.',
  'whatif.not.own': 'Lo trajo hasta aquí algo propio: el final de una ronda en la que responde a todo a la vez, o su disco. Solo se puede cambiar lo que vino de fuera: vaya a un suceso así.',
  'whatif.not.sent': 'Este datagrama salió del servent grabado. Lo que hizo en el otro extremo no está en esta grabación; pregunte por uno que llegó.',
  'whatif.lose.datagram': 'este datagrama se hubiera perdido?',
  'whatif.late.datagram': (a) => `hubiera llegado ${a.by} más tarde?`,
  'whatif.twice.datagram': 'hubiera llegado dos veces?',
  'whatif.lose.connection': 'esta conexión se hubiera cortado aquí?',
  'whatif.late.connection': (a) => `esto, y todo lo posterior en su conexión, hubiera llegado ${a.by} más tarde?`,
  'whatif.lose.arrival': 'esta conexión no se hubiera hecho nunca?',
  'whatif.late.arrival': (a) => `se hubiera hecho ${a.by} más tarde?`,
  'whatif.lose.dial': 'nadie hubiera respondido allí?',
  'whatif.late.dial': (a) => `la respuesta hubiera tardado ${a.by} más?`,
  'whatif.lose.command': 'nadie lo hubiera pedido?',
  'whatif.late.command': (a) => `se hubiera pedido ${a.by} más tarde?`,
  'whatif.lose.file': 'este archivo no hubiera estado?',
  'whatif.late.file': (a) => `hubiera estado ${a.by} más tarde?`,
  'whatif.asked': (a) => `¿Qué pasaría si ${a.text} ${a.same ? 'Para este servent no cambia nada.' : 'Aquí empieza una rama nueva; lo grabado se conserva.'} Lo que los otros equipos habrían respondido no lo grabó nadie.`,
  'whatif.lost': (a) => `${WHAT[a.what] ?? 'Esto'}${a.who ? ` de ${a.who}` : ''} no llega.`,
  'whatif.late': (a) => `${WHAT[a.what] ?? 'Esto'}${a.who ? ` de ${a.who}` : ''} llega más tarde.`,
  'whatif.twice': (a) => `${WHAT[a.what] ?? 'Esto'}${a.who ? ` de ${a.who}` : ''} llega dos veces.`,
  'whatif.lost.short': 'perdido en',
  'whatif.late.short': 'más tarde en',
  'whatif.twice.short': 'dos veces en',
  'whatif.branch': 'Qué pasaría si: no se grabó',
  'whatif.side.branch': 'qué pasaría si',
  'whatif.side.recorded': 'como se grabó',
};

/** @type {Record<string, string>} */
const WHAT = { datagram: 'Un datagrama', connection: 'Lo que sigue en una conexión', arrival: 'Una conexión', dial: 'La respuesta a una llamada', command: 'Una orden', file: 'Un archivo' };
