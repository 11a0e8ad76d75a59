/** What happened in a queue, and the rule behind it, in German. */
import { bytes, count, fixed, span } from '#lab/format.js';
import { hungUp } from '#lab/strings/de/hangups.js';
import { plural } from '#lab/strings/de/words.js';

/** @import { Args, Sentences } from '#lab/strings/de/words.js' */

/** A range without an end reaches beyond every number a page can hold. */
const range = (/** @type {Args} */ a) => (a.end > Number.MAX_SAFE_INTEGER ? `Bytes ab ${count(a.start)}` : `Bytes ${count(a.start)}–${count(Math.max(a.start, a.end - 1))}`);

/** How many bits of a number are set. */
const ones = (/** @type {number} */ n) => n.toString(2).replaceAll('0', '').length;

const name = (/** @type {Args} */ a) => a.who ?? a.peer ?? 'ein Client';
/** At the beginning of a sentence. */
const Name = (/** @type {Args} */ a) => a.who ?? a.peer ?? 'Ein Client';

/** A number of HTTP and what it means. @param {number} code */
const status = (code) => `${code}${STATUS[code] ? ` (${STATUS[code]})` : ''}`;
/** @type {Record<number, string>} */
const STATUS = { 200: 'hier ist es', 206: 'hier ist dieser Teil', 400: 'nicht verstanden', 403: 'nicht erlaubt', 404: 'keine solche Datei', 416: 'kein solcher Teil', 503: 'besetzt, warte' };

/** @type {Record<string, string>} */
const DIALS = { refused: 'dort hört niemand zu', timed_out: 'es dauerte zu lange', unreachable: 'dorthin führt kein Weg', no_descriptor: 'zu viele Dateien sind offen' };
/** @type {Record<string, string>} */
const LOSSES = {
  too_early: 'gefragt, bevor es erlaubt war',
  overdue: 'nicht rechtzeitig gefragt',
  connection_lost: 'die Verbindung war der Platz, und sie brach ab',
  wrong_position: 'einen Platz genannt, der nie zugesagt war',
  broke_too_often: 'die Leitung brach zu oft ab',
  unreachable: 'auf den Rückruf kam keine Antwort',
  replaced: 'stattdessen einen anderen Platz genommen',
  left: 'hat sich verabschiedet',
};
/** @type {Record<string, string>} */
const REFUSALS = { queue_full: 'die Schlange ist voll', per_address: 'zu viele Plätze für eine Adresse', hammering: 'es wird zu oft gefragt' };
/** @type {Record<string, string>} */
const TROUBLES = {
  unreachable: 'nicht erreichbar', busy: 'besetzt', not_found: 'ohne die Datei', range_unavailable: 'ohne die Bytes, die wir brauchen',
  disconnected: 'fort', stalled: 'zu langsam', length_lie: 'unehrlich über die Länge', garbage: 'kein HTTP-Sprecher', corrupt: 'mit falschen Bytes', refused: 'abweisend', failing: 'selbst in Schwierigkeiten', astray: 'mit einem Verweis, dem wir nicht folgen können', encoded: 'mit einer Kodierung, die wir nicht lesen', endless: 'ohne Angabe der Dateilänge', unlike: 'vielleicht eine andere Datei', mismatch: 'mit einem Stück, das nicht passt', private: 'durch ein Passwort geschützt', changed: 'mit einer anderen Fassung der Datei', elsewhere: 'mit einem Verweis auf eine, die nicht da ist', circle: 'mit Verweisen im Kreis', redirects: 'mit zu vielen Verweisen hintereinander', speaks_tls: 'nur über TLS zu sprechen',
};
/** @type {Record<string, string>} */
const FAILURES = { no_source: 'keine Quelle ist übrig', disk: 'die Platte weigert sich', corrupt: 'die Bytes sind überall falsch', cancelled: 'der Benutzer hat es zurückgenommen', too_many: 'es gibt zu viele Downloads' };
/** @type {Record<string, string>} */
const USERS = { ask_now: 'der Benutzer fragt jetzt, erlaubt oder nicht', sleep: 'der Benutzer schickt ihn schlafen', get: 'der Benutzer will eine Datei', cancel: 'der Benutzer nimmt den Wunsch zurück' };

/** @type {Sentences} */
const EVENTS = {
  'queue.arrived': (a) => `${Name(a)} stellt sich an, auf Platz ${a.position} von ${a.length}.`,
  'queue.asked': (a) => `${Name(a)} fragt rechtzeitig wieder und bleibt auf Platz ${a.position}.`,
  'queue.told': (a) => `${Name(a)} erfährt: Platz ${a.position} von ${a.length}${a.keep ? '' : ', leg auf und komm wieder'}.`,
  'queue.entitled': (a) => `Für ${name(a)} ist ein Slot frei.`,
  'queue.held': (a) => `Die Anfrage von ${name(a)} bleibt offen, bis dafür ein Slot frei ist.`,
  'queue.lapsed': (a) => `${Name(a)} hat den Slot nicht rechtzeitig genommen; er geht weiter, der Platz bleibt.`,
  'queue.passed': (a) => `${Name(a)} ist fort; wer da ist, kommt zuerst, der Platz bleibt.`,
  'queue.started': (a) => `${Name(a)} bekommt einen Slot${a.waited ? ` nach ${span(a.waited)}` : ' sofort'}.`,
  'queue.continued': (a) => `${Name(a)} fragt nach dem nächsten Teil und behält den Slot.`,
  'queue.finished': (a) => `${Name(a)} ist bedient; der Slot ist frei.`,
  'queue.reserved': (a) => `Die Übertragung an ${name(a)} brach ab; ihr Slot wird freigehalten.`,
  'queue.unreserved': (a) => `${Name(a)} kam nicht zurück; der Slot ist wieder frei.`,
  'queue.returned': (a) => `${Name(a)} kam nicht zurück, während andere warten: wieder vorn in der Schlange, ohne den Slot.`,
  'queue.away': (a) => `Die Leitung von ${name(a)} brach ab; der Platz wird freigehalten.`,
  'queue.moved': (a) => `${Name(a)} fragt nach einer anderen Datei und geht nach hinten, auf Platz ${a.position}.`,
  'queue.lost': (a) => `${Name(a)} verliert den Platz: ${LOSSES[a.why] ?? a.why}.`,
  'queue.refused': (a) => `${Name(a)} bekommt keinen Platz: ${REFUSALS[a.why] ?? a.why}.`,
  'queue.called': (a) => `Der Server ruft ${name(a)} zurück${a.attempt > 1 ? `, Versuch ${a.attempt}` : ''}.`,
  'queue.restored': (a) => `Der Platz von ${name(a)} kommt von der Platte wieder: ${a.position}.`,
  'queue.released': (a) => `${Name(a)} gehört von jetzt an zu einem anderen Servent der Site; ${a.uploads ? 'was gerade gesendet wird, wird hier zu Ende gesendet' : 'der Platz geht mit'}.`,
  'queue.policy': (a) => (a.policy === 'adaptive' ? 'Wer wartet, erfährt jetzt nach Messung, wann er wieder fragen soll.' : 'Wer wartet, erfährt jetzt nach dem Platz, wann er wieder fragen soll.'),
  'queue.slots': (a) => `Jetzt gibt es ${plural(a.slots, 'Upload-Slot', 'Upload-Slots')}.`,

  'conn.started': (a) => `${a.node} startet${a.restored_places ? ` und erinnert sich an ${plural(a.restored_places, 'Platz', 'Plätze')} von vorher` : ''}.`,
  'conn.accepted': (a) => `${a.who ?? a.peer} verbindet sich mit ${a.node}.`,
  'conn.dialing': (a) => `${a.node} wählt ${a.to} an.`,
  'conn.dialed': (a) => `${a.node} ist verbunden.`,
  'conn.dial_failed': (a) => `${a.node} konnte sich nicht verbinden: ${DIALS[a.why] ?? a.why}.`,
  'conn.request': (a) => `${a.node} wird gefragt: ${a.method} ${a.target}${a.range ? `, ${a.range}` : ''}.`,
  'conn.reply': (a) => `${a.node} antwortet ${status(a.status)}${a.end > a.start ? `: ${range(a)}` : ''}.`,
  'conn.elsewhere': (a) => (a.to ? `${a.node} verweist dafür auf ${a.to}.` : `${a.node} bittet, bald wieder zu fragen: Das bedient im Moment niemand.`),
  'conn.firewall': (a) => (a.closed ? `${a.node} ist wohl nicht zu erreichen: Jemand bittet um einen Push.` : `${a.node} ist doch zu erreichen.`),
  'conn.unsaid': (a) => `${a.node} konnte nicht rechtzeitig sichern, was es sagen wollte, und nimmt es zurück.`,
  'conn.response': (a) => `${a.node} hört ${status(a.status)}.`,
  'conn.garbled': (a) => `${a.node} bekommt ein unlesbares Datagramm.`,
  'conn.line': (a) => `${a.node} hört „${a.line}“.`,
  'conn.sent': (a) => `${a.node} hat ${bytes(a.bytes)} gesendet.`,
  'conn.limit': (a) => `${a.node} stößt an eine Grenze: „${String(a.limit).replaceAll('_', ' ')}“.`,
  'conn.closing': (a) => `${a.node} legt auf: ${hungUp(a.why)}.`,
  'conn.closed': (a) => `Eine Verbindung von ${a.node} ist geschlossen.`,
  'conn.incoming': (a) => `${a.node} bekommt ${a.name}${a.size === null || a.size === undefined ? '' : `, ${bytes(a.size)}`}.`,
  'conn.kept': (a) => `${a.node} hat ${a.name} jetzt im Eingang.`,
  'conn.misuse': (a) => `${a.node} bekam etwas, das ein Host nicht geben darf: ${String(typeof a.fault === 'string' ? a.fault : Object.keys(a.fault)[0]).replaceAll('_', ' ')}.`,
  'conn.stopped': (a) => `${a.node} hat aufgehört.`,

  'fetch.begun': (a) => `${a.node} will ${a.name}${a.have ? `; ${bytes(a.have)} davon sind schon da` : ''}.`,
  'fetch.source': (a) => `${a.node} erfährt von einer Quelle bei ${a.at}.`,
  'fetch.asked': (a) => `${a.node} fragt nach: ${range(a)}.`,
  'fetch.queued': (a) => `${a.node} steht an, auf Platz ${a.position}${a.length ? ` von ${a.length}` : ''}.`,
  'fetch.waiting': (a) => `${a.node} findet die Quelle ${TROUBLES[a.why] ?? a.why} und versucht es später wieder.`,
  'fetch.place_lost': (a) => `${a.node} hat den Platz in der Schlange verloren: ${a.why === 'refused' ? 'der Server hat ihn verweigert' : LOSSES[a.why] ?? a.why}.`,
  'fetch.call_unknown': (a) => `${a.node} wird für einen unbekannten Platz zurückgerufen.`,
  'fetch.giv_unknown': (a) => `${a.node} bekommt eine Datei angeboten, um die nicht gebeten wurde.`,
  'fetch.alt_refused': (a) => `${a.node} hört von einer Quelle bei ${a.at} und versucht sie nicht.`,
  'fetch.limit': (a) => `${a.node} stößt an eine Grenze: „${String(a.limit).replaceAll('_', ' ')}“.`,
  'fetch.hash_learnt': (a) => `${a.node} erfährt den Fingerabdruck der Datei.`,
  'fetch.verifying': (a) => `${a.node} vergleicht den Fingerabdruck von ${bytes(a.bytes)}.`,
  'fetch.receiving': (a) => `${a.node} empfängt: ${range(a)}.`,
  'fetch.stored': (a) => `${a.node} hat alles bis Byte ${count(a.end)} auf der Platte.`,
  'fetch.source_lost': (a) => `${a.node} gibt die Quelle auf, denn sie ist ${TROUBLES[a.why] ?? a.why}.`,
  'fetch.kept_back': (a) => `${a.node} behält eine Quelle in Reserve, denn ihre Datei könnte eine andere sein.`,
  'fetch.moved': (a) => `${a.node} erfährt, dass die Datei woanders liegt, bei ${a.to.replace(/^\/\//, '')}.`,
  'fetch.version_changed': (a) => `${a.node} findet an der Quelle eine andere Fassung der Datei: ${bytes(a.dropped)} der früheren werden verworfen, und der Download beginnt von vorn.`,
  'fetch.described': (a) => `${a.node} erfährt, was für eine Datei es ist${a.size === null || a.size === undefined ? '' : `: ${bytes(a.size)}`}${a.modified ? `, zuletzt geändert ${a.modified}` : ''}.`,
  'fetch.status': (a) => `${a.node} hört ${status(a.status)} von einer Quelle.`,
  'fetch.encoded': (a) => `${a.node} bekommt die Datei gepackt (${a.encoding}) und packt sie am Ende aus.`,
  'fetch.named': (a) => `${a.node} erfährt, dass die Datei ${a.name} heißt.`,
  'fetch.unvouched': (a) => `${a.node} hat jedes Byte, aber nur die Länge spricht dafür, dass alle zu einer Fassung gehören.`,
  'fetch.paused': (a) => `${a.node} hält den Download an: Niemand wird gefragt, bis der Benutzer es sagt.`,
  'fetch.tree_learnt': (a) => `${a.node} erfährt die Fingerabdrücke der ${count(a.pieces)} Stücke der Datei.`,
  'fetch.piece_wrong': (a) => `${a.node} findet falsche Daten (${range(a)}) und holt das Stück noch einmal.`,
  'fetch.called_back': (a) => `${a.node} wird zurückgerufen und ist jetzt dran.`,
  'fetch.done': (a) => `${a.node} hat die ganze Datei, ${bytes(a.bytes)}${a.sha1 ? ', und ihr Fingerabdruck stimmt' : ''}.`,
  'fetch.corrupt': (a) => `${a.node} bekam Bytes, die nicht die Datei sind, und beginnt von vorn.`,
  'fetch.failed': (a) => `${a.node} endet ohne die Datei: ${FAILURES[a.why] ?? a.why}.`,

  'check.length': 'die Schlange ist nicht so lang, wie gesagt wurde',
  'check.reserve_idle': 'ein Slot wurde zu lange für jemanden freigehalten, der nicht da ist',
  'check.idle_held': 'ein Slot war frei, während jemand mit Anrecht darauf warten musste',
  'check.lapsed_early': 'ein Slot wurde zu früh weggenommen',
  'check.lost': 'ein Platz ging aus einem Grund verloren, den die Ereignisse nicht hergeben',
  'check.window': 'jemandem wurde eine Zeit zum Fragen genannt, die zu wenig Raum lässt',
  'check.no_place': 'jemandem wurde ein Platz genannt, ohne dass es einen gab',
  'check.position': 'ein Platz liegt hinter dem Ende der Schlange',
  'check.idle_slot': 'ein Slot stand leer, während jemand mit Anrecht da war',
  'check.fifo': 'jemand kam vor einem Früheren dran, der da war',
  'check.slots': 'mehr Uploads als Slots',
  'check.free': 'die Zahl der freien Slots stimmt nicht',
  'check.aq_connection': 'ein Platz von Active Queueing hat seine Verbindung überlebt',
  'check.mixture': 'ein fertiger Download ist nicht eine einzige Fassung seiner Datei',
  'check.complete': 'ein Download endete, ohne dass jedes Byte da war',
  'check.failed': 'ein Download scheiterte, der fertig werden konnte',
  'check.unfinished': 'ein Download endete nie',
  'check.leaderless': 'niemand führt die Site, obwohl jemand könnte',
  'check.old_number': 'der Vorsitz wurde mit einer Nummer genommen, die nicht neu ist',
  'check.not_its_part': 'ein Servent gibt einen Platz für eine Datei, die einem anderen gehört',
  'check.place_gone': 'ein Platz, der versprochen war, ist fort, seit ein anderer führt',
  'check.served_twice': 'ein Platz wurde noch einmal bedient, obwohl er schon bedient war',
  'check.takeover_order': 'die Schlange hat eine andere Reihenfolge, seit ein anderer führt',
  'check.two_write': 'einer hat geschrieben, der nicht mehr führt',
  'check.unsaved': 'jemandem wurde ein Platz genannt, der nicht gespeichert ist',

  'world.cut': (a) => (a.other === undefined || a.other === '' ? `Die Leitung von ${a.node} ist gekappt.` : `Die Leitung zwischen ${a.node} und ${a.other} ist gekappt.`),
  'world.crashed': (a) => `${a.node} ist abgeschossen; was nicht auf der Platte war, ist verloren.`,
  'world.restarted': (a) => `${a.node} läuft wieder, mit dem, was auf der Platte war.`,
  'world.stalled': (a) => `${a.node} steht still.`,
  'world.resumed': (a) => `${a.node} läuft weiter.`,
  'world.firewall': (a) => (a.closed ? `Niemand kann sich mehr mit ${a.node} verbinden.` : `Alle können sich wieder mit ${a.node} verbinden.`),
  'world.clock': (a) => `Die Uhr von ${a.node} geht um ${fixed(a.offset / 1e6, 1)} s falsch.`,
  'world.user': (a) => `${a.node}: ${USERS[a.action] ?? a.action}.`,
  'world.leads': (a) => `${a.node} führt die Site, mit der Nummer ${a.fence}.`,
  'world.stands_by': (a) => `${a.node} steht bereit, bis der schweigt, der führt.`,
  'world.replaced': (a) => `${a.node} ist abgelöst: Er schreibt nichts mehr und endet.`,
  'world.saved': (a) => `Die Datenbank hat, was ${a.node} mit der Nummer ${a.fence} geschrieben hat.`,
  'world.store_away': (a) => (a.away ? `${a.node} erreicht die Datenbank nicht und verspricht nichts Neues.` : `${a.node} erreicht die Datenbank wieder.`),
  'world.store': (a) => (a.away ? 'Die Datenbank ist fort.' : 'Die Datenbank ist wieder da.'),
  'world.parts': (a) => `${a.node} führt jetzt ${plural(ones(a.low) + ones(a.high), 'Teil', 'Teile')} der Site.`,
  'world.apart': (a) => (a.apart ? `Der Weg zwischen ${a.node} und der Datenbank ist gekappt.` : `Der Weg zwischen ${a.node} und der Datenbank ist wieder frei.`),
  'world.changed': (a) => (a.size === null ? `Die Dateien von ${a.node} werden zu anderen mit denselben Namen.` : `Die Dateien von ${a.node} werden zu anderen mit denselben Namen, ${bytes(a.size)} groß.`),
};

/** @type {Record<string, string>} */
const WHYS = {
  'queue.arrived': 'Alle Slots sind belegt, oder jemand mit besserem Anrecht wartet. Eine neue Anfrage geht ans Ende der einen Schlange, egal welche Sprache sie spricht.',
  'queue.arrived.active': 'Alle Slots sind belegt, also geht die Anfrage ans Ende der einen Schlange. Bei Active Queueing ist die Verbindung der Platz: Sie muss offen bleiben.',
  'queue.arrived.parq': 'Alle Slots sind belegt, also geht die Anfrage ans Ende der einen Schlange. Sie bekommt eine zufällige Nummer: Mit ihr überlebt der Platz eine abgebrochene Verbindung.',
  'queue.arrived.passive': 'Dieser Client weiß nichts von einer Schlange. Er steht trotzdem in derselben und wird an seiner Adresse erkannt, solange er weiter fragt.',
  'queue.asked': 'Gefragt wurde im Zeitfenster: nicht vor der genannten Zeit und nicht nach der Frist. Also bleibt der Platz.',
  'queue.asked.restored': 'Der Server war weg und hat seine Schlange von der Platte zurück. Wer mit seiner Kennung kommt, hat seinen Platz.',
  'queue.asked.forgiven': 'Er hat einen Augenblick vor der genannten Zeit gefragt. Uhren gehen verschieden, also verzeiht der Server eine Sekunde, und der Platz bleibt.',
  'queue.asked.called': 'Der Server hat ihn gerufen, und ein Ruf hebt die genannte Zeit auf. Also darf er sofort fragen, und der Platz bleibt.',
  'queue.told': 'Jede Antwort nennt den Platz und wann man wiederkommen soll. Je weiter hinten, desto länger die Pause; wer misst, darf eine frühere Zeit nennen, aber nie eine spätere.',
  'queue.told.passive': 'Ein Client, der keine Schlange kennt, erfährt, wann er es wieder versuchen soll: nach höchstens 250 Sekunden, denn nach 300 wird er vergessen.',
  'queue.told.active': 'Jede Antwort nennt den Platz und das Fenster zum Fragen. Er bleibt dabei verbunden, denn bei Active Queueing ist die Verbindung der Platz.',
  'queue.told.parq': 'Jede Antwort nennt den Platz und wann man wiederkommen soll: nach 30 Sekunden auf dem ersten Platz, 20 mehr für jeden dahinter, und zehn Minuten ab dem einundzwanzigsten. Wer misst, darf eine frühere Zeit nennen, aber nie eine spätere.',
  'queue.told.keep': 'Vorn in der Schlange bleibt die Leitung stehen, damit keine Zeit verloren geht, wenn ein Slot frei wird.',
  'queue.entitled': 'So viele Clients, wie Slots frei sind, haben ein Anrecht, vom Kopf der Schlange an gezählt. Von dahinter drängt sich niemand vor.',
  'queue.held': 'Ein Client, der auf seine Antwort wartet, wird nicht fortgeschickt. Er ist da und bekommt den Slot im selben Augenblick, in dem er frei wird.',
  'queue.lapsed': 'Ein freier Slot wird für den Ersten der Schlange nur kurz gehalten. Wer in dieser Zeit nicht fragt, behält den Platz, aber der Slot geht weiter.',
  'queue.passed': 'Ein Slot soll nicht für jemanden leer stehen, der fort ist. Wer fort ist, behält den Platz und kommt bei der Rückkehr dran.',
  'queue.started': 'Er gehört zu den Ersten der Schlange, für die ein Slot frei ist, und er hat gefragt.',
  'queue.started.back': 'Seine Übertragung war abgerissen, und der Slot wurde für ihn gehalten. Er ist rechtzeitig zurück.',
  'queue.started.passed': 'Wer vor ihm steht, hat nicht gefragt, solange ein Slot frei war. Der Slot geht weiter, die Plätze bleiben.',
  'queue.started.held': 'Seine Anfrage wurde gehalten. So war er in dem Augenblick da, in dem ein Slot für ihn frei wurde.',
  'queue.started.at_once': 'Ein Slot ist frei, und niemand in der Schlange hat Anspruch darauf. Also beginnt die Übertragung gleich mit der Antwort.',
  'queue.continued': 'Ein fertiger Teil gibt den Slot nicht her: Downloads in Stücken behalten ihn.',
  'queue.finished': 'Die Übertragung ist zu Ende. Nichts bleibt zurück, was den Slot blockieren könnte.',
  'queue.reserved': 'Eine abgebrochene Übertragung behält ihren Slot eine Weile, für dieselbe Adresse und dieselbe Datei.',
  'queue.unreserved': 'Die Zeit zum Zurückkommen ist um.',
  'queue.returned': 'Ein Slot, dessen Übertragung abbrach, wird nur kurz gehalten, wenn andere warten. Die Nummer behält ihren Platz in der Schlange.',
  'queue.away': 'Bei PARQ ist die Nummer der Platz, nicht die Leitung. Eine abgebrochene Leitung wird verziehen, wenn der Client rechtzeitig wiederkommt.',
  'queue.moved': 'Bei Active Queueing gilt ein Platz für eine Datei. Eine andere Datei heißt: ans Ende der Schlange.',
  'queue.lost': 'Einen Platz behält nur, wer sich an die Regeln seiner Sprache hält.',
  'queue.lost.too_early': 'Vor der genannten Zeit zu fragen gilt als Überfluten. Der Platz ist verloren.',
  'queue.lost.overdue': 'Bis zum Ende der Frist kam keine Anfrage, also hält der Server den Client für fort.',
  'queue.lost.connection_lost': 'Bei Active Queueing ist die Verbindung der Platz: Bricht sie ab, ist der Platz sofort weg.',
  'queue.lost.wrong_position': 'Der Client nannte einen anderen Platz als den zugesagten, also wird der Nummer nicht getraut.',
  'queue.lost.broke_too_often': 'Mindestens eine abgebrochene Leitung wird verziehen; diese war eine zu viel.',
  'queue.lost.unreachable': 'Der Server rief zurück, und niemand nahm ab.',
  'queue.lost.replaced': 'Der Client hat statt dieses Platzes einen anderen genommen.',
  'queue.lost.left': 'Der Client will nichts mehr und hat das gesagt; also wartet nichts mehr auf ihn.',
  'queue.refused': 'Jede Schlange hat ein Ende. Wer darüber hinaus kommt, erfährt, wann er es wieder versuchen soll.',
  'queue.called': 'Der Client hat eine Adresse genannt, und seine Zeit ist um; also verbindet sich der Server mit ihm und sagt, dass er bald dran ist.',
  'fetch.asked': 'Er fragt die Quelle nach den Bytes, die noch fehlen.',
  'fetch.asked.part': 'Ein Teil ist da. Er fragt auf dem Slot, den er hat, nach dem nächsten.',
  'fetch.asked.place': 'Ein wartender Client fragt in seinem Zeitfenster oder wenn er gerufen wird, und nach den Bytes, die er dann braucht.',
  'fetch.asked.called': 'Der Server hat ihn gerufen. Also fragt er sofort, welche Zeit ihm auch genannt wurde.',
  'fetch.asked.first': 'Ob es eine Schlange gibt, weiß er noch nicht: Die Antwort sind die Bytes oder ein Platz.',
  'fetch.queued': 'Er hat seinen Platz und sein Zeitfenster erfahren. Er wird bequem innerhalb davon wieder fragen.',
  'fetch.waiting': 'Er hat dort keinen Platz, den er verlieren könnte. Also hilft nur Geduld: Jeder Fehlschlag macht die Pause länger.',
  'fetch.waiting.place': 'Er hat eine Kennung und mit ihr seinen Platz. Weg ist die Verbindung, nicht der Platz: Er fragt wieder, bevor seine Zeit abläuft.',
  'fetch.called_back': 'Der Server hat die Adresse angewählt, die der Client genannt hatte, weil er bald dran ist.',
  'fetch.done': 'Jedes Byte ist auf der Platte, und wo der Fingerabdruck der Datei bekannt ist, wurde er verglichen.',
  'fetch.corrupt': 'Eine Datei ist nur, was ihr Fingerabdruck sagt. Was nicht dazu passt, wird weggeworfen.',
  'conn.line': 'Eine Zeile sagt, dass man dran ist: die Nummer des Platzes und wo der Server jetzt ist.',
  'conn.limit': 'Alles, was ein Fremder uns kosten kann, hat eine Grenze, und wenn sie erreicht ist, wird es gesagt.',
  'world.cut': 'Ein Eingriff: Von hier an ist die Verbindung zwischen beiden fort. Was jede Sprache daraus macht, ist die Geschichte.',
  'world.crashed': 'Ein Eingriff: Das Programm wird abgeschossen. Was es versprochen hatte, war auf der Platte, bevor es gesagt wurde.',
  'world.restarted': 'Er beginnt wieder mit dem, was auf der Platte ist, und ruft die, die eine Adresse genannt haben.',
  'world.stalled': 'Ein Eingriff: Nichts kommt mehr hinein, und seine Uhren warten.',
  'world.user': 'Jemand hat einen Knopf gedrückt.',
  'world.leads': 'Er hat den Vorsitz in der Datenbank genommen, und der zählt eine Nummer hoch. Wer vorher führte, hat eine ältere, und von ihm nimmt die Datenbank nichts mehr an.',
  'world.stands_by': 'Er sieht nach, ob der Vorsitz in der Datenbank erneuert wird. Bleibt das fünf Sekunden aus, nimmt er ihn.',
  'world.replaced': 'Er war nur langsam, nicht tot. Die Datenbank hat abgelehnt, was er schrieb, weil ein anderer eine neuere Nummer hat.',
  'world.saved': 'Eine Antwort, die etwas verspricht, geht erst danach hinaus.',
  'world.store_away': 'Was nichts verspricht, geht weiter; wer nach einem Platz fragt, hört 503 und kommt wieder.',
  'world.store': 'Ein Eingriff: Niemand kann schreiben, bis die Datenbank wieder da ist.',
  'world.parts': 'Die Dateien einer Site sind in Teile geteilt. Wer von denen, die da sind, einen Teil führt, rechnet jeder für sich aus ihren Adressen aus.',
  'conn.firewall': 'Wer um einen Push bittet, konnte sich nicht verbinden.',
  'world.changed': 'Ein Eingriff: Was gerade gesendet wird, ist noch die alte Fassung.',
  'world.apart': 'Ein Eingriff: Was vorher abgeschickt wurde, kann später noch ankommen.',
  'queue.released': 'Die Dateien einer Site sind unter seinen Servents aufgeteilt; ein Teil zieht mit allen Plätzen um.',
  'queue.restored': 'Was versprochen wird, ist auf der Platte, bevor es gesagt wird; so verliert ein Neustart niemanden.',
};

/** @type {Sentences} */
export const events = {
  ...EVENTS,
  ...Object.fromEntries(Object.entries(WHYS).map(([key, text]) => [`${key}.why`, text])),
};
