/** What the stories are called and about, in French. */

/** By the id of the story: its title, and what it tells. @type {Record<string, [string, string]>} */
const STORIES = {
  'one-cut-wire': ['Un câble coupé', 'Six clients veulent un emplacement, et deux qui attendent perdent leur câble à la même seconde. Pour l’un la connexion était la place, pour l’autre c’est un identifiant : voyez lequel est encore dans la file.'],
  'rush-hour': ['Heure de pointe', 'Deux cents clients de trois langages veulent des fichiers d’un serveur en sept minutes. Regardez une seule file les servir dans l’ordre, quel que soit leur langage.'],
  impatient: ['Le client impatient', 'Un client demande sans cesse avant d’en avoir le droit ; les autres attendent leur tour. Chaque demande trop précoce lui coûte la place qu’il avait.'],
  'cut-the-wire': ['Couper le câble', 'Le même accident arrive à trois clients qui attendent et à un qui est servi. Avec Active Queueing la connexion est la place, avec PARQ la place lui survit.'],
  'aq-vs-parq': ['Active Queueing contre PARQ', 'Les mêmes douze arrivées : une fois chaque client garde sa connexion ouverte, une fois chacun a un identifiant. Comparez combien attend un emplacement libre, et qui peut raccrocher.'],
  newcomer: ['Le nouveau venu', 'Un emplacement se libère à l’instant précis où arrive un nouveau client. Celui qui a attendu le plus longtemps y a droit, et le nouveau venu va à la fin de la file.'],
  'server-restart': ['Redémarrage du serveur', 'Le serveur est tué au milieu de tout et revient une minute plus tard. Il connaît encore chaque place promise, et rappelle ceux qui ont donné une adresse.'],
  'leader-dies': ['Celui qui dirige meurt', 'Deux servents forment un site avec une base de données ; celui qui dirige est tué et ne revient que bien plus tard. L’autre dirige au bout de quelques secondes, et chaque place promise est encore où elle était.'],

  'round-and-back': ['Le tour, et le retour', 'Une question fait le tour d’un anneau par les deux côtés, et là où les vagues se rencontrent, chaque côté jette la copie de l’autre. Puis la réponse rentre par le chemin d’où venait sa question, lien après lien.'],
  ring: ['Une inondation dans un anneau', 'Un servent demande, et sa question fait le tour de l’anneau par les deux côtés. Là où les deux vagues se rencontrent, chaque côté jette la copie de l’autre : deux en tout.'],
  cycles: ['Cycles et doublons', 'Chaque carré de cette grille est un cycle, la plupart des servents sont donc interrogés plus d’une fois. Seule la première copie continue, sinon la question ne finirait jamais.'],
  'way-back': ['Le chemin du retour', 'Trois servents ont ce qui est demandé. Chaque réponse rentre par le chemin d’où venait sa question, lien après lien, parce que chaque servent du chemin s’en souvient.'],
  'cut-return': ['Une coupure sur le retour', 'Pendant le retour de la réponse, un lien dont elle a besoin est coupé. Elle y est jetée, bien qu’un autre chemin mène à la maison : une réponse ne connaît que le chemin d’où venait sa question.'],
  'route-expired': ['Route expirée', 'Deux servents répondent tard : l’un après neuf minutes, l’autre après dix et demie. La première réponse trouve encore sa route, la seconde est jetée là où les tables ont tourné deux fois la page.'],
  'late-push': ['Le push qui arrive trop tard', 'Un résultat montre le chemin vers un servent injoignable de l’extérieur. Un push prend ce chemin vingt-neuf minutes plus tard et arrive ; un autre, après une heure, ne trouve plus de chemin.'],
  flooder: ['Un inondeur', 'Un servent envoie des centaines de questions que personne n’a posées. Ses voisins prennent ce que permet sa part et jettent le reste ; pendant ce temps, la réponse à une question honnête rentre quand même.'],
  twins: ['Deux servents, un identifiant', 'Deux servents portent le même identifiant, par hasard ou exprès. Le premier qui envoie un résultat à travers un routeur y garde le chemin des push ; l’autre est repéré comme conflit.'],
  'step-by-step': ['Pas à pas', 'Quarante ultrapairs avec deux cents feuilles : une recherche ne va pas plus loin qu’il ne faut. Les mots que beaucoup possèdent trouvent réponse tout près, et seule l’aiguille est cherchée partout.'],
  'ten-thousand': ['Dix mille', 'Dix mille servents dans un petit monde : une grille, et autant de longs liens en travers. Sept sauts en atteignent presque tous, et la plupart des messages sont des doublons.'],

  'lose-middle': ['Un message du milieu se perd', 'Neuf messages, et le cinquième se perd en chemin. Le récepteur voit le trou et demande ce numéro-là.'],
  'lose-last': ['Le dernier se perd', 'Le neuvième de neuf messages se perd, et rien ne suit qui pourrait montrer le trou. Seul l’émetteur peut le remarquer : le plus haut numéro acquitté et le plus haut envoyé restent différents.'],
  'lose-first': ['Le premier se perd', 'Le message qui ouvre la connexion n’arrive jamais. Le récepteur ne connaît pas les autres et demande le premier.'],
  'lose-ack': ['L’acquittement se perd', 'Tous les messages arrivent, sauf le dernier acquittement. L’émetteur renvoie son plus haut numéro, et le récepteur le jette et répond.'],
  burst: ['Une rafale', 'Le lien devient parfois mauvais, et des suites de datagrammes se perdent, les réponses aussi. Même les demandes de ce qui manque se perdent et doivent être répétées.'],
  'five-percent': ['Cinq pour cent', 'Trois cents messages sur un lien qui perd un datagramme sur vingt dans les deux sens. Comparez le temps que mettent les deux procédés avec les mêmes pertes.'],
  'receiver-restart': ['Le récepteur redémarre', 'Au milieu d’une série, le récepteur est tué et revient sans rien savoir. Il demande le premier message que l’émetteur a encore, et continue à partir de là.'],
  'fill-the-queue': ['Qui remplit la file ?', 'A envoie à B un fichier et C envoie à B un mot dix fois par seconde, par une ligne lente avec un tampon profond. Si A garde le débit qu’il mesure, les mots passent aussitôt ; si A envoie plus jusqu’à une perte, chaque mot attend derrière le fichier.'],
  'two-controllers': ['Deux réglages, une ligne', 'A garde le débit qu’il mesure (BBR) et a la ligne pour lui, jusqu’à ce qu’arrive C, qui envoie plus jusqu’à une perte (CUBIC). Regarde qui remplit la file et quelle part de la ligne chacun a, et demande pourquoi A ralentit.'],
  'close-in-flight': ['Fermer avec des messages en route', 'L’émetteur ferme alors que les trois derniers messages se perdent en chemin. Ils sont renvoyés quand même, et la connexion finit quand le récepteur les a.'],

  'two-for-one': ['Deux pour un', 'Un envoi gagne deux téléchargements ; celui qui n’a rien gagné est bloqué. On demande d’abord des pièces aux bloqués, ils gagnent donc de nouveau.'],
  'free-piece': ['La pièce gratuite', 'Un nouveau venu n’a rien à donner et reçoit sa première pièce gratuitement. À partir de là, il gagne.'],
  deadlock: ['Les règles qui se bloquent', 'Tous sont bloqués, et aucun de ceux qui ne le sont pas n’a besoin de ce qu’ils ont. Avec les règles de 2004, l’essaim s’arrête pour toujours ; avec les règles adaptées, aucun emplacement utile ne reste vide, et il finit.'],
  'rarest-first': ['La plus rare d’abord', 'La source envoie chaque pièce une fois, et celui qui a la plus récente la transmet. Ainsi chaque pièce double à chaque tour.'],
  firewalls: ['Un demi-essaim derrière des pare-feu', 'La moitié des clients sont injoignables et ne le savent pas. Après cinq connexions échouées, ils sont passifs et se connectent eux-mêmes.'],
  liar: ['Un menteur', 'Un client envoie des octets faux. Trois autres le signalent, et plus personne ne lui demande rien.'],
  'flash-crowd': ['La ruée', 'Mille clients arrivent d’un coup. La source envoie le fichier une fois, la foule fait le reste.'],
  'two-doors': ['Deux portes qui ne s’ouvrent que vers l’extérieur', 'Ada et Ben sont derrière des routeurs qui ne laissent entrer que des réponses. Les deux frappent au même moment : chaque coup ouvre sa propre porte à celui de l’autre.'],
  'knock-early': ['Un coup trop tôt', 'La présentation pour Ada se perd, et le point de rencontre la répète un instant après. Les premiers coups de Ben trouvent la porte d’Ada fermée, et ouvrent pourtant celle de Ben.'],
  'relay-first': ['Relayé d’abord, direct ensuite', 'Le point de rencontre transmet les premiers messages pendant que les deux frappent encore. Dès qu’une paire d’adresses est prouvée, la connexion y passe sans envoyer de message deux fois.'],
  'one-symmetric': ['Un autre port pour chaque destination', 'Le routeur d’Ada donne un autre port à chaque destination, et celui de Ben ne laisse entrer que le port exact auquel Ben a écrit. Alors Ada frappe depuis beaucoup de ports, et Ben en devine un.'],
  'two-symmetric': ['Deux qui donnent un autre port à chaque destination', 'Aucun côté ne peut savoir de quel port l’autre frappera, et les deux ne laissent entrer que ce à quoi ils ont écrit. Après quatre secondes les deux apprennent pourquoi il n’y a pas de chemin.'],
  'two-symmetric-relay': ['Les deux mêmes, avec un relais', 'Ici non plus aucun coup ne passe, mais le point de rencontre transmet ce qu’ils envoient, sans pouvoir le lire. Le chemin par lui porte dès le premier instant, et reste.'],
  'udp-blocked': ['Un réseau qui bloque l’UDP', 'Le réseau d’Ada ne laisse pas sortir d’UDP, et même le point de rencontre n’entend rien d’elle. Ben attend un appel qui ne vient jamais.'],
  'mapping-expires': ['Une entrée qui expire', 'Pendant 45 secondes rien n’est envoyé, et le routeur d’Ada oublie son entrée après 30. Son prochain message part d’un autre port ; le routeur de Ben connaît son adresse et le laisse entrer, et la connexion y passe.'],
  'one-home': ['Deux dans une même maison', 'Les deux sont derrière le même routeur, qui ne renvoie pas ce qui vient du dedans. Leurs coups à son adresse extérieure sont jetés, et ceux à leurs propres adresses arrivent aussitôt.'],
};

/** @type {import('./words.js').Sentences} */
export const stories = Object.fromEntries(Object.entries(STORIES).flatMap(([id, [title, text]]) => [[`story.${id}`, title], [`story.${id}.text`, text]]));
