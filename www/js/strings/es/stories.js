/** What the stories are called and about, in Spanish. */

/** By the id of the story: its title, and what it tells. @type {Record<string, [string, string]>} */
const STORIES = {
  'one-cut-wire': ['Un cable cortado', 'Seis clientes quieren una ranura, y dos que esperan pierden su cable en el mismo segundo. Para uno la conexión era el puesto, para el otro lo es un identificador: vea cuál sigue en la cola.'],
  'rush-hour': ['Hora punta', 'Doscientos clientes con tres lenguajes quieren archivos de un servidor en siete minutos. Vea cómo una sola cola los atiende por orden, hablen el lenguaje que hablen.'],
  impatient: ['El cliente impaciente', 'Un cliente pregunta una y otra vez antes de poder; los demás esperan su turno. Cada pregunta demasiado temprana le cuesta el puesto que tenía.'],
  'cut-the-wire': ['Cortar el cable', 'El mismo percance les toca a tres clientes que esperan y a uno que está siendo atendido. En Active Queueing la conexión es el puesto; en PARQ el puesto le sobrevive.'],
  'aq-vs-parq': ['Active Queueing contra PARQ', 'Las mismas doce llegadas: una vez cada cliente mantiene abierta su conexión, la otra cada uno tiene un identificador. Compare cuánto espera una ranura libre y quién puede colgar.'],
  newcomer: ['El recién llegado', 'Una ranura queda libre en el instante exacto en que llega un cliente nuevo. El que más ha esperado tiene derecho a ella, y el recién llegado va al final de la cola.'],
  'server-restart': ['Reinicio del servidor', 'El servidor muere en medio de todo y vuelve un minuto después. Todavía conoce cada puesto que prometió, y llama a los que dieron una dirección.'],
  'leader-dies': ['Muere el que dirige', 'Dos servents son un solo sitio con una base de datos; el que dirige muere y vuelve mucho después. El otro sigue dirigiendo a los pocos segundos, y cada puesto prometido está donde estaba.'],

  'round-and-back': ['La vuelta y el regreso', 'Una pregunta recorre un anillo por los dos lados, y donde se encuentran las ondas cada lado desecha la copia del otro. Después la respuesta regresa por el camino por el que vino su pregunta, enlace por enlace.'],
  ring: ['Una inundación en un anillo', 'Un servent pregunta, y su pregunta recorre el anillo por los dos lados. Donde se encuentran las dos ondas, cada lado desecha la copia del otro: dos en total.'],
  cycles: ['Ciclos y duplicados', 'Cada cuadrado de esta malla es un ciclo, así que a la mayoría de los servents se les pregunta más de una vez. Solo la primera copia sigue; si no, la pregunta no acabaría nunca.'],
  'way-back': ['El camino de vuelta', 'Tres servents tienen lo que se pide. Cada respuesta regresa por el camino por el que vino su pregunta, enlace por enlace, porque cada servent del camino lo recuerda.'],
  'cut-return': ['Un corte en el camino de vuelta', 'Mientras la respuesta regresa se corta un enlace que necesita. Allí se desecha, aunque otro camino la llevaría a casa: una respuesta solo conoce el camino por el que vino su pregunta.'],
  'route-expired': ['Ruta caducada', 'Dos servents responden tarde: uno a los nueve minutos, el otro a los diez y medio. La primera respuesta aún encuentra su ruta; la segunda se desecha donde las tablas han pasado página dos veces.'],
  'late-push': ['El push que llega tarde', 'Un acierto muestra el camino hasta un servent inalcanzable desde fuera. Un push recorre ese camino veintinueve minutos después y llega; otro, tras una hora, ya no encuentra camino.'],
  flooder: ['Un inundador', 'Un servent envía cientos de preguntas que nadie ha hecho. Sus vecinos aceptan lo que permite su cuota y desechan el resto; entretanto, la respuesta a una pregunta honrada llega a casa igualmente.'],
  twins: ['Dos servents con un identificador', 'Dos servents llevan el mismo identificador, por azar o a propósito. El primero que envía un acierto a través de un router conserva allí el camino de los push; el otro se descubre como conflicto.'],
  'step-by-step': ['Paso a paso', 'Cuarenta ultrapares con doscientas hojas: una búsqueda no va más lejos de lo necesario. Las palabras que tienen muchos se responden a la vuelta de la esquina, y solo la aguja se busca en todas partes.'],
  'ten-thousand': ['Diez mil', 'Diez mil servents en un mundo pequeño: una malla, y otros tantos enlaces largos que la cruzan. Siete saltos llegan a casi todos, y la mayoría de los mensajes son duplicados.'],

  'lose-middle': ['Se pierde uno del medio', 'Nueve mensajes, y el quinto se pierde por el camino. El receptor ve el hueco y pide ese número.'],
  'lose-last': ['Se pierde el último', 'El noveno de nueve mensajes se pierde, y no sigue nada que pueda mostrar el hueco. Solo el emisor puede notarlo: el número confirmado más alto y el enviado más alto siguen siendo distintos.'],
  'lose-first': ['Se pierde el primero', 'El mensaje que abre la conexión no llega nunca. El receptor no conoce los demás y pide el primero.'],
  'lose-ack': ['Se pierde el acuse de recibo', 'Todos los mensajes llegan, solo el último acuse de recibo no. El emisor envía otra vez su número más alto, y el receptor lo tira y responde.'],
  burst: ['Una ráfaga', 'De vez en cuando el enlace empeora y se pierden datagramas en fila, también las respuestas. Incluso las peticiones de lo que falta se pierden y hay que repetirlas.'],
  'five-percent': ['Cinco por ciento', 'Trescientos mensajes por un enlace que pierde uno de cada veinte datagramas en ambos sentidos. Compare cuánto tardan los dos procedimientos con las mismas pérdidas.'],
  'receiver-restart': ['El receptor se reinicia', 'En medio de una serie el receptor muere y vuelve sin saber nada. Pide el primer mensaje que el emisor todavía tiene, y sigue desde ahí.'],
  'fill-the-queue': ['¿Quién llena la cola?', 'A envía a B un archivo y C envía a B una palabra diez veces por segundo, por una línea lenta con un búfer profundo. Si A sigue el ritmo que mide, las palabras pasan enseguida; si A envía más hasta que algo se pierde, cada palabra espera detrás del archivo.'],
  'two-controllers': ['Dos reguladores, una línea', 'A sigue el ritmo que mide (BBR) y tiene la línea para sí, hasta que llega C, que envía más hasta que algo se pierde (CUBIC). Mira quién llena la cola y qué parte de la línea tiene cada uno, y pregunta por qué A va más despacio.'],
  'close-in-flight': ['Cierre con mensajes en camino', 'El emisor cierra mientras los tres últimos mensajes se pierden por el camino. Aun así se envían otra vez, y la conexión termina cuando el receptor los tiene.'],

  'two-for-one': ['Dos por una', 'Una subida gana dos descargas; el que no ha ganado nada está bloqueado. A los bloqueados se les piden piezas primero, así que vuelven a ganar.'],
  'free-piece': ['La pieza gratis', 'Un recién llegado no tiene nada que dar y recibe gratis su primera pieza. Desde entonces gana.'],
  deadlock: ['Las reglas que se atascan', 'Todos están bloqueados, y ninguno que no lo esté necesita lo que tienen. Con las reglas de 2004 el enjambre se detiene para siempre; con las adaptadas no queda parada ninguna ranura útil, y termina.'],
  'rarest-first': ['La más rara primero', 'La fuente envía cada pieza una vez, y el que tiene la más nueva la pasa. Así cada pieza se duplica en cada ronda.'],
  firewalls: ['Medio enjambre tras cortafuegos', 'La mitad de los clientes son inalcanzables y no lo saben. Tras cinco conexiones fallidas son pasivos y se conectan ellos mismos.'],
  liar: ['Un mentiroso', 'Un cliente envía bytes erróneos. Otros tres lo denuncian, y nadie vuelve a pedirle nada.'],
  'flash-crowd': ['La avalancha', 'Llegan mil clientes a la vez. La fuente envía el archivo una vez, la multitud hace el resto.'],
  'two-doors': ['Dos puertas que solo se abren hacia fuera', 'Ada y Ben están detrás de routers que solo dejan entrar respuestas. Ambos tocan en el mismo momento: cada toque abre la propia puerta para el del otro lado.'],
  'knock-early': ['Alguien que toca demasiado pronto', 'La presentación para Ada se pierde y el punto de encuentro la repite un momento después. Los primeros toques de Ben hallan la puerta de ella cerrada y, aun así, abren la de él.'],
  'relay-first': ['Primero retransmitido, luego directo', 'El punto de encuentro transmite los primeros mensajes mientras ambos aún tocan. En cuanto se prueba un par de direcciones, la conexión pasa a él sin enviar ningún mensaje dos veces.'],
  'one-symmetric': ['Otro puerto para cada destino', 'El router de Ada da a cada destino otro puerto, y el de Ben solo deja entrar el puerto exacto al que Ben escribió. Por eso Ada toca desde muchos puertos y Ben adivina uno de ellos.'],
  'two-symmetric': ['Dos que dan a cada destino otro puerto', 'Ningún lado puede saber desde qué puerto tocará el otro, y ambos solo dejan entrar aquello a lo que escribieron. Tras cuatro segundos ambos saben por qué no hay camino.'],
  'two-symmetric-relay': ['Los mismos dos, con retransmisión', 'Tampoco aquí pasa ningún toque, pero el punto de encuentro transmite lo que envían y no puede leerlo. El camino por él sirve desde el primer momento, y se queda.'],
  'udp-blocked': ['Una red que bloquea UDP', 'La red de Ada no deja salir UDP, así que ni el punto de encuentro sabe de ella. Ben espera una llamada que nunca llega.'],
  'mapping-expires': ['Una entrada que caduca', 'Durante 45 segundos no se envía nada, y el router de Ada olvida su entrada tras 30. Su siguiente mensaje sale por otro puerto; el router de Ben conoce su dirección y lo deja entrar, y la conexión se muda allí.'],
  'one-home': ['Dos en una misma casa', 'Ambos están detrás del mismo router, que no devuelve lo que viene de dentro. Sus toques en la dirección exterior se descartan, y los de sus propias direcciones llegan enseguida.'],
};

/** @type {import('./words.js').Sentences} */
export const stories = Object.fromEntries(Object.entries(STORIES).flatMap(([id, [title, text]]) => [[`story.${id}`, title], [`story.${id}.text`, text]]));
