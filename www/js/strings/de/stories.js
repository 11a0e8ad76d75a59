/** What the stories are called and about, in German. */

/** By the id of the story: its title, and what it tells. @type {Record<string, [string, string]>} */
const STORIES = {
  'one-cut-wire': ['Eine gekappte Leitung', 'Sechs Clients wollen einen Slot, und zwei, die warten, verlieren in derselben Sekunde ihre Leitung. Für den einen war die Verbindung der Platz, für den anderen ist es eine Nummer: Sieh, wer noch in der Schlange steht.'],
  'rush-hour': ['Stoßzeit', 'Zweihundert Clients mit drei Sprachen wollen innerhalb von sieben Minuten Dateien von einem Server. Sieh zu, wie eine einzige Schlange sie der Reihe nach bedient, egal welche Sprache sie sprechen.'],
  impatient: ['Der ungeduldige Client', 'Ein Client fragt immer wieder, bevor er darf; die anderen warten, bis sie dran sind. Jede zu frühe Frage kostet ihn den Platz, den er hatte.'],
  'cut-the-wire': ['Kapp die Leitung', 'Dasselbe Missgeschick trifft drei wartende Clients und einen, der gerade bedient wird. Bei Active Queueing ist die Verbindung der Platz, bei PARQ überlebt ihn der Platz.'],
  'aq-vs-parq': ['Active Queueing gegen PARQ', 'Dieselben zwölf Ankünfte, einmal hält jeder Client seine Verbindung offen, einmal hat jeder eine Nummer in der Hand. Vergleiche, wie lange ein freier Slot wartet und wer auflegen darf.'],
  newcomer: ['Der Neuling', 'Ein Slot wird in genau dem Augenblick frei, in dem jemand Neues kommt. Wer am längsten gewartet hat, hat das Anrecht darauf, und der Neuling geht ans Ende der Schlange.'],
  'server-restart': ['Neustart des Servers', 'Der Server wird mitten in allem abgeschossen und kommt eine Minute später wieder. Er kennt noch jeden Platz, den er versprochen hat, und ruft die zurück, die eine Adresse genannt haben.'],
  'leader-dies': ['Wer führt, stirbt', 'Zwei Servents sind eine Site mit einer Datenbank; der eine, der führt, wird abgeschossen und kommt erst später wieder. Der andere führt nach ein paar Sekunden weiter, und jeder Platz, der versprochen war, steht noch an seiner Stelle.'],

  'round-and-back': ['Im Kreis, und der Rückweg', 'Eine Frage läuft auf beiden Seiten um einen Ring, und wo sich die Wellen treffen, verwirft jede Seite die Kopie der anderen. Dann geht die Antwort den Weg zurück, den ihre Frage kam, Verbindung um Verbindung.'],
  ring: ['Eine Flut im Ring', 'Ein Servent fragt, und seine Frage läuft auf beiden Seiten um den Ring. Wo sich die zwei Wellen treffen, verwirft jede Seite die Kopie der anderen: zwei im Ganzen.'],
  cycles: ['Kreise und Duplikate', 'Jedes Quadrat dieses Gitters ist ein Kreis, also werden die meisten Servents mehr als einmal gefragt. Nur die erste Kopie geht weiter, sonst würde die Frage nie enden.'],
  'way-back': ['Der Rückweg', 'Drei Servents haben, wonach gefragt wird. Jede Antwort geht den Weg zurück, den ihre Frage kam, Verbindung um Verbindung, weil sich alle auf dem Weg daran erinnern.'],
  'cut-return': ['Ein Schnitt auf dem Rückweg', 'Während die Antwort zurückgeht, wird eine Verbindung gekappt, die sie braucht. Dort wird sie verworfen, obwohl ein anderer Weg nach Hause führte: Eine Antwort kennt nur den Weg, den ihre Frage kam.'],
  'route-expired': ['Weg abgelaufen', 'Zwei Servents antworten spät: einer nach neun Minuten, der andere nach zehneinhalb. Die erste Antwort findet ihren Weg noch, die zweite wird verworfen, wo die Tabellen zweimal umgeblättert haben.'],
  'late-push': ['Der Push, der zu spät kommt', 'Ein Treffer zeigt den Weg zu einem Servent, der von außen nicht erreichbar ist. Ein Push geht diesen Weg neunundzwanzig Minuten später und kommt an; ein anderer findet nach einer Stunde keinen Weg mehr.'],
  flooder: ['Ein Störer', 'Ein Servent sendet Hunderte Fragen, die niemand gestellt hat. Seine Nachbarn nehmen, was sein Anteil erlaubt, und verwerfen den Rest; die Antwort auf eine ehrliche Frage kommt in der Zeit trotzdem nach Hause.'],
  twins: ['Zwei Servents mit einer Kennung', 'Zwei Servents tragen dieselbe Kennung, aus Zufall oder mit Absicht. Wer zuerst einen Treffer durch einen Router schickt, behält dort den Weg der Pushes; der andere fällt als Widerspruch auf.'],
  'step-by-step': ['Schritt für Schritt', 'Vierzig Ultrapeers mit zweihundert Blättern: Eine Suche geht nicht weiter, als sie muss. Wörter, die viele haben, sind um die Ecke beantwortet, und nur die Nadel wird überall gesucht.'],
  'ten-thousand': ['Zehntausend', 'Zehntausend Servents in einer kleinen Welt: ein Gitter, und quer darüber ebenso viele lange Verbindungen. Sieben Schritte erreichen fast alle, und die meisten Nachrichten sind Duplikate.'],

  'lose-middle': ['Eine mittlere geht verloren', 'Neun Nachrichten, und die fünfte geht unterwegs verloren. Der Empfänger sieht die Lücke und fragt nach dieser einen Nummer.'],
  'lose-last': ['Die letzte geht verloren', 'Die neunte von neun Nachrichten geht verloren, und nichts folgt, das die Lücke zeigen könnte. Nur der Sender kann es merken: Höchste bestätigte und höchste gesendete Nummer bleiben verschieden.'],
  'lose-first': ['Die erste geht verloren', 'Die Nachricht, die die Verbindung öffnet, kommt nie an. Der Empfänger kennt die anderen nicht und bittet um die erste.'],
  'lose-ack': ['Die Bestätigung geht verloren', 'Jede Nachricht kommt an, nur die letzte Bestätigung nicht. Der Sender schickt seine höchste Nummer noch einmal, und der Empfänger wirft sie weg und antwortet.'],
  burst: ['Ein Aussetzer', 'Die Verbindung wird ab und zu schlecht, und ganze Reihen von Datagrammen gehen verloren, Antworten auch. Auch Bitten um Fehlendes gehen verloren und müssen wiederholt werden.'],
  'five-percent': ['Fünf Prozent', 'Dreihundert Nachrichten über eine Verbindung, die in beiden Richtungen jedes zwanzigste Datagramm verliert. Vergleiche, wie lange die beiden Verfahren bei denselben Verlusten brauchen.'],
  'receiver-restart': ['Der Empfänger startet neu', 'Mitten in einer Reihe stürzt der Empfänger ab und kommt wieder, ohne etwas zu wissen. Er bittet um die erste Nachricht, die der Sender noch hat, und macht von dort weiter.'],
  'fill-the-queue': ['Wer füllt die Warteschlange?', 'A sendet B eine Datei, und C sendet B zehnmal in der Sekunde ein Wort, über eine langsame Leitung mit tiefem Puffer. Bleibt A bei der Rate, die es misst, gehen die Worte sofort durch; sendet A mehr, bis etwas verloren geht, wartet jedes Wort hinter der Datei.'],
  'two-controllers': ['Zwei Regelungen, eine Leitung', 'A bleibt bei der Rate, die es misst (BBR), und hat die Leitung für sich, bis C kommt, das mehr sendet, bis etwas verloren geht (CUBIC). Sieh, wer die Warteschlange füllt und welchen Anteil der Leitung jeder hat, und frage, warum A langsamer wird.'],
  'close-in-flight': ['Schluss, während Nachrichten unterwegs sind', 'Der Sender schließt, während die letzten drei Nachrichten unterwegs verloren gehen. Sie werden trotzdem noch einmal gesendet, und die Verbindung endet, wenn der Empfänger sie hat.'],

  'two-for-one': ['Zwei für eins', 'Ein Upload verdient zwei Downloads; wer nichts verdient hat, ist blockiert. Die Blockierten werden zuerst um Stücke gebeten, also verdienen sie wieder.'],
  'free-piece': ['Das freie Stück', 'Ein Neuling hat nichts zu geben und bekommt sein erstes Stück gratis. Von da an verdient er.'],
  deadlock: ['Die Regeln, die sich festfahren', 'Alle sind blockiert, und niemand, der es nicht ist, braucht, was sie haben. Mit den Regeln von 2004 steht der Schwarm für immer still; mit den angepassten bleibt kein Slot leer, den jemand nutzen könnte, und er wird fertig.'],
  'rarest-first': ['Das Seltenste zuerst', 'Die Quelle sendet jedes Stück einmal, und wer das neueste hat, gibt es weiter. So verdoppelt sich jedes Stück in jeder Runde.'],
  firewalls: ['Der halbe Schwarm hinter Firewalls', 'Die Hälfte der Clients ist nicht erreichbar und weiß es nicht. Nach fünf gescheiterten Verbindungen sind sie passiv und verbinden sich selbst.'],
  liar: ['Ein Lügner', 'Ein Client sendet falsche Bytes. Drei andere melden es, und niemand fragt ihn mehr.'],
  'flash-crowd': ['Der Ansturm', 'Tausend Clients kommen auf einmal. Die Quelle sendet die Datei einmal, die Menge tut den Rest.'],
  'two-doors': ['Zwei Türen, die nur nach außen aufgehen', 'Ada und Ben sind hinter Routern, die nur Antworten hereinlassen. Beide klopfen im selben Augenblick: Jedes Klopfen öffnet die eigene Tür für das der anderen Seite.'],
  'knock-early': ['Einer klopft zu früh', 'Die Vorstellung für Ada geht verloren, und der Treffpunkt wiederholt sie einen Moment später. Bens erste Klopfer finden ihre Tür zu und öffnen doch die eigene.'],
  'relay-first': ['Erst über den Treffpunkt, dann direkt', 'Der Treffpunkt reicht die ersten Nachrichten weiter, während beide noch klopfen. Sobald ein Paar von Adressen bewiesen ist, wechselt die Verbindung dorthin, und keine Nachricht wird doppelt gesendet.'],
  'one-symmetric': ['Für jedes Ziel ein anderer Port', 'Adas Router gibt jedem Ziel einen anderen Port, und der von Ben lässt nur genau den Port herein, an den Ben geschrieben hat. Darum klopft Ada von vielen Ports, und Ben rät einen davon.'],
  'two-symmetric': ['Zwei, die jedem Ziel einen anderen Port geben', 'Keine Seite kann wissen, von welchem Port die andere klopft, und beide lassen nur herein, woran sie geschrieben haben. Nach vier Sekunden erfahren beide, warum es keinen Weg gibt.'],
  'two-symmetric-relay': ['Dieselben zwei, und der Treffpunkt reicht weiter', 'Auch hier kommt kein Klopfen durch, aber der Treffpunkt reicht weiter, was sie senden, und kann es nicht lesen. Der Weg über ihn trägt vom ersten Augenblick an und bleibt.'],
  'udp-blocked': ['Ein Netz, das UDP sperrt', 'Adas Netz lässt kein UDP hinaus, darum hört nicht einmal der Treffpunkt von ihr. Ben wartet auf einen Anruf, der nie kommt.'],
  'mapping-expires': ['Ein Eintrag, der abläuft', '45 Sekunden lang wird nichts gesendet, und Adas Router vergisst seinen Eintrag nach 30. Ihre nächste Nachricht geht von einem anderen Port aus; Bens Router kennt ihre Adresse und lässt sie herein, und die Verbindung zieht um.'],
  'one-home': ['Zwei in einer Wohnung', 'Beide sind hinter demselben Router, der nicht zurückgibt, was von innen kommt. Ihr Klopfen an seiner äußeren Adresse wird verworfen, das an den eigenen Adressen kommt sofort an.'],
};

/** @type {import('./words.js').Sentences} */
export const stories = Object.fromEntries(Object.entries(STORIES).flatMap(([id, [title, text]]) => [[`story.${id}`, title], [`story.${id}.text`, text]]));
