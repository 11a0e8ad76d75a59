'use strict';
const box = document.getElementById('give'), list = box.querySelector('ul');
const most = Number(box.dataset.most), waiting = [];
let busy = false;
function add(file, folder) {
  const row = document.createElement('li'), name = document.createElement('span');
  const bar = document.createElement('progress'), said = document.createElement('span');
  const stop = document.createElement('button');
  name.textContent = file.name;
  bar.max = file.size || 1;
  bar.value = 0;
  bar.setAttribute('aria-label', file.name);
  said.className = 'said';
  said.textContent = 'waits';
  stop.textContent = 'Stop';
  stop.setAttribute('aria-label', 'Stop ' + file.name);
  row.append(name, bar, stop, said);
  list.append(row);
  const one = { file, bar, said, row, tries: 0 };
  stop.onclick = () => { if (one.request) one.request.abort(); else end(one, 'stopped', false); };
  if (folder) return end(one, 'is a folder: choose the files in it', false);
  if (file.size > most) return end(one, 'is larger than files may be here', false);
  waiting.push(one);
  next();
}
function end(one, text, good) {
  const at = waiting.indexOf(one);
  if (at >= 0) waiting.splice(at, 1);
  one.said.textContent = text;
  one.row.className = good ? 'good' : 'bad';
  one.bar.remove();
  one.row.querySelector('button').remove();
}
function next() {
  if (busy || !waiting.length) return;
  const one = waiting.shift(), ask = one.request = new XMLHttpRequest();
  busy = true;
  one.said.textContent = '0 %';
  const over = (text, good) => { busy = false; end(one, text, good); next(); };
  ask.upload.onprogress = (e) => {
    one.bar.value = e.loaded;
    one.said.textContent = e.lengthComputable && e.loaded < e.total ? Math.floor(100 * e.loaded / e.total) + ' %' : 'is checked';
  };
  ask.onload = () => {
    const text = ask.responseText.trim();
    if (ask.status === 503 && one.tries++ < 100) {
      one.said.textContent = 'waits';
      one.request = null;
      setTimeout(() => { busy = false; if (one.bar.isConnected) waiting.unshift(one); next(); }, 5000);
    } else if (ask.status === 201) {
      const kept = text.replace(/^Kept as /, '');
      over(kept === one.file.name ? 'is here' : 'is here as ' + kept, true);
    } else over(text || 'was refused (' + ask.status + ')', false);
  };
  ask.onabort = () => over('stopped; nothing of it is kept', false);
  ask.onerror = () => over('the connection broke; nothing of it is kept', false);
  ask.open('PUT', '/' + encodeURIComponent(one.file.name));
  ask.send(one.file);
}
box.querySelector('input').onchange = (e) => {
  for (const file of e.target.files) add(file, false);
  e.target.value = '';
};
const hasFiles = (e) => e.dataTransfer && [...e.dataTransfer.types].includes('Files');
addEventListener('dragover', (e) => { if (hasFiles(e)) { e.preventDefault(); box.className = 'over'; } });
addEventListener('dragleave', (e) => { if (!e.relatedTarget) box.className = ''; });
addEventListener('drop', (e) => {
  if (!hasFiles(e)) return;
  e.preventDefault();
  box.className = '';
  for (const item of [...e.dataTransfer.items].filter((item) => item.kind === 'file')) {
    const entry = item.webkitGetAsEntry && item.webkitGetAsEntry(), file = item.getAsFile();
    if (file) add(file, Boolean(entry && entry.isDirectory));
  }
});
addEventListener('beforeunload', (e) => { if (busy) e.preventDefault(); });
