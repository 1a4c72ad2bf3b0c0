// Keys, light and dark, and what a window keeps while its parts are drawn anew.
window.rememberer = (() => {
  const open = new Map(); // folded or not, by data-key, where the person has said so

  // Remember what the person folds and unfolds in `element`.
  const keep = element => {
    if (element.dataset.kept) return;
    element.dataset.kept = 'yes';
    element.addEventListener('click', event => {
      const details = event.target.closest('summary')?.parentElement;
      if (details?.dataset.key) open.set(details.dataset.key, !details.open);
    });
  };
  const restore = element => {
    for (const details of element.querySelectorAll('details[data-key]'))
      if (open.has(details.dataset.key)) details.open = open.get(details.dataset.key);
    for (const radio of element.querySelectorAll('input[type=radio]')) radio.checked = radio.hasAttribute('checked');
  };
  // The newest part of a conversation comes into view.
  const follow = element => {
    const scroller = element.closest('#chatcol') ?? element;
    requestAnimationFrame(() => { scroller.scrollTop = scroller.scrollHeight; });
  };

  const stored = 'rememberer-theme';
  const paint = () => {
    const wanted = localStorage.getItem(stored);
    if (wanted) document.body.classList.toggle('dark', wanted === 'dark');
  };
  const toggle = () => {
    localStorage.setItem(stored, document.body.classList.contains('dark') ? 'light' : 'dark');
    paint();
  };

  const picked = () => document.querySelector('#cards input[name=cand]:checked')?.value ?? '';
  const press = selector => {
    const button = document.querySelector(selector);
    if (button && !button.disabled) button.click();
  };
  const reward = name => {
    for (const label of document.querySelectorAll('#reward label'))
      if (label.textContent.trim() === name) label.querySelector('input:not(:disabled)')?.click();
  };
  const type = selector => {
    const box = [...document.querySelectorAll(`${selector} :is(input, textarea)`)].find(each => !each.disabled);
    box?.focus();
  };
  // What a key does, and what the help says of it. Those without a function are seen to below.
  const keys = [
    ['Enter', 'do the picked candidate'],
    ['1 to 9', 'pick a candidate'],
    ['t', 'type another action, or tell the agent something while it runs', () => type('#override')],
    ['o', 'say why none of these will do', () => type('#hint')],
    ['+', 'reward +1', () => reward('+1')],
    ['-', 'reward −1', () => reward('−1')],
    ['c', 'say why this reward', () => type('#comment')],
    ['u', 'undo the last reward', () => press('#undo')],
    ['r', 'give it again', () => press('#redo')],
    ['b', 'take the last step back', () => press('#back')],
    ['Esc', 'stop'],
    ['1 to 5, s, u', 'under Label: reward, skip, undo'],
    ['?', 'this help', () => help()],
  ];
  const help = () => {
    let sheet = document.querySelector('#keys');
    if (!sheet) {
      sheet = Object.assign(document.createElement('dialog'), { id: 'keys' });
      sheet.setAttribute('aria-label', 'Keys');
      const rows = keys.map(([key, does]) => `<tr><th scope="row"><kbd>${key}</kbd></th><td>${does}</td></tr>`).join('');
      sheet.innerHTML = `<h2>Keys</h2><table>${rows}</table><form method="dialog"><button autofocus>Close</button></form>`;
      document.querySelector('.gradio-container').append(sheet);
      sheet.addEventListener('click', event => { if (event.target === sheet) sheet.close(); });
    }
    if (sheet.open) sheet.close();
    else sheet.showModal();
  };
  const typing = target => target.closest('textarea, input:not([type=radio]):not([type=checkbox]), [contenteditable]');
  // The keys of the Label tab: the number or letter that stands on the button in brackets.
  const label = key => {
    const buttons = [...document.querySelectorAll('#labelling .actions button')].filter(each => each.offsetParent);
    const wanted = buttons.find(each => each.textContent.trim().endsWith(`(${key})`));
    if (wanted && !wanted.disabled) wanted.click();
  };
  const labelling = () => document.querySelector('#labelling')?.offsetParent != null;
  const playing = () => document.querySelector('#stage')?.offsetParent != null;

  document.addEventListener('click', event => {
    if (event.target.closest('#theme')) toggle();
    if (event.target.closest('#help')) help();
  });
  document.addEventListener('keydown', event => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.repeat) return;
    if (labelling() && !typing(event.target)) label(event.key);
    if (!playing()) return;
    const sheet = document.querySelector('#keys')?.open;
    if (event.key === 'Escape') return sheet || press('#stop');
    if (typing(event.target) || (sheet && event.key !== '?')) return;
    const known = keys.find(([key, , act]) => key === event.key && act);
    if (event.key === 'Enter') {
      if (!event.target.closest('button, summary, a, [role=tab], [role=listbox], label')) press('#approve');
      else if (event.target.closest('#cards, #reward')) press('#approve');
    } else if (/^[1-9]$/.test(event.key)) document.querySelectorAll('#cards input[name=cand]')[event.key - 1]?.click();
    else if (known) {
      event.preventDefault(); // the letter is not to land in the box that it opens
      known[2]();
    }
  });
  // Gradio paints by the system's wish when it starts, which may be before or after this.
  const hold = () => {
    paint();
    new MutationObserver(() => {
      const wanted = localStorage.getItem(stored);
      if (wanted && document.body.classList.contains('dark') !== (wanted === 'dark')) paint();
    }).observe(document.body, { attributes: true, attributeFilter: ['class'] });
  };
  if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', hold);
  else hold();

  return { keep, restore, follow, picked };
})();
