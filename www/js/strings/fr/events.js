/** What happened in a queue, and the rule behind it, in French. */
import { bytes, count, fixed, span } from '#lab/format.js';
import { hungUp } from '#lab/strings/fr/hangups.js';
import { plural } from '#lab/strings/fr/words.js';

/** @import { Args, Sentences } from '#lab/strings/fr/words.js' */

/** A range without an end reaches beyond every number a page can hold. */
const range = (/** @type {Args} */ a) => (a.end > Number.MAX_SAFE_INTEGER ? `octets à partir de ${count(a.start)}` : `octets ${count(a.start)}–${count(Math.max(a.start, a.end - 1))}`);

/** How many bits of a number are set. */
const ones = (/** @type {number} */ n) => n.toString(2).replaceAll('0', '').length;

const name = (/** @type {Args} */ a) => a.who ?? a.peer ?? 'un client';
/** At the beginning of a sentence. */
const Name = (/** @type {Args} */ a) => a.who ?? a.peer ?? 'Un client';

/** A number of HTTP and what it means. @param {number} code */
const status = (code) => `${code}${STATUS[code] ? ` (${STATUS[code]})` : ''}`;
/** @type {Record<number, string>} */
const STATUS = { 200: 'voici', 206: 'voici cette partie', 400: 'incompris', 403: 'interdit', 404: 'pas de tel fichier', 416: 'pas de telle partie', 503: 'occupé, attendez' };

/** @type {Record<string, string>} */
const DIALS = { refused: 'aucun programme n’y écoute', timed_out: 'cela a pris trop de temps', unreachable: 'aucun chemin n’y mène', no_descriptor: 'trop de fichiers sont ouverts' };
/** @type {Record<string, string>} */
const LOSSES = {
  too_early: 'a demandé avant d’en avoir le droit',
  overdue: 'n’a pas demandé à temps',
  connection_lost: 'sa connexion était la place, et elle a été coupée',
  wrong_position: 'a cité une place qu’on ne lui a jamais donnée',
  broke_too_often: 'son câble a été coupé trop souvent',
  unreachable: 'n’a pas répondu à l’appel',
  replaced: 'a pris une autre place à la place',
  left: 'a dit qu’il part',
};
/** @type {Record<string, string>} */
const REFUSALS = { queue_full: 'la file est pleine', per_address: 'trop de places pour une adresse', hammering: 'il demande trop souvent' };
/** @type {Record<string, string>} */
const TROUBLES = {
  unreachable: 'injoignable', busy: 'occupée', not_found: 'sans le fichier', range_unavailable: 'sans les octets qu’il nous faut',
  disconnected: 'déconnectée', stalled: 'trop lente', length_lie: 'menteuse sur la longueur', garbage: 'incapable de parler HTTP', corrupt: 'en train d’envoyer des octets faux', refused: 'fermée pour nous', failing: 'elle-même en difficulté', astray: 'en train de nous envoyer là où nous ne pouvons pas suivre', encoded: 'en train d’envoyer un codage que nous ne lisons pas', endless: 'muette sur la longueur de son fichier', unlike: 'peut-être celle d’un autre fichier', mismatch: 'en train d’envoyer une pièce qui ne convient pas', private: 'protégée par un mot de passe', changed: 'en train d’envoyer une autre version du fichier', elsewhere: 'en train de nous renvoyer vers une absente', circle: 'en train de nous faire tourner en rond', redirects: 'en train de nous rediriger trop souvent', speaks_tls: 'accessible seulement par TLS',
};
/** @type {Record<string, string>} */
const FAILURES = { no_source: 'il ne reste aucune source', disk: 'le disque refuse', corrupt: 'les octets sont faux partout', cancelled: 'son utilisateur a annulé', too_many: 'il y a trop de téléchargements' };
/** @type {Record<string, string>} */
const USERS = { ask_now: 'son utilisateur demande maintenant, permis ou non', sleep: 'son utilisateur l’envoie dormir', get: 'son utilisateur veut un fichier', cancel: 'son utilisateur retire sa demande' };

/** @type {Sentences} */
const EVENTS = {
  'queue.arrived': (a) => `${Name(a)} se met dans la file, à la place ${a.position} sur ${a.length}.`,
  'queue.asked': (a) => `${Name(a)} redemande à temps et reste à la place ${a.position}.`,
  'queue.told': (a) => `${Name(a)} apprend : place ${a.position} sur ${a.length}${a.keep ? '' : ', raccrochez et revenez'}.`,
  'queue.entitled': (a) => `Un emplacement est libre pour ${name(a)}, qui peut le prendre.`,
  'queue.held': (a) => `La demande de ${name(a)} est retenue jusqu’au prochain emplacement qui lui revient.`,
  'queue.lapsed': (a) => `${Name(a)} n’a pas pris l’emplacement à temps ; il passe au suivant, la place est gardée.`,
  'queue.passed': (a) => `${Name(a)} est absent ; un client présent passe d’abord, la place est gardée.`,
  'queue.started': (a) => `${Name(a)} reçoit un emplacement${a.waited ? ` après ${span(a.waited)}` : ' tout de suite'}.`,
  'queue.continued': (a) => `${Name(a)} demande la partie suivante et garde l’emplacement.`,
  'queue.finished': (a) => `${Name(a)} est servi ; l’emplacement est libre.`,
  'queue.reserved': (a) => `Le transfert de ${name(a)} a été coupé ; son emplacement est gardé.`,
  'queue.unreserved': (a) => `${Name(a)} n’est pas revenu ; l’emplacement est de nouveau libre.`,
  'queue.returned': (a) => `${Name(a)} n’est pas revenu alors que d’autres attendent : de nouveau en tête de file, sans l’emplacement.`,
  'queue.away': (a) => `Le câble de ${name(a)} a été coupé ; la place est gardée.`,
  'queue.moved': (a) => `${Name(a)} demande un autre fichier et va à la fin, à la place ${a.position}.`,
  'queue.lost': (a) => `${Name(a)} perd la place : ${LOSSES[a.why] ?? a.why}.`,
  'queue.refused': (a) => `${Name(a)} n’obtient pas de place : ${REFUSALS[a.why] ?? a.why}.`,
  'queue.called': (a) => `Le serveur rappelle ${name(a)}${a.attempt > 1 ? `, essai ${a.attempt}` : ''}.`,
  'queue.restored': (a) => `La place de ${name(a)} revient du disque : ${a.position}.`,
  'queue.released': (a) => `${Name(a)} appartient désormais à un autre servent du site ; ${a.uploads ? 'ce qui est en cours d’envoi est envoyé ici jusqu’au bout' : 'sa place l’accompagne'}.`,
  'queue.policy': (a) => (a.policy === 'adaptive' ? 'Les clients en attente apprennent désormais, selon les mesures, quand redemander.' : 'Les clients en attente apprennent désormais, selon leur place, quand redemander.'),
  'queue.slots': (a) => `Il y a maintenant ${plural(a.slots, 'emplacement d’envoi', 'emplacements d’envoi')}.`,

  'conn.started': (a) => `${a.node} démarre${a.restored_places ? `, avec ${plural(a.restored_places, 'place retenue', 'places retenues')} d’avant` : ''}.`,
  'conn.accepted': (a) => `${a.who ?? a.peer} se connecte à ${a.node}.`,
  'conn.dialing': (a) => `${a.node} appelle ${a.to}.`,
  'conn.dialed': (a) => `${a.node} est connecté.`,
  'conn.dial_failed': (a) => `${a.node} n’a pas pu se connecter : ${DIALS[a.why] ?? a.why}.`,
  'conn.request': (a) => `${a.node} reçoit une demande : ${a.method} ${a.target}${a.range ? `, ${a.range}` : ''}.`,
  'conn.reply': (a) => `${a.node} répond ${status(a.status)}${a.end > a.start ? ` : ${range(a)}` : ''}.`,
  'conn.elsewhere': (a) => (a.to ? `${a.node} renvoie à ${a.to} pour cela.` : `${a.node} prie de redemander bientôt : aucun serveur ne sert cela en ce moment.`),
  'conn.firewall': (a) => (a.closed ? `${a.node} semble injoignable : un client demande un push.` : `${a.node} est joignable après tout.`),
  'conn.unsaid': (a) => `${a.node} n’a pas pu enregistrer à temps ce qu’il allait dire, et le retire.`,
  'conn.response': (a) => `${a.node} entend ${status(a.status)}.`,
  'conn.garbled': (a) => `${a.node} reçoit un datagramme illisible.`,
  'conn.line': (a) => `${a.node} entend « ${a.line} ».`,
  'conn.sent': (a) => `${a.node} a envoyé ${bytes(a.bytes)}.`,
  'conn.limit': (a) => `${a.node} atteint une limite : « ${String(a.limit).replaceAll('_', ' ')} ».`,
  'conn.closing': (a) => `${a.node} raccroche : ${hungUp(a.why)}.`,
  'conn.closed': (a) => `Une connexion de ${a.node} est fermée.`,
  'conn.incoming': (a) => `${a.node} reçoit ${a.name}${a.size === null || a.size === undefined ? '' : `, ${bytes(a.size)}`}.`,
  'conn.kept': (a) => `${a.node} a maintenant ${a.name} dans sa boîte de réception.`,
  'conn.misuse': (a) => `${a.node} a reçu ce que son hôte ne doit pas donner : ${String(typeof a.fault === 'string' ? a.fault : Object.keys(a.fault)[0]).replaceAll('_', ' ')}.`,
  'conn.stopped': (a) => `${a.node} s’est arrêté.`,

  'fetch.begun': (a) => `${a.node} veut ${a.name}${a.have ? ` ; ${bytes(a.have)} sont déjà là` : ''}.`,
  'fetch.source': (a) => `${a.node} apprend l’existence d’une source à ${a.at}.`,
  'fetch.asked': (a) => `${a.node} demande : ${range(a)}.`,
  'fetch.queued': (a) => `${a.node} est dans la file, à la place ${a.position}${a.length ? ` sur ${a.length}` : ''}.`,
  'fetch.waiting': (a) => `${a.node} trouve la source ${TROUBLES[a.why] ?? a.why} et réessaie plus tard.`,
  'fetch.place_lost': (a) => `${a.node} a perdu sa place dans la file : ${a.why === 'refused' ? 'le serveur l’a refusée' : LOSSES[a.why] ?? a.why}.`,
  'fetch.call_unknown': (a) => `${a.node} est rappelé pour une place qu’il ne connaît pas.`,
  'fetch.giv_unknown': (a) => `${a.node} se voit offrir un fichier qu’il n’a pas demandé.`,
  'fetch.alt_refused': (a) => `${a.node} entend parler d’une source à ${a.at} et ne l’essaie pas.`,
  'fetch.limit': (a) => `${a.node} atteint une limite : « ${String(a.limit).replaceAll('_', ' ')} ».`,
  'fetch.hash_learnt': (a) => `${a.node} apprend l’empreinte du fichier.`,
  'fetch.verifying': (a) => `${a.node} compare l’empreinte de ${bytes(a.bytes)}.`,
  'fetch.receiving': (a) => `${a.node} reçoit : ${range(a)}.`,
  'fetch.stored': (a) => `${a.node} a tout sur le disque jusqu’à l’octet ${count(a.end)}.`,
  'fetch.source_lost': (a) => `${a.node} abandonne la source, car elle est ${TROUBLES[a.why] ?? a.why}.`,
  'fetch.kept_back': (a) => `${a.node} garde une source en réserve, car son fichier pourrait en être un autre.`,
  'fetch.moved': (a) => `${a.node} apprend que le fichier est ailleurs, à ${a.to.replace(/^\/\//, '')}.`,
  'fetch.version_changed': (a) => `${a.node} trouve une autre version du fichier chez sa source : ${bytes(a.dropped)} de l’ancienne sont jetés, et le téléchargement recommence.`,
  'fetch.described': (a) => `${a.node} apprend quel fichier c’est${a.size === null || a.size === undefined ? '' : ` : ${bytes(a.size)}`}${a.modified ? `, modifié en dernier ${a.modified}` : ''}.`,
  'fetch.status': (a) => `${a.node} entend ${status(a.status)} d’une source.`,
  'fetch.encoded': (a) => `${a.node} reçoit le fichier comprimé (${a.encoding}) et le décomprime à la fin.`,
  'fetch.named': (a) => `${a.node} apprend que le fichier s’appelle ${a.name}.`,
  'fetch.unvouched': (a) => `${a.node} a tous les octets, mais seule la longueur indique qu’ils sont d’une même version.`,
  'fetch.paused': (a) => `${a.node} met le téléchargement en pause : aucune source n’est interrogée jusqu’à ce que son utilisateur le dise.`,
  'fetch.tree_learnt': (a) => `${a.node} apprend les empreintes des ${count(a.pieces)} pièces du fichier.`,
  'fetch.piece_wrong': (a) => `${a.node} trouve des données fausses (${range(a)}) et redemande la pièce.`,
  'fetch.called_back': (a) => `${a.node} est rappelé : son tour est venu.`,
  'fetch.done': (a) => `${a.node} a le fichier entier, ${bytes(a.bytes)}${a.sha1 ? ', et son empreinte est juste' : ''}.`,
  'fetch.corrupt': (a) => `${a.node} a reçu des octets qui ne sont pas du fichier et recommence.`,
  'fetch.failed': (a) => `${a.node} finit sans le fichier : ${FAILURES[a.why] ?? a.why}.`,

  'check.length': 'la file n’est pas aussi longue qu’annoncé',
  'check.reserve_idle': 'un emplacement a été réservé trop longtemps pour un client absent',
  'check.idle_held': 'un emplacement était libre alors qu’une demande y ayant droit attendait',
  'check.lapsed_early': 'un emplacement a été retiré trop tôt',
  'check.lost': 'une place a été perdue pour une raison que les événements ne confirment pas',
  'check.window': 'un client s’est vu donner une heure qui laisse trop peu de marge',
  'check.no_place': 'un client s’est vu annoncer une place sans en avoir',
  'check.position': 'une place est au-delà de la fin de la file',
  'check.idle_slot': 'un emplacement est resté vide alors qu’un client y ayant droit était là',
  'check.fifo': 'un client a été servi avant un plus ancien qui était là',
  'check.slots': 'plus d’envois que d’emplacements',
  'check.free': 'le compte des emplacements libres est faux',
  'check.aq_connection': 'une place d’Active Queueing a survécu à sa connexion',
  'check.mixture': 'un téléchargement complet n’est pas une seule version de son fichier',
  'check.complete': 'un téléchargement s’est terminé sans tous les octets',
  'check.failed': 'un téléchargement a échoué alors qu’il pouvait être fini',
  'check.unfinished': 'un téléchargement ne s’est jamais terminé',
  'check.leaderless': 'aucun membre ne dirige le site alors que l’un d’eux le pourrait',
  'check.old_number': 'le bail a été pris avec un numéro qui n’est pas nouveau',
  'check.not_its_part': 'un membre donne une place pour un fichier d’un autre membre',
  'check.place_gone': 'une place annoncée a disparu après la reprise par un autre membre',
  'check.served_twice': 'une place déjà servie a été servie de nouveau',
  'check.takeover_order': 'la file a un autre ordre après la reprise par un autre membre',
  'check.two_write': 'un membre qui ne dirige plus a écrit',
  'check.unsaved': 'un client s’est vu annoncer une place qui n’est pas enregistrée',

  'world.cut': (a) => (a.other === undefined || a.other === '' ? `Le câble de ${a.node} est coupé.` : `Le câble entre ${a.node} et ${a.other} est coupé.`),
  'world.crashed': (a) => `${a.node} est tué ; ce qui n’était pas sur le disque est perdu.`,
  'world.restarted': (a) => `${a.node} tourne de nouveau, avec ce qu’il y avait sur son disque.`,
  'world.stalled': (a) => `${a.node} est figé.`,
  'world.resumed': (a) => `${a.node} reprend.`,
  'world.firewall': (a) => (a.closed ? `Aucune machine ne peut plus se connecter à ${a.node}.` : `Toutes les machines peuvent de nouveau se connecter à ${a.node}.`),
  'world.clock': (a) => `L’horloge de ${a.node} est décalée de ${fixed(a.offset / 1e6, 1)} s.`,
  'world.user': (a) => `${a.node} : ${USERS[a.action] ?? a.action}.`,
  'world.leads': (a) => `${a.node} dirige le site, avec le numéro ${a.fence}.`,
  'world.stands_by': (a) => `${a.node} se tient en réserve jusqu’au silence de celui qui dirige.`,
  'world.replaced': (a) => `${a.node} a été remplacé : il n’écrit plus rien, et s’arrête.`,
  'world.saved': (a) => `La base de données a ce que ${a.node} a écrit avec le numéro ${a.fence}.`,
  'world.store_away': (a) => (a.away ? `${a.node} n’atteint pas la base de données ; il ne promet rien de nouveau.` : `${a.node} atteint de nouveau la base de données.`),
  'world.store': (a) => (a.away ? 'La base de données a disparu.' : 'La base de données est de retour.'),
  'world.parts': (a) => `${a.node} dirige maintenant ${plural(ones(a.low) + ones(a.high), 'partition', 'partitions')} du site.`,
  'world.apart': (a) => (a.apart ? `Le chemin entre ${a.node} et la base de données est coupé.` : `Le chemin entre ${a.node} et la base de données est réparé.`),
  'world.changed': (a) => (a.size === null ? `Les fichiers de ${a.node} deviennent d’autres fichiers de mêmes noms.` : `Les fichiers de ${a.node} deviennent d’autres fichiers de mêmes noms, de ${bytes(a.size)}.`),
};

/** @type {Record<string, string>} */
const WHYS = {
  'queue.arrived': 'Tous les emplacements sont pris, ou un client mieux placé attend. Une nouvelle demande va à la fin de l’unique file, quel que soit son langage.',
  'queue.arrived.active': 'Tous les emplacements sont pris, la demande va donc à la fin de l’unique file. Avec Active Queueing, la connexion est la place : elle doit rester ouverte.',
  'queue.arrived.parq': 'Tous les emplacements sont pris, la demande va donc à la fin de l’unique file. Elle reçoit un identifiant au hasard : avec lui, la place survit à une connexion coupée.',
  'queue.arrived.passive': 'Ce client ne connaît pas de file. Il est pourtant dans la même que tous, reconnu à son adresse tant qu’il continue de demander.',
  'queue.asked': 'Il a demandé dans sa fenêtre : pas avant l’heure annoncée, pas après l’échéance. La place est donc gardée.',
  'queue.asked.restored': 'Le serveur était absent et a repris sa file du disque. Un client qui vient avec son identifiant a sa place.',
  'queue.asked.forgiven': 'Il a demandé un instant avant l’heure annoncée. Les horloges diffèrent, le serveur pardonne donc une seconde, et la place est gardée.',
  'queue.asked.called': 'Le serveur l’a appelé, et un appel lève l’heure annoncée. Il peut donc demander tout de suite, et la place est gardée.',
  'queue.told': 'Chaque réponse annonce la place et quand revenir. Plus on est loin, plus la pause est longue ; une règle qui mesure peut annoncer une heure plus proche, jamais plus lointaine.',
  'queue.told.passive': 'Un client qui ne connaît pas de file apprend quand réessayer : dans 250 secondes au plus, car après 300 il est oublié.',
  'queue.told.active': 'Chaque réponse annonce la place et la fenêtre pour demander. Il reste connecté entre-temps, car avec Active Queueing la connexion est la place.',
  'queue.told.parq': 'Chaque réponse annonce la place et quand revenir : après 30 secondes pour la première place, 20 de plus pour chacune des suivantes, et dix minutes au-delà de la vingtième. Une règle qui mesure peut annoncer une heure plus proche, jamais plus lointaine.',
  'queue.told.keep': 'Près de la tête de la file, le câble est gardé, pour ne pas perdre de temps quand un emplacement se libère.',
  'queue.entitled': 'Ont droit autant de clients qu’il y a d’emplacements libres, comptés depuis la tête de la file. Aucun client derrière eux ne peut passer devant.',
  'queue.held': 'Un client qui attend sa réponse n’est pas renvoyé. Il est là, et reçoit l’emplacement à l’instant où il se libère.',
  'queue.lapsed': 'Un emplacement libre n’est gardé qu’un court moment pour le premier de la file. Un client qui ne demande pas pendant ce temps garde la place, mais l’emplacement passe plus loin.',
  'queue.passed': 'Un emplacement ne doit pas rester vide pour un client absent. Ce client garde la place et sera servi à son retour.',
  'queue.started': 'Il est parmi les premiers de la file, un emplacement est libre pour chacun d’eux, et il a demandé.',
  'queue.started.back': 'Son transfert avait été coupé, et l’emplacement lui était gardé. Il est revenu à temps.',
  'queue.started.passed': 'Ceux qui le précèdent n’ont pas demandé tant qu’un emplacement était libre. L’emplacement passe plus loin, leurs places restent.',
  'queue.started.held': 'Sa demande était retenue : il était donc là à l’instant où un emplacement s’est libéré pour lui.',
  'queue.started.at_once': 'Un emplacement est libre et aucun client de la file n’y a droit. Le transfert commence donc avec la réponse même.',
  'queue.continued': 'Une partie finie ne rend pas l’emplacement : les téléchargements par morceaux le gardent.',
  'queue.finished': 'Le transfert est terminé. Rien ne reste qui pourrait bloquer l’emplacement.',
  'queue.reserved': 'Un transfert coupé garde son emplacement un moment, pour la même adresse et le même fichier.',
  'queue.unreserved': 'Le temps pour revenir est écoulé.',
  'queue.returned': 'Un emplacement dont le transfert a été coupé n’est gardé que peu de temps quand d’autres attendent. L’identifiant garde sa place dans la file.',
  'queue.away': 'Avec PARQ, la place est l’identifiant, pas le câble. Un câble coupé est pardonné, si le client revient à temps.',
  'queue.moved': 'Avec Active Queueing, une place vaut pour un fichier. Un autre fichier signifie la fin de la file.',
  'queue.lost': 'Seuls gardent une place ceux qui respectent les règles de leur langage.',
  'queue.lost.too_early': 'Demander avant l’heure annoncée compte comme une inondation. La place est perdue.',
  'queue.lost.overdue': 'Aucune demande n’est venue avant l’échéance, le serveur tient donc le client pour parti.',
  'queue.lost.connection_lost': 'Avec Active Queueing, la connexion est la place : si elle tombe, la place est perdue aussitôt.',
  'queue.lost.wrong_position': 'Le client a cité une autre place que celle annoncée, on ne se fie donc pas à l’identifiant.',
  'queue.lost.broke_too_often': 'Au moins un câble coupé est pardonné ; celui-ci était de trop.',
  'queue.lost.unreachable': 'Le serveur a rappelé sans obtenir de réponse.',
  'queue.lost.replaced': 'Le client a pris une autre place que celle-ci.',
  'queue.lost.left': 'Le client a dit qu’il ne veut plus rien, rien n’attend donc plus pour lui.',
  'queue.refused': 'Toute file a une fin. Au-delà, un client apprend quand réessayer.',
  'queue.called': 'Le client a donné une adresse et son temps est écoulé, le serveur se connecte donc à lui et dit que son tour approche.',
  'fetch.asked': 'Il demande à la source les octets qui manquent encore.',
  'fetch.asked.part': 'Une partie est là. Il demande la suivante sur l’emplacement qu’il a.',
  'fetch.asked.place': 'Un client en attente demande dans sa fenêtre, ou quand il est appelé, et les octets dont il a alors besoin.',
  'fetch.asked.called': 'Le serveur l’a appelé. Il demande donc tout de suite, quelle que soit l’heure annoncée.',
  'fetch.asked.first': 'Il ne sait pas encore s’il y a une file : la réponse sera les octets, ou une place.',
  'fetch.queued': 'Il a appris sa place et sa fenêtre. Il redemandera largement à l’intérieur de celle-ci.',
  'fetch.waiting': 'Il n’a là-bas aucune place à perdre, il ne reste donc que la patience : chaque échec allonge la pause.',
  'fetch.waiting.place': 'Il a un identifiant, et avec lui sa place. C’est la connexion qui est perdue, pas la place : il redemandera avant la fin de son délai.',
  'fetch.called_back': 'Le serveur s’est connecté à l’adresse que le client avait donnée, car son tour approche.',
  'fetch.done': 'Tous les octets sont sur le disque, et si l’empreinte du fichier est connue, elle a été comparée.',
  'fetch.corrupt': 'Un fichier n’est que ce que dit son empreinte. Ce qui ne concorde pas est jeté.',
  'conn.line': 'Une ligne dit que le tour est venu : l’identifiant de la place, et où est maintenant le serveur.',
  'conn.limit': 'Tout ce qu’un inconnu peut nous faire dépenser a une limite, et l’atteindre se dit.',
  'world.cut': 'Une panne : à partir d’ici, la connexion entre les deux a disparu. L’histoire est ce que chaque langage en fait.',
  'world.crashed': 'Une panne : le programme est tué. Ce qu’il avait promis était sur le disque avant d’être dit.',
  'world.restarted': 'Il recommence avec ce qui est sur le disque, et rappelle ceux qui ont donné une adresse.',
  'world.stalled': 'Une panne : il ne reçoit rien, et ses minuteries attendent.',
  'world.user': 'Un utilisateur a appuyé sur un bouton.',
  'world.leads': 'Il a pris le bail dans la base de données, ce qui augmente un numéro. L’ancien dirigeant a un numéro plus vieux, et la base de données n’accepte plus rien de lui.',
  'world.stands_by': 'Il regarde le bail dans la base de données. S’il n’est pas renouvelé pendant cinq secondes, il le prend.',
  'world.replaced': 'Il était seulement lent, pas mort. La base de données a refusé ce qu’il écrivait, car un autre membre a un numéro plus récent.',
  'world.saved': 'Une réponse qui promet quelque chose ne part qu’après cela.',
  'world.store_away': 'Ce qui ne promet rien continue ; un client qui demande une place reçoit 503 et revient.',
  'world.store': 'Une panne : aucun membre ne peut écrire jusqu’au retour de la base de données.',
  'world.parts': 'Les fichiers d’un site sont répartis en partitions. Chaque membre calcule, à partir des adresses de tous, lequel dirige quelle partition.',
  'conn.firewall': 'Un client demande un push quand il n’a pas pu se connecter.',
  'world.changed': 'Une panne : ce qui est en cours d’envoi est encore l’ancienne version.',
  'world.apart': 'Une panne : ce qui a été envoyé avant peut encore arriver plus tard.',
  'queue.released': 'Les fichiers d’un site sont répartis entre ses servents ; une partition déménage avec toutes ses places.',
  'queue.restored': 'Ce qui est promis est sur le disque avant d’être dit, un redémarrage ne perd donc aucun client.',
};

/** @type {Sentences} */
export const events = {
  ...EVENTS,
  ...Object.fromEntries(Object.entries(WHYS).map(([key, text]) => [`${key}.why`, text])),
};
