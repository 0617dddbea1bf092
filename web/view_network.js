// What a network needs, and which device carries it: a model file that is dropped here, or one of the zoo. The file stays on this machine.

import { own, ownPost, send } from './api.js';
import { announce, h, notice, whenQuiet } from './dom.js';
import { figureOf } from './figure.js';
import { bytes, count, joules, number, quantity, seconds, share, short, unknown, watts } from './format.js';
import { BarPlot } from './bars.js';
import { rewrite } from './router.js';

const parts = [['weigh', 'What it needs'], ['inspect', 'Layers'], ['estimate', 'On a device'], ['timeline', 'Timeline'], ['kernels', 'Kernels'], ['choose', 'Choose a device']];

export async function open(area, { query, signal, title }) {
  title('Network');
  const state = { model: query.get('model') ?? '', name: query.get('model') ?? '', part: query.get('part') ?? 'weigh', batch: query.get('batch') ?? '', mode: query.get('mode') ?? 'infer', precision: query.get('precision') ?? 'fp32', device: query.get('device') ?? 'h200' };
  const [zoo, devices] = await Promise.all([own('zoo', {}, signal), own('devices', {}, signal)]);
  const file = h('input', { type: 'file', accept: '.onnx,.gguf', class: 'hidden', id: 'model-file', onchange: () => file.files[0] && upload(file.files[0]) });
  const drop = h('label', { class: 'drop', for: 'model-file', ondragover: (event) => { event.preventDefault(); drop.classList.add('over'); }, ondragleave: () => drop.classList.remove('over'), ondrop: (event) => { event.preventDefault(); drop.classList.remove('over'); if (event.dataTransfer.files[0]) upload(event.dataTransfer.files[0]); } },
    h('b', { text: 'Drop a model file here' }), ' or press Enter to choose one (ONNX, GGUF). It stays on this machine.');
  const list = h('datalist', { id: 'zoo-names' }, zoo.map(({ name, title: words }) => h('option', { value: name, text: words })));
  const model = h('input', { type: 'text', list: 'zoo-names', value: state.name, placeholder: 'resnet50', 'aria-label': 'A network of the zoo', 'data-key': 'filter', onchange: () => { state.model = state.name = model.value.trim(); look(); } });
  const select = (label, name, options) => h('label', {}, `${label} `, h('select', { 'aria-label': label, onchange: (event) => { state[name] = event.target.value; look(); } }, options.map((option) => h('option', { value: option.value ?? option, text: option.text ?? option, selected: (option.value ?? option) === state[name] }))));
  const batch = h('input', { type: 'number', min: 1, value: state.batch, placeholder: '1', 'aria-label': 'Batch', class: 'narrow', onchange: () => { state.batch = batch.value; look(); } });
  const tabs = h('nav', { class: 'tabs', 'aria-label': 'Questions' });
  const place = h('div', { 'aria-live': 'polite', 'aria-busy': 'false' });
  area.append(h('h1', { text: 'Network' }), h('div', { class: 'toolbar' }, h('label', {}, 'Network ', model), list, select('For', 'mode', [{ value: 'infer', text: 'inference' }, { value: 'train', text: 'training' }]), h('label', {}, 'Batch ', batch),
    select('Precision', 'precision', ['fp32', 'tf32', 'fp16', 'bf16', 'amp-bf16', 'amp-fp16', 'int8']), select('Device', 'device', devices.map(({ id, name }) => ({ value: id, text: name })))), file, drop, tabs, place);
  file.addEventListener('focus', () => drop.classList.add('focus'));
  file.addEventListener('blur', () => drop.classList.remove('focus'));

  async function upload(chosen) {
    announce(`${chosen.name} is being read`);
    drop.setAttribute('aria-busy', 'true');
    try {
      const told = await send(`api/plimsoll/models?${new URLSearchParams({ name: chosen.name })}`, chosen, { signal });
      state.model = told.model;
      state.name = told.name;
      model.value = told.name;
      await look();
    } catch (error) {
      if (error.name !== 'AbortError') notice(error.message, { kind: 'error' });
    } finally { drop.removeAttribute('aria-busy'); }
  }

  const question = () => ({ model: state.model, batch: Number(state.batch) || undefined, mode: state.mode, precision: state.precision });

  let turn = 0;
  async function look() {
    const mine = turn += 1;
    tabs.replaceChildren(...parts.map(([name, label]) => h('a', { href: '#', 'aria-current': name === state.part ? 'page' : null, text: label, onclick: (event) => { event.preventDefault(); state.part = name; look(); } })));
    rewrite(['network'], { model: state.model.startsWith('upload:') ? '' : state.model, part: state.part, batch: state.batch, mode: state.mode, precision: state.precision, device: state.device });
    if (state.model === '') {
      place.replaceChildren(h('div', { class: 'empty near' }, h('h2', { text: 'Which network?' }), h('p', { text: 'Drop a file above, or name one of the zoo:' }), h('p', {}, ['resnet50', 'vit_b_16', 'mobilenet_v2', 'bert_base', 'gpt2', 'llama3_8b'].map((name) => [h('button', { type: 'button', text: name, onclick: () => { state.model = state.name = model.value = name; look(); } }), ' ']))));
      return;
    }
    place.setAttribute('aria-busy', 'true');
    if (!place.firstChild || place.dataset.part !== state.part) place.replaceChildren(h('p', { class: 'note', text: 'Reckoning…' }));
    place.dataset.part = state.part;
    try {
      const content = await shows[state.part]();
      if (mine === turn) { place.replaceChildren(content); announce('It is there'); }
    } catch (error) {
      if (error.name !== 'AbortError' && mine === turn) place.replaceChildren(h('p', { class: 'bad', role: 'alert', text: error.message }));
    } finally { if (mine === turn) place.setAttribute('aria-busy', 'false'); }
  }

  const facts = (rows) => h('dl', {}, rows.filter(Boolean).map(([name, value]) => [h('dt', { text: name }), h('dd', { text: value })]));
  const between = (format, value, low, high) => value === null || value === undefined ? unknown : `${format(value)}${low && high ? ` (${format(low)} to ${format(high)})` : ''}`;
  const tableOf = (head, rows, label) => h('div', { class: 'wide', tabindex: 0, role: 'region', 'aria-label': label }, h('table', { class: 'plain' }, h('thead', {}, h('tr', {}, head.map(([text, right]) => h('th', { scope: 'col', class: right ? 'number' : null, text })))), h('tbody', {}, rows)));
  const cell = (text, kind = 'number') => h('td', { class: kind, text });

  const shows = {
    async weigh() {
      const told = await ownPost('network/weigh', question(), signal);
      const all = told.devices ?? [];
      const timed = all.filter(({ time }) => time);
      const plot = timed.length > 0 && new BarPlot({ title: 'Time of one pass by device', signal, rows: timed.map((one) => ({ name: one.name, value: one.time.seconds, low: one.time.low_seconds, high: one.time.high_seconds })).sort((a, b) => a.value - b.value), format: seconds });
      return h('div', {}, facts([['Parameters', count(told.parameters)], ['Weights', bytes(told.weights_bytes)], ['Multiply-adds', count(told.macs)], ['Forward', quantity(told.flops, 'FLOP')], told.backward_flops && ['Backward', quantity(told.backward_flops, 'FLOP')], ['Least memory', bytes(told.memory_floor_bytes)], ['Least traffic', bytes(told.traffic_floor_bytes)]]),
        plot && figureOf(plot, { title: plot.title }),
        tableOf([['Device'], ['Fits'], ['Memory', 1], ['Time', 1], ['Energy', 1], ['Largest batch', 1], ['A million cost', 1], ['Binds']], all.map((one) => h('tr', {}, h('th', { scope: 'row', text: `${one.name}${one.this_machine ? ' (this machine)' : ''}` }), h('td', { class: one.fits === false ? 'bad' : one.fits ? 'good' : null, text: one.fits === null || one.fits === undefined ? unknown : one.fits ? '✓ yes' : '✗ no' }), cell(`${bytes(one.minimum_device_bytes)} of ${bytes(one.memory_bytes)}`), cell(between(seconds, one.time?.seconds, one.time?.low_seconds, one.time?.high_seconds)), cell(joules(one.energy?.joules)), cell(count(one.largest_batch)), cell(one.cost?.dollars === undefined || one.cost === null ? unknown : `${number(one.cost.dollars, 3)} $`), h('td', { text: one.missing ? `unknown: ${one.missing}` : one.binds }))), 'Devices'),
        (told.notes ?? []).map((text) => h('p', { class: 'note', text })));
    },
    async inspect() {
      const told = await ownPost('network/inspect', question(), signal);
      const layers = told.layers ?? [];
      const heaviest = layers.toSorted((a, b) => b.flops - a.flops).slice(0, 25).filter(({ flops }) => flops > 0);
      const plot = heaviest.length > 0 && new BarPlot({ title: 'Heaviest layers by operations', signal, rows: heaviest.map((one) => ({ name: `${one.name} (${one.op})`, value: one.flops })), format: (value) => quantity(value, 'FLOP') });
      const finder = h('input', { type: 'search', placeholder: 'Find a layer', 'aria-label': 'Find a layer' });
      const rows = h('div');
      const fill = () => {
        const words = finder.value.toLowerCase();
        const shown = layers.filter((one) => `${one.name} ${one.op}`.toLowerCase().includes(words));
        rows.replaceChildren(tableOf([['Layer'], ['Operator'], ['Output'], ['Parameters', 1], ['Operations', 1], ['Read', 1], ['Written', 1]], shown.slice(0, 500).map((one) => h('tr', {}, h('th', { scope: 'row', text: short(one.name, 120) }), h('td', { text: one.op }), h('td', { text: (one.output_shape ?? []).join(' × ') }), cell(count(one.parameters)), cell(quantity(one.flops, 'FLOP')), cell(bytes(one.bytes_read)), cell(bytes(one.bytes_written)))), 'Layers'), shown.length > 500 ? h('p', { class: 'note', text: `The first 500 of ${number(shown.length)}.` }) : '');
      };
      finder.addEventListener('input', fill);
      fill();
      return h('div', {}, facts([['Parameters', count(told.parameters)], ['Operations', quantity(told.flops, 'FLOP')], ['Activations', bytes(told.activation_bytes)], ['Operations per byte', number(told.arithmetic_intensity, 3)], ['Counted', `${number(told.coverage.counted)} of ${number(told.coverage.nodes)} operators`]]), plot && figureOf(plot, { title: plot.title }), h('h2', {}, 'Layers ', finder), rows);
    },
    async estimate() {
      const told = await ownPost('network/estimate', { ...question(), device: state.device, layers: true }, signal);
      const { memory, time, energy } = told;
      const plot = memory?.parts?.length > 0 && new BarPlot({ title: 'Memory at its peak, by what it holds', signal, rows: memory.parts.map((one) => ({ name: one.part, value: one.bytes })), format: bytes });
      return h('div', {}, memory && h('p', { class: memory.fits ? 'good' : 'bad' }, h('b', { text: memory.fits ? '✓ It fits.' : '✗ It does not fit.' }), ` ${bytes(memory.minimum_device_bytes)} of ${bytes(memory.capacity_bytes)}`),
        facts([['Time of a pass', between(seconds, time?.seconds, time?.low_seconds, time?.high_seconds)], ['As PyTorch runs it', seconds(time?.eager_seconds)], ['Samples a second', number(time?.samples_per_second, 4)], ['Bound by', time?.bottleneck ?? unknown], ['Of the peak', share(time?.share_of_peak)], ['Energy of a pass', between(joules, energy?.joules, energy?.low_joules, energy?.high_joules)], ['Power', watts(energy?.watts)], ['Peak allocated', between(bytes, memory?.peak_allocated_bytes, memory?.low_bytes, memory?.high_bytes)], ['Largest batch', memory?.largest_batch ? number(memory.largest_batch) : unknown], ['Known by', time?.provenance ?? unknown]]),
        plot && figureOf(plot, { title: plot.title }), (memory?.remedies ?? []).length > 0 && h('div', {}, h('h2', { text: 'What would lower it' }), h('ul', { class: 'advice' }, memory.remedies.map((one) => h('li', { text: typeof one === 'string' ? one : one.title ?? one.text ?? one.remedy ?? JSON.stringify(one) })))));
    },
    timeline: () => page('timeline', { }),
    kernels: () => page('kernels', { kernels: true }),
    async choose() {
      const limits = [['max_latency', 'Latency at most', 's', 1e-4, 100, seconds], ['max_power', 'Power at most', 'W', 0.1, 2000, watts], ['max_mass', 'Mass at most', 'kg', 0.01, 10, (value) => quantity(value, 'kg')], ['max_price', 'Price at most', '$/h', 0.1, 100, (value) => `${number(value, 3)} $/h`]];
      const asked = {};
      const answer = h('div', { 'aria-live': 'polite' });
      const ask = whenQuiet(250, async () => {
        try {
          const told = await ownPost('network/choose', { model: state.model, precision: undefined, ...asked }, signal);
          const rows = told.candidates.slice(0, 60).map((one) => h('tr', { class: one.fails > 0 ? 'out' : null }, h('th', { scope: 'row', text: `${one.device_name}${told.recommended?.device === one.device && told.recommended?.precision === one.precision ? ' ★' : ''}` }), h('td', { text: one.precision }), cell(one.image?.bound === 'more-than' ? `> ${seconds(one.image.value)}` : seconds(one.image?.value)), cell(joules(one.energy?.value)),
            h('td', {}, one.limits.filter(({ verdict }) => verdict !== 'met').length === 0 ? h('span', { class: 'good', text: '✓ all met' }) : one.limits.filter(({ verdict }) => verdict !== 'met').map((limit) => h('span', { class: limit.verdict === 'unknown' ? 'open chip' : 'bad chip', text: `${limit.verdict === 'unknown' ? '?' : '✗'} ${limit.limit}${limit.figure ? `: ${quantity(limit.figure.value, limit.unit)}` : ''}` })))));
          answer.replaceChildren(h('p', {}, h('b', { text: told.recommended ? `${told.recommended.device_name}, ${told.recommended.precision}. ` : 'No device is known to meet every limit. ' }), told.reason ?? ''), tableOf([['Device'], ['Precision'], ['Time of one', 1], ['Energy', 1], ['Limits']], rows, 'Devices'));
        } catch (error) { if (error.name !== 'AbortError') answer.replaceChildren(h('p', { class: 'bad', text: error.message })); }
      });
      const sliders = limits.map(([name, label, , low, high, format]) => {
        const output = h('output', { text: 'any' });
        const input = h('input', { type: 'range', min: 0, max: 100, value: '100', 'aria-label': label, 'aria-valuetext': 'any', oninput: () => {
          const value = Number(input.value) >= 100 ? undefined : Number((low * (high / low) ** (Number(input.value) / 100)).toPrecision(2));
          asked[name] = value;
          output.textContent = value === undefined ? 'any' : format(value);
          input.setAttribute('aria-valuetext', output.textContent);
          ask();
        } });
        return h('label', { class: 'slider' }, label, input, output);
      });
      ask();
      return h('div', {}, h('div', { class: 'sliders' }, sliders), answer);
    },
  };

  function page(what, more) {
    const ask = JSON.stringify({ ...question(), device: state.device, ...more });
    return h('iframe', { class: 'page tall', sandbox: 'allow-scripts', src: `api/plimsoll/network/${what}?${new URLSearchParams({ ask })}`, title: what === 'timeline' ? 'Timeline of the memory' : 'Kernels' });
  }

  await look();
  return {};
}
