/** The sentences for questions to a recording, in German. */

/** @type {import('./words.js').Sentences} */
export const whatif = {
  'whatif.title': 'Was wäre, wenn …',
  'whatif.branches': 'Frage bei einem Ereignis, das von außen kam, was wäre, wenn: die Antwort wird hier ein Zweig, und was aufgezeichnet wurde, bleibt.',
  'whatif.hint': 'Die Antwort ist ein Zweig: was dieser Servent dann entschieden hätte. Alles andere, was er bekam, bleibt wie aufgezeichnet.',
  'whatif.worth': 'Ein Zweig einer Aufzeichnung: was dieser Servent mit dem entschieden hätte, was er bekam. Was die anderen Rechner dann geantwortet hätten, hat niemand aufgezeichnet.',
  'whatif.not.timer': 'Eine seiner eigenen Uhren hat hierher geführt. Ändern lässt sich nur, was von außen kam: gehe zu einem solchen Ereignis.',
  'whatif.not.own': 'Etwas Eigenes hat hierher geführt: das Ende einer Runde, in der er alles auf einmal beantwortet, oder seine Platte. Ändern lässt sich nur, was von außen kam: gehe zu einem solchen Ereignis.',
  'whatif.not.sent': 'Dieses Datagramm hat den aufgezeichneten Servent verlassen. Was es am anderen Ende bewirkte, steht nicht in dieser Aufzeichnung; frage nach einem, das ankam.',
  'whatif.lose.datagram': 'dieses Datagramm verloren gegangen wäre?',
  'whatif.late.datagram': (a) => `es ${a.by} später gekommen wäre?`,
  'whatif.twice.datagram': 'es zweimal gekommen wäre?',
  'whatif.lose.connection': 'diese Verbindung hier abgerissen wäre?',
  'whatif.late.connection': (a) => `dies und alles danach auf seiner Verbindung ${a.by} später gekommen wäre?`,
  'whatif.lose.arrival': 'diese Verbindung nie entstanden wäre?',
  'whatif.late.arrival': (a) => `sie ${a.by} später entstanden wäre?`,
  'whatif.lose.dial': 'dort niemand geantwortet hätte?',
  'whatif.late.dial': (a) => `die Antwort ${a.by} länger gebraucht hätte?`,
  'whatif.lose.command': 'niemand darum gebeten hätte?',
  'whatif.late.command': (a) => `${a.by} später darum gebeten worden wäre?`,
  'whatif.lose.file': 'diese Datei nicht da gewesen wäre?',
  'whatif.late.file': (a) => `sie ${a.by} später da gewesen wäre?`,
  'whatif.asked': (a) => `Was wäre, wenn ${a.text} ${a.same ? 'Für diesen Servent ändert das nichts.' : 'Hier beginnt ein neuer Zweig; was aufgezeichnet wurde, bleibt.'} Was die anderen Rechner dann geantwortet hätten, hat niemand aufgezeichnet.`,
  'whatif.lost': (a) => `${WHAT[a.what] ?? 'Dies'}${a.who ? ` von ${a.who}` : ''} kommt nicht.`,
  'whatif.late': (a) => `${WHAT[a.what] ?? 'Dies'}${a.who ? ` von ${a.who}` : ''} kommt später.`,
  'whatif.twice': (a) => `${WHAT[a.what] ?? 'Dies'}${a.who ? ` von ${a.who}` : ''} kommt zweimal.`,
  'whatif.lost.short': 'verloren bei',
  'whatif.late.short': 'später bei',
  'whatif.twice.short': 'zweimal bei',
  'whatif.branch': 'Was wäre, wenn: nicht aufgezeichnet',
  'whatif.side.branch': 'was wäre, wenn',
  'whatif.side.recorded': 'wie aufgezeichnet',
};

/** @type {Record<string, string>} */
const WHAT = { datagram: 'Ein Datagramm', connection: 'Was auf einer Verbindung folgt', arrival: 'Eine Verbindung', dial: 'Die Antwort auf einen Ruf', command: 'Ein Befehl', file: 'Eine Datei' };
