/** What happened in a queue, and the rule behind it, in Spanish. */
import { bytes, count, fixed, span } from '#lab/format.js';
import { hungUp } from '#lab/strings/es/hangups.js';
import { plural } from '#lab/strings/es/words.js';

/** @import { Args, Sentences } from '#lab/strings/es/words.js' */

/** A range without an end reaches beyond every number a page can hold. */
const range = (/** @type {Args} */ a) => (a.end > Number.MAX_SAFE_INTEGER ? `bytes desde ${count(a.start)}` : `bytes ${count(a.start)}–${count(Math.max(a.start, a.end - 1))}`);

/** How many bits of a number are set. */
const ones = (/** @type {number} */ n) => n.toString(2).replaceAll('0', '').length;

const name = (/** @type {Args} */ a) => a.who ?? a.peer ?? 'un cliente';
/** At the beginning of a sentence. */
const Name = (/** @type {Args} */ a) => a.who ?? a.peer ?? 'Un cliente';

/** A number of HTTP and what it means. @param {number} code */
const status = (code) => `${code}${STATUS[code] ? ` (${STATUS[code]})` : ''}`;
/** @type {Record<number, string>} */
const STATUS = { 200: 'aquí está', 206: 'aquí está esa parte', 400: 'no se entiende', 403: 'no permitido', 404: 'no existe ese archivo', 416: 'no existe esa parte', 503: 'ocupado, espere' };

/** @type {Record<string, string>} */
const DIALS = { refused: 'ningún programa escucha allí', timed_out: 'tardó demasiado', unreachable: 'no hay camino hasta allí', no_descriptor: 'hay demasiados archivos abiertos' };
/** @type {Record<string, string>} */
const LOSSES = {
  too_early: 'preguntó antes de que se le permitiera',
  overdue: 'no preguntó a tiempo',
  connection_lost: 'su conexión era el puesto, y se cortó',
  wrong_position: 'nombró un puesto que nunca se le dio',
  broke_too_often: 'su cable se cortó demasiadas veces',
  unreachable: 'no respondió a la llamada',
  replaced: 'tomó otro puesto en su lugar',
  left: 'dijo que se va',
};
/** @type {Record<string, string>} */
const REFUSALS = { queue_full: 'la cola está llena', per_address: 'demasiados puestos para una dirección', hammering: 'pregunta demasiado a menudo' };
/** @type {Record<string, string>} */
const TROUBLES = {
  unreachable: 'inalcanzable', busy: 'ocupada', not_found: 'sin el archivo', range_unavailable: 'sin los bytes que necesitamos',
  disconnected: 'desconectada', stalled: 'demasiado lenta', length_lie: 'mintiendo sobre la longitud', garbage: 'sin hablar HTTP', corrupt: 'enviando bytes erróneos', refused: 'rechazándonos', failing: 'con problemas propios', astray: 'enviándonos adonde no podemos seguir', encoded: 'enviando una codificación que no leemos', endless: 'sin decir cuánto mide su archivo', unlike: 'quizá con otro archivo', mismatch: 'enviando una pieza que no encaja', private: 'pidiendo una contraseña', changed: 'enviando otra versión del archivo', elsewhere: 'enviándonos a una que no está', circle: 'redirigiéndonos en círculo', redirects: 'redirigiéndonos demasiadas veces', speaks_tls: 'pidiendo TLS',
};
/** @type {Record<string, string>} */
const FAILURES = { no_source: 'no queda ninguna fuente', disk: 'el disco se niega', corrupt: 'los bytes son erróneos en todas partes', cancelled: 'su usuario lo canceló', too_many: 'hay demasiadas descargas' };
/** @type {Record<string, string>} */
const USERS = { ask_now: 'su usuario pregunta ahora, esté permitido o no', sleep: 'su usuario lo pone a dormir', get: 'su usuario quiere un archivo', cancel: 'su usuario retira la petición' };

/** @type {Sentences} */
const EVENTS = {
  'queue.arrived': (a) => `${Name(a)} se pone en la cola, en el puesto ${a.position} de ${a.length}.`,
  'queue.asked': (a) => `${Name(a)} vuelve a preguntar a tiempo y sigue en el puesto ${a.position}.`,
  'queue.told': (a) => `A ${name(a)} se le dice: puesto ${a.position} de ${a.length}${a.keep ? '' : ', cuelgue y vuelva'}.`,
  'queue.entitled': (a) => `Hay una ranura libre para ${name(a)}, que puede tomarla.`,
  'queue.held': (a) => `La petición de ${name(a)} queda retenida hasta que haya una ranura que le corresponda.`,
  'queue.lapsed': (a) => `${Name(a)} no tomó la ranura a tiempo; pasa al siguiente, el puesto se conserva.`,
  'queue.passed': (a) => `${Name(a)} no está; pasa antes un cliente presente, el puesto se conserva.`,
  'queue.started': (a) => `${Name(a)} recibe una ranura${a.waited ? ` tras ${span(a.waited)}` : ' de inmediato'}.`,
  'queue.continued': (a) => `${Name(a)} pide la parte siguiente y conserva la ranura.`,
  'queue.finished': (a) => `${Name(a)} termina; la ranura queda libre.`,
  'queue.reserved': (a) => `La transferencia de ${name(a)} se cortó; se le guarda la ranura.`,
  'queue.unreserved': (a) => `${Name(a)} no volvió; la ranura queda libre de nuevo.`,
  'queue.returned': (a) => `${Name(a)} no volvió y hay otros esperando: de nuevo primero en la cola, sin la ranura.`,
  'queue.away': (a) => `El cable de ${name(a)} se cortó; se le guarda el puesto.`,
  'queue.moved': (a) => `${Name(a)} pide otro archivo y va al final, al puesto ${a.position}.`,
  'queue.lost': (a) => `${Name(a)} pierde el puesto: ${LOSSES[a.why] ?? a.why}.`,
  'queue.refused': (a) => `${Name(a)} no recibe puesto: ${REFUSALS[a.why] ?? a.why}.`,
  'queue.called': (a) => `El servidor llama a ${name(a)}${a.attempt > 1 ? `, intento ${a.attempt}` : ''}.`,
  'queue.restored': (a) => `El puesto de ${name(a)} se recupera del disco: ${a.position}.`,
  'queue.released': (a) => `${Name(a)} pertenece desde ahora a otro servent del sitio; ${a.uploads ? 'lo que se está enviando se termina de enviar aquí' : 'su puesto va con él'}.`,
  'queue.policy': (a) => (a.policy === 'adaptive' ? 'A los que esperan se les dice ahora, según lo medido, cuándo volver a preguntar.' : 'A los que esperan se les dice ahora, según el puesto, cuándo volver a preguntar.'),
  'queue.slots': (a) => `Ahora hay ${plural(a.slots, 'ranura de subida', 'ranuras de subida')}.`,

  'conn.started': (a) => `${a.node} arranca${a.restored_places ? `, con ${plural(a.restored_places, 'puesto recordado', 'puestos recordados')} de antes` : ''}.`,
  'conn.accepted': (a) => `${a.who ?? a.peer} se conecta a ${a.node}.`,
  'conn.dialing': (a) => `${a.node} llama a ${a.to}.`,
  'conn.dialed': (a) => `${a.node} tiene conexión.`,
  'conn.dial_failed': (a) => `${a.node} no pudo conectarse: ${DIALS[a.why] ?? a.why}.`,
  'conn.request': (a) => `${a.node} recibe una petición: ${a.method} ${a.target}${a.range ? `, ${a.range}` : ''}.`,
  'conn.reply': (a) => `${a.node} responde ${status(a.status)}${a.end > a.start ? `: ${range(a)}` : ''}.`,
  'conn.elsewhere': (a) => (a.to ? `${a.node} remite a ${a.to} para eso.` : `${a.node} dice que se pregunte pronto otra vez: ningún servidor atiende eso ahora.`),
  'conn.firewall': (a) => (a.closed ? `Parece que no se puede conectar con ${a.node}: un cliente pide un push.` : `Sí se puede conectar con ${a.node}.`),
  'conn.unsaid': (a) => `${a.node} no pudo guardar a tiempo lo que iba a decir, y lo retira.`,
  'conn.response': (a) => `${a.node} oye ${status(a.status)}.`,
  'conn.garbled': (a) => `${a.node} recibe un datagrama ilegible.`,
  'conn.line': (a) => `${a.node} oye «${a.line}».`,
  'conn.sent': (a) => `${a.node} ha enviado ${bytes(a.bytes)}.`,
  'conn.limit': (a) => `${a.node} llega a un límite: «${String(a.limit).replaceAll('_', ' ')}».`,
  'conn.closing': (a) => `${a.node} cuelga: ${hungUp(a.why)}.`,
  'conn.closed': (a) => `Una conexión de ${a.node} se ha cerrado.`,
  'conn.incoming': (a) => `A ${a.node} se le da ${a.name}${a.size === null || a.size === undefined ? '' : `, ${bytes(a.size)}`}.`,
  'conn.kept': (a) => `${a.node} tiene ahora ${a.name} en su bandeja de entrada.`,
  'conn.misuse': (a) => `${a.node} recibió algo que su anfitrión no debe dar: ${String(typeof a.fault === 'string' ? a.fault : Object.keys(a.fault)[0]).replaceAll('_', ' ')}.`,
  'conn.stopped': (a) => `${a.node} se ha detenido.`,

  'fetch.begun': (a) => `${a.node} quiere ${a.name}${a.have ? `; ya tiene ${bytes(a.have)}` : ''}.`,
  'fetch.source': (a) => `${a.node} se entera de una fuente en ${a.at}.`,
  'fetch.asked': (a) => `${a.node} pide: ${range(a)}.`,
  'fetch.queued': (a) => `${a.node} está en la cola, en el puesto ${a.position}${a.length ? ` de ${a.length}` : ''}.`,
  'fetch.waiting': (a) => `${a.node} encuentra la fuente ${TROUBLES[a.why] ?? a.why} y lo intenta más tarde.`,
  'fetch.place_lost': (a) => `${a.node} ha perdido su puesto en la cola: ${a.why === 'refused' ? 'el servidor lo rechazó' : LOSSES[a.why] ?? a.why}.`,
  'fetch.call_unknown': (a) => `${a.node} recibe una llamada por un puesto que no conoce.`,
  'fetch.giv_unknown': (a) => `A ${a.node} se le ofrece un archivo que no pidió.`,
  'fetch.alt_refused': (a) => `${a.node} oye de una fuente en ${a.at} y no la prueba.`,
  'fetch.limit': (a) => `${a.node} llega a un límite: «${String(a.limit).replaceAll('_', ' ')}».`,
  'fetch.hash_learnt': (a) => `${a.node} conoce la huella del archivo.`,
  'fetch.verifying': (a) => `${a.node} compara la huella de ${bytes(a.bytes)}.`,
  'fetch.receiving': (a) => `${a.node} recibe: ${range(a)}.`,
  'fetch.stored': (a) => `${a.node} tiene todo hasta el byte ${count(a.end)} en el disco.`,
  'fetch.source_lost': (a) => `${a.node} abandona la fuente, porque está ${TROUBLES[a.why] ?? a.why}.`,
  'fetch.kept_back': (a) => `${a.node} deja una fuente en reserva, porque su archivo podría ser otro.`,
  'fetch.moved': (a) => `${a.node} se entera de que el archivo está en otra parte, en ${a.to.replace(/^\/\//, '')}.`,
  'fetch.version_changed': (a) => `${a.node} encuentra otra versión del archivo en su fuente: se desechan ${bytes(a.dropped)} de la anterior, y la descarga empieza de nuevo.`,
  'fetch.described': (a) => `${a.node} se entera de qué archivo es${a.size === null || a.size === undefined ? '' : `: ${bytes(a.size)}`}${a.modified ? `, modificado por última vez ${a.modified}` : ''}.`,
  'fetch.status': (a) => `${a.node} oye ${status(a.status)} de una fuente.`,
  'fetch.encoded': (a) => `${a.node} recibe el archivo comprimido (${a.encoding}) y lo descomprime al final.`,
  'fetch.named': (a) => `${a.node} se entera de que el archivo se llama ${a.name}.`,
  'fetch.unvouched': (a) => `${a.node} tiene todos los bytes, pero solo la longitud indica que todos son de una misma versión.`,
  'fetch.paused': (a) => `${a.node} pausa la descarga: no se pregunta a ninguna fuente hasta que su usuario lo diga.`,
  'fetch.tree_learnt': (a) => `${a.node} conoce las huellas de las ${count(a.pieces)} piezas del archivo.`,
  'fetch.piece_wrong': (a) => `${a.node} encuentra datos erróneos (${range(a)}) y pide la pieza otra vez.`,
  'fetch.called_back': (a) => `${a.node} recibe la llamada: ha llegado su turno.`,
  'fetch.done': (a) => `${a.node} tiene el archivo entero, ${bytes(a.bytes)}${a.sha1 ? ', y su huella es correcta' : ''}.`,
  'fetch.corrupt': (a) => `${a.node} recibió bytes que no son del archivo y empieza de nuevo.`,
  'fetch.failed': (a) => `${a.node} termina sin el archivo: ${FAILURES[a.why] ?? a.why}.`,

  'check.length': 'la cola no es tan larga como se dijo',
  'check.reserve_idle': 'se reservó demasiado tiempo una ranura para un cliente que no está',
  'check.idle_held': 'hubo una ranura libre mientras esperaba una petición con derecho a ella',
  'check.lapsed_early': 'se quitó una ranura demasiado pronto',
  'check.lost': 'se perdió un puesto por una razón que los sucesos no confirman',
  'check.window': 'a un cliente se le dio una hora para preguntar que deja muy poco margen',
  'check.no_place': 'a un cliente se le dijo un puesto sin tenerlo',
  'check.position': 'un puesto está más allá del final de la cola',
  'check.idle_slot': 'una ranura estuvo parada mientras había un cliente con derecho',
  'check.fifo': 'se atendió a un cliente antes que a uno anterior que estaba presente',
  'check.slots': 'más subidas que ranuras',
  'check.free': 'las ranuras libres no cuadran',
  'check.aq_connection': 'un puesto de Active Queueing sobrevivió a su conexión',
  'check.mixture': 'una descarga completa no es una sola versión de su archivo',
  'check.complete': 'una descarga terminó sin todos los bytes',
  'check.failed': 'falló una descarga que se podía terminar',
  'check.unfinished': 'una descarga no terminó nunca',
  'check.leaderless': 'ningún miembro dirige el sitio aunque alguno podría',
  'check.old_number': 'se tomó el mando con un número que no es nuevo',
  'check.not_its_part': 'un miembro da un puesto para un archivo de otro miembro',
  'check.place_gone': 'un puesto prometido desapareció después de que otro miembro tomara el mando',
  'check.served_twice': 'se atendió de nuevo un puesto que ya se había atendido',
  'check.takeover_order': 'la cola tiene otro orden después de que otro miembro tomara el mando',
  'check.two_write': 'escribió un miembro que ya no dirige',
  'check.unsaved': 'a un cliente se le dijo un puesto que no está guardado',

  'world.cut': (a) => (a.other === undefined || a.other === '' ? `El cable de ${a.node} está cortado.` : `El cable entre ${a.node} y ${a.other} está cortado.`),
  'world.crashed': (a) => `${a.node} muere de golpe; lo que no estaba en el disco se pierde.`,
  'world.restarted': (a) => `${a.node} funciona de nuevo, con lo que había en su disco.`,
  'world.stalled': (a) => `${a.node} se queda parado.`,
  'world.resumed': (a) => `${a.node} sigue.`,
  'world.firewall': (a) => (a.closed ? `Ningún equipo puede conectarse ya a ${a.node}.` : `Todos los equipos pueden conectarse de nuevo a ${a.node}.`),
  'world.clock': (a) => `El reloj de ${a.node} se desvía ${fixed(a.offset / 1e6, 1)} s.`,
  'world.user': (a) => `${a.node}: ${USERS[a.action] ?? a.action}.`,
  'world.leads': (a) => `${a.node} dirige el sitio, con el número ${a.fence}.`,
  'world.stands_by': (a) => `${a.node} queda en reserva hasta que calle el que dirige.`,
  'world.replaced': (a) => `${a.node} ha sido relevado: ya no escribe nada, y termina.`,
  'world.saved': (a) => `La base de datos tiene lo que ${a.node} escribió con el número ${a.fence}.`,
  'world.store_away': (a) => (a.away ? `${a.node} no alcanza la base de datos; no promete nada nuevo.` : `${a.node} alcanza de nuevo la base de datos.`),
  'world.store': (a) => (a.away ? 'La base de datos ha desaparecido.' : 'La base de datos ha vuelto.'),
  'world.parts': (a) => `${a.node} dirige ahora ${plural(ones(a.low) + ones(a.high), 'partición', 'particiones')} del sitio.`,
  'world.apart': (a) => (a.apart ? `El camino entre ${a.node} y la base de datos está cortado.` : `El camino entre ${a.node} y la base de datos está reparado.`),
  'world.changed': (a) => (a.size === null ? `Los archivos de ${a.node} pasan a ser otros con los mismos nombres.` : `Los archivos de ${a.node} pasan a ser otros con los mismos nombres, de ${bytes(a.size)}.`),
};

/** @type {Record<string, string>} */
const WHYS = {
  'queue.arrived': 'Todas las ranuras están ocupadas, o espera un cliente con más derecho. Una petición nueva va al final de la única cola, hable el lenguaje que hable.',
  'queue.arrived.active': 'Todas las ranuras están ocupadas, así que la petición va al final de la única cola. En Active Queueing la conexión es el puesto: debe seguir abierta.',
  'queue.arrived.parq': 'Todas las ranuras están ocupadas, así que la petición va al final de la única cola. Recibe un identificador al azar: con él, el puesto sobrevive a una conexión cortada.',
  'queue.arrived.passive': 'Este cliente no sabe nada de colas. Aun así está en la misma cola, y se le recuerda por su dirección mientras siga preguntando.',
  'queue.asked': 'Preguntó dentro de su ventana: no antes de la hora que se le dijo ni después del plazo. Así que conserva el puesto.',
  'queue.asked.restored': 'El servidor estuvo ausente y ha recuperado su cola del disco. Un cliente que vuelve con su identificador tiene su puesto.',
  'queue.asked.forgiven': 'Preguntó un instante antes de la hora que se le dijo. Los relojes difieren, así que el servidor perdona un segundo, y el puesto se conserva.',
  'queue.asked.called': 'El servidor lo llamó, y una llamada anula la hora que se le dijo. Así que puede preguntar enseguida, y el puesto se conserva.',
  'queue.told': 'Cada respuesta dice el puesto y cuándo volver. Cuanto más atrás, más larga la pausa; una regla que mide puede decir una hora más temprana, nunca una más tardía.',
  'queue.told.passive': 'A un cliente que no conoce la cola se le dice cuándo intentarlo de nuevo: en 250 segundos como mucho, porque tras 300 se le olvida.',
  'queue.told.active': 'Cada respuesta dice el puesto y la ventana para preguntar. Mientras tanto sigue conectado, porque en Active Queueing la conexión es el puesto.',
  'queue.told.parq': 'Cada respuesta dice el puesto y cuándo volver: tras 30 segundos para el primer puesto, 20 más por cada puesto siguiente, y diez minutos a partir del vigésimo. Una regla que mide puede decir una hora más temprana, nunca una más tardía.',
  'queue.told.keep': 'Cerca de la cabeza de la cola el cable se mantiene, para no perder tiempo cuando haya una ranura libre.',
  'queue.entitled': 'Tienen derecho tantos clientes como ranuras libres hay, contados desde la cabeza de la cola. Ningún cliente de más atrás se adelanta.',
  'queue.held': 'A un cliente que espera su respuesta no se le despide. Está presente, y recibe la ranura en el mismo instante en que queda libre.',
  'queue.lapsed': 'Una ranura libre se guarda solo un rato para el primero de la cola. Un cliente que no pregunta en ese tiempo conserva el puesto, pero la ranura sigue adelante.',
  'queue.passed': 'Una ranura no debe quedar parada por un cliente ausente. Ese cliente conserva el puesto y se le atiende cuando vuelve.',
  'queue.started': 'Está entre los primeros de la cola, hay una ranura libre para cada uno de ellos, y ha preguntado.',
  'queue.started.back': 'Su transferencia se cortó, y se le guardó la ranura. Ha vuelto a tiempo.',
  'queue.started.passed': 'Los anteriores no preguntaron mientras había una ranura libre. La ranura sigue adelante, sus puestos se quedan.',
  'queue.started.held': 'Su petición estaba retenida, así que estaba presente en el instante en que quedó libre una ranura.',
  'queue.started.at_once': 'Hay una ranura libre y ningún cliente de la cola tiene derecho a ella. Así que la transferencia empieza con la propia respuesta.',
  'queue.continued': 'Terminar una parte no entrega la ranura: las descargas por partes la conservan.',
  'queue.finished': 'La transferencia ha terminado. No queda nada que pudiera bloquear la ranura.',
  'queue.reserved': 'Una transferencia cortada conserva su ranura un rato, para la misma dirección y el mismo archivo.',
  'queue.unreserved': 'El tiempo para volver se ha acabado.',
  'queue.returned': 'Una ranura cuya transferencia se cortó se guarda poco tiempo cuando hay otros esperando. El identificador conserva su puesto en la cola.',
  'queue.away': 'En PARQ el puesto es el identificador, no el cable. Se perdona un cable cortado, si el cliente vuelve a tiempo.',
  'queue.moved': 'En Active Queueing un puesto vale para un archivo. Otro archivo significa ir al final de la cola.',
  'queue.lost': 'Solo conservan el puesto los que cumplen las reglas de su lenguaje.',
  'queue.lost.too_early': 'Preguntar antes de la hora que se dijo cuenta como inundar. Se pierde el puesto.',
  'queue.lost.overdue': 'No llegó ninguna petición antes del plazo, así que el servidor da al cliente por perdido.',
  'queue.lost.connection_lost': 'En Active Queueing la conexión es el puesto: cuando se corta, el puesto desaparece en el acto.',
  'queue.lost.wrong_position': 'El cliente nombró un puesto distinto del que se le dijo, así que no se confía en el identificador.',
  'queue.lost.broke_too_often': 'Se perdona al menos un cable cortado; este fue uno de más.',
  'queue.lost.unreachable': 'El servidor llamó y no obtuvo respuesta.',
  'queue.lost.replaced': 'El cliente tomó otro puesto en lugar de este.',
  'queue.lost.left': 'El cliente dijo que no quiere más, así que nada espera por él.',
  'queue.refused': 'Toda cola tiene un final. Más allá, a un cliente se le dice cuándo intentarlo de nuevo.',
  'queue.called': 'El cliente dio una dirección y su tiempo se acabó, así que el servidor se conecta con él y le dice que su turno está cerca.',
  'fetch.asked': 'Pide a la fuente los bytes que todavía faltan.',
  'fetch.asked.part': 'Una parte ya está aquí. Pide la siguiente en la ranura que tiene.',
  'fetch.asked.place': 'Un cliente que espera pregunta dentro de su ventana, o cuando se le llama, y pide los bytes que necesite en ese momento.',
  'fetch.asked.called': 'El servidor lo ha llamado. Así que pregunta enseguida, sea cual sea la hora que se le dijo.',
  'fetch.asked.first': 'Todavía no sabe si hay cola: la respuesta serán los bytes, o un puesto.',
  'fetch.queued': 'Se le dijeron su puesto y su ventana. Volverá a preguntar holgadamente dentro de ella.',
  'fetch.waiting': 'No tiene allí un puesto que pudiera perder, así que solo queda la paciencia: cada fracaso alarga la pausa.',
  'fetch.waiting.place': 'Tiene un identificador, y con él su puesto. Se ha perdido la conexión, no el puesto: volverá a preguntar antes de que se acabe su tiempo.',
  'fetch.called_back': 'El servidor se conectó a la dirección que había dado el cliente, porque su turno está cerca.',
  'fetch.done': 'Todos los bytes están en el disco, y donde se conoce la huella del archivo, se ha comparado.',
  'fetch.corrupt': 'Un archivo es solo lo que dice su huella. Lo que no concuerda se tira.',
  'conn.line': 'Una línea dice que ha llegado el turno: el identificador del puesto, y dónde está ahora el servidor.',
  'conn.limit': 'Todo lo que un desconocido nos puede hacer gastar tiene un límite, y cuando se alcanza, se dice.',
  'world.cut': 'Un fallo: desde aquí la conexión entre los dos ha desaparecido. La historia es lo que cada lenguaje hace con eso.',
  'world.crashed': 'Un fallo: el programa muere. Lo que había prometido estaba en el disco antes de decirse.',
  'world.restarted': 'Empieza de nuevo con lo que hay en el disco, y llama a los que dieron una dirección.',
  'world.stalled': 'Un fallo: no recibe nada y sus temporizadores esperan.',
  'world.user': 'Un usuario pulsó un botón.',
  'world.leads': 'Tomó el mando en la base de datos, que incrementa un número. El que dirigía antes tiene un número más viejo, y la base de datos ya no acepta nada suyo.',
  'world.stands_by': 'Mira si el mando se renueva en la base de datos. Si no se renueva en cinco segundos, lo toma.',
  'world.replaced': 'Solo era lento, no estaba muerto. La base de datos rechazó lo que escribió, porque otro miembro tiene un número más nuevo.',
  'world.saved': 'Una respuesta que promete algo sale solo después de esto.',
  'world.store_away': 'Lo que no promete nada sigue; un cliente que pide un puesto recibe 503 y vuelve.',
  'world.store': 'Un fallo: ningún miembro puede escribir hasta que vuelva la base de datos.',
  'world.parts': 'Los archivos de un sitio se reparten en particiones. Cada miembro calcula, a partir de las direcciones de todos, cuál de ellos dirige cada partición.',
  'conn.firewall': 'Un cliente pide un push cuando no pudo conectarse.',
  'world.changed': 'Un fallo: lo que se está enviando es todavía la versión anterior.',
  'world.apart': 'Un fallo: lo que se envió antes puede llegar todavía más tarde.',
  'queue.released': 'Los archivos de un sitio se reparten entre sus servents; una partición se muda con todos sus puestos.',
  'queue.restored': 'Lo prometido está en el disco antes de decirse, así que un reinicio no pierde a ningún cliente.',
};

/** @type {Sentences} */
export const events = {
  ...EVENTS,
  ...Object.fromEntries(Object.entries(WHYS).map(([key, text]) => [`${key}.why`, text])),
};
