/* The translator that comes with the book, in the page: the paper's model at d_model 64 with two
   layers a side, its byte-pair tokens, greedy and beam search, every weight of attention. It gives
   what the Python package gives (tests/book/test_translator.py compares). What it computes with,
   the numbers of the model and its vocabulary, is made by book/_extensions/translator_data.py.
   A classic script: modules are not loaded from file://. */
(function () {
  "use strict";
  const [PAD, BOS, EOS, UNK] = [0, 1, 2, 3];
  const MAX_EXTRA = 50; // tokens that a translation may have more than its source (section 6.1)
  const LONGEST = 100; // tokens of a source: what a page answers at once

  // --- numbers out of text ---------------------------------------------------------------------

  function bytesOf(base64) {
    const text = atob(base64), bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    return bytes;
  }

  function floatOfHalf(half) { // a number of 16 bits: sign, 5 bits of exponent, 10 of fraction
    const sign = half & 0x8000 ? -1 : 1, exponent = (half >> 10) & 31, fraction = half & 1023;
    if (exponent === 0) return sign * fraction * 2 ** -24;
    return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
  }

  function tensorsOf(shipped) { // by name, each a Float32Array, row after row
    const halves = new Uint16Array(bytesOf(shipped.numbers).buffer);
    const tensors = {};
    let start = 0;
    for (const [name, size] of shipped.tensors) {
      tensors[name] = Float32Array.from(halves.subarray(start, start + size), floatOfHalf);
      start += size;
    }
    return tensors;
  }

  // --- section 5.1: tokens ---------------------------------------------------------------------

  const MARK = "\u2581"; // stands for the space before a word
  const WHITE = /[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/g;
  const SIGN = /[!-/:-@[-`{-~\p{P}]/u;

  class Vocabulary {
    /* pieces: those that are no merge, by id; merges: the two ids that each further piece joins */
    constructor({ pieces, merges }) {
      this.pieces = [...pieces];
      this.joined = new Map(); // of two ids to the id of both; the lower, the earlier it was learned
      const pairs = new Uint16Array(bytesOf(merges).buffer);
      for (let i = 0; i < pairs.length; i += 2) {
        this.joined.set(pairs[i] * 65536 + pairs[i + 1], this.pieces.length);
        this.pieces.push(this.pieces[pairs[i]] + this.pieces[pairs[i + 1]]);
      }
      this.ofCharacter = new Map(pieces.map((piece, id) => [piece, id]).slice(UNK + 1));
    }

    words(text) { // words and signs, across which no piece reaches
      const plain = text.normalize("NFC").replaceAll(MARK, "_").replace(WHITE, " ").replace(/^ | $/g, "");
      if (plain === "") return [];
      const words = [""];
      for (const character of MARK + plain.replaceAll(" ", MARK)) {
        if (character === MARK || SIGN.test(character) || SIGN.test(words.at(-1))) words.push("");
        words[words.length - 1] += character;
      }
      return words.filter((word) => word !== "");
    }

    encode(text) {
      return this.words(text).flatMap((word) => this.cut(word));
    }

    cut(word) { // join what was learned first, until nothing can be joined
      const ids = Array.from(word, (character) => this.ofCharacter.get(character) ?? UNK);
      for (;;) {
        let first = Infinity, place = 0;
        for (let i = 0; i + 1 < ids.length; i++) {
          const both = this.joined.get(ids[i] * 65536 + ids[i + 1]) ?? Infinity;
          if (both < first) [first, place] = [both, i];
        }
        if (first === Infinity) return ids;
        ids.splice(place, 2, first);
      }
    }

    decode(ids) {
      const kept = ids.filter((id) => id > EOS).map((id) => this.pieces[id]);
      return kept.join("").replaceAll(MARK, " ").replace(/^ /, "");
    }

    wordIndices(ids) { // for each piece the index of its word or sign, as in the grammar's alignments
      let index = -1, before = "";
      return ids.map((id) => {
        const piece = this.pieces[id];
        const begins = id === EOS || piece.startsWith(MARK) || SIGN.test(piece) || SIGN.test(before);
        if (begins && before !== MARK) index += 1;
        before = piece;
        return index;
      });
    }
  }

  // --- section 3: the model, a row (one position) at a time --------------------------------------

  function linear(x, weight, bias, size) { // weight x + bias, weight (size, x.length)
    const y = new Float32Array(size), n = x.length;
    for (let row = 0, at = 0; row < size; row++, at += n) {
      let sum = bias ? bias[row] : 0;
      for (let i = 0; i < n; i++) sum += weight[at + i] * x[i];
      y[row] = sum;
    }
    return y;
  }

  function softmax(scores) {
    const largest = Math.max(...scores);
    const powers = scores.map((score) => Math.exp(score - largest));
    const total = powers.reduce((sum, power) => sum + power, 0);
    return powers.map((power) => power / total);
  }

  class Translator {
    constructor(shipped) {
      this.config = shipped.config;
      this.vocabulary = new Vocabulary(shipped.vocabulary);
      this.tensors = tensorsOf(shipped);
      this.table = this.tensors["source_embedding.table.weight"];
      this.off = new Set();
    }

    embed(id, position) { // sections 3.4 and 3.5
      const d = this.config.d_model, x = new Float32Array(d);
      for (let i = 0; i < d; i++) {
        const angle = position / 10000 ** ((i - (i % 2)) / d);
        x[i] = Math.sqrt(d) * this.table[id * d + i] + (i % 2 ? Math.cos(angle) : Math.sin(angle));
      }
      return x;
    }

    project(name, x) {
      return linear(x, this.tensors[`${name}_projection.weight`], null, this.config.d_model);
    }

    keysAndValues(name, rows) {
      return { keys: rows.map((x) => this.project(`${name}.key`, x)), values: rows.map((x) => this.project(`${name}.value`, x)) };
    }

    attend(name, x, { keys, values }) { // section 3.2: of one query; weights [head][key]
      const { d_model: d, num_heads: h } = this.config, dK = d / h;
      const query = this.project(`${name}.query`, x), heads = new Float32Array(d), weights = [];
      for (let head = 0; head < h; head++) {
        const from = head * dK, to = from + dK;
        const scores = keys.map((key) => {
          let sum = 0;
          for (let i = from; i < to; i++) sum += query[i] * key[i];
          return sum / Math.sqrt(dK);
        });
        weights.push(softmax(scores));
        if (this.off.has(`${name}.${head}`)) continue;
        values.forEach((value, j) => {
          for (let i = from; i < to; i++) heads[i] += weights[head][j] * value[i];
        });
      }
      return { output: this.project(`${name}.output`, heads), weights };
    }

    feedForward(name, x) { // section 3.3
      const { [`${name}.inner.weight`]: w1, [`${name}.inner.bias`]: b1, [`${name}.outer.weight`]: w2, [`${name}.outer.bias`]: b2 } = this.tensors;
      return linear(linear(x, w1, b1, this.config.d_ff).map((number) => Math.max(number, 0)), w2, b2, x.length);
    }

    residual(name, x, output) { // LayerNorm(x + Sublayer(x))
      const gamma = this.tensors[`${name}.norm.gamma`], beta = this.tensors[`${name}.norm.beta`];
      const sum = x.map((number, i) => number + output[i]);
      const mean = sum.reduce((total, number) => total + number, 0) / sum.length;
      const variance = sum.reduce((total, number) => total + (number - mean) ** 2, 0) / sum.length;
      const scale = 1 / Math.sqrt(variance + this.config.layer_norm_eps);
      return sum.map((number, i) => gamma[i] * (number - mean) * scale + beta[i]);
    }

    encode(ids) { // weights [layer][head][query][key]
      let rows = ids.map((id, position) => this.embed(id, position));
      const weights = [];
      for (let layer = 0; layer < this.config.num_layers; layer++) {
        const name = `encoder.layers.${layer}`, past = this.keysAndValues(`${name}.self_attention`, rows);
        const ofRows = [];
        rows = rows.map((x) => {
          const attention = this.attend(`${name}.self_attention`, x, past);
          ofRows.push(attention.weights);
          x = this.residual(`${name}.residuals.0`, x, attention.output);
          return this.residual(`${name}.residuals.1`, x, this.feedForward(`${name}.feed_forward`, x));
        });
        weights.push(ofRows[0].map((_, head) => ofRows.map((row) => row[head])));
      }
      return { memory: rows, weights };
    }

    startDecoder(memory) { // for each layer the keys and values of the memory, and of what is written
      return Array.from({ length: this.config.num_layers }, (_, layer) => ({
        source: this.keysAndValues(`decoder.layers.${layer}.cross_attention`, memory),
        past: { keys: [], values: [] },
      }));
    }

    step(cache, id, position) { // what follows: logits, weights [layer][head][key], the cache grown by one
      let x = this.embed(id, position);
      const self = [], cross = [], grown = [];
      cache.forEach(({ source, past }, layer) => {
        const name = `decoder.layers.${layer}`, own = this.keysAndValues(`${name}.self_attention`, [x]);
        const longer = { keys: [...past.keys, ...own.keys], values: [...past.values, ...own.values] };
        const before = this.attend(`${name}.self_attention`, x, longer);
        x = this.residual(`${name}.residuals.0`, x, before.output);
        const over = this.attend(`${name}.cross_attention`, x, source);
        x = this.residual(`${name}.residuals.1`, x, over.output);
        x = this.residual(`${name}.residuals.2`, x, this.feedForward(`${name}.feed_forward`, x));
        self.push(before.weights);
        cross.push(over.weights);
        grown.push({ source, past: longer });
      });
      return { logits: linear(x, this.table, null, this.config.vocab_size), self, cross, cache: grown };
    }

    /* Section 6.1: the best translation found with `size` beginnings at a time; 1 is greedy search.
       prefix: ids that the translation begins with. off: names of heads whose output is taken as
       zero, such as "encoder.layers.0.self_attention.2". Returns
         source: its ids, the end sign last; encoder: weights [layer][head][query][key]
         target: its ids, the end sign last unless it became too long; text; total: ln of its probability
         steps: for each of them { self, cross: weights [layer][head][key], logits: of all pieces,
           total: the logarithm of the sum of their powers } */
    translate(text, { size = 1, alpha = 0.6, prefix = [], off = new Set() } = {}) {
      this.off = off;
      const source = [...this.vocabulary.encode(text), EOS];
      if (source.length === 1) return { source: [], encoder: [], target: [], steps: [], total: 0, text: "" };
      if (source.length > LONGEST) throw new RangeError(`${source.length} pieces were given; at most ${LONGEST} are translated here.`);
      const { memory, weights: encoder } = this.encode(source);
      const limit = source.length + MAX_EXTRA;
      let live = [{ ids: [BOS], total: 0, steps: [], cache: this.startDecoder(memory) }], best = null;
      const score = (total, length) => total / ((5 + length) / 6) ** alpha;
      for (let length = 1; live.length > 0; length++) {
        const extended = live.flatMap((hypothesis) => {
          const step = this.step(hypothesis.cache, hypothesis.ids.at(-1), length - 1);
          step.total = logOfSum(step.logits);
          const next = length <= prefix.length ? [prefix[length - 1]] : likeliest(step.logits, size, [PAD, BOS]);
          return next.map((id) => ({ hypothesis, step, id, total: hypothesis.total + step.logits[id] - step.total }));
        });
        extended.sort((one, other) => other.total - one.total);
        live = [];
        for (const { hypothesis, step, id, total } of extended.slice(0, size)) {
          const longer = { ids: [...hypothesis.ids, id], total, steps: [...hypothesis.steps, step], cache: step.cache };
          if (id !== EOS && length < limit) live.push(longer);
          else if (best === null || score(total, length) > best.score) best = { ...longer, score: score(total, length) };
        }
        // A total can only fall, and the highest penalty is that of the limit: what cannot win is left.
        if (best !== null && !(live.length && score(live[0].total, limit) > best.score)) break;
      }
      const target = best.ids.slice(1);
      return { source, encoder, target, steps: best.steps, total: best.total, text: this.vocabulary.decode(target) };
    }
  }

  function logOfSum(logits) { // ln(e^a + e^b + ...)
    let largest = -Infinity, sum = 0;
    for (const logit of logits) if (logit > largest) largest = logit;
    for (const logit of logits) sum += Math.exp(logit - largest);
    return largest + Math.log(sum);
  }

  function likeliest(scores, k, never = []) { // the k ids of the largest, largest first
    const best = [];
    for (let id = 0; id < scores.length; id++) {
      if ((best.length === k && scores[id] <= scores[best[k - 1]]) || never.includes(id)) continue;
      const place = best.findIndex((other) => scores[other] < scores[id]);
      best.splice(place < 0 ? best.length : place, 0, id);
      if (best.length > k) best.pop();
    }
    return best;
  }

  globalThis.BookTranslator = { Translator, likeliest, PAD, BOS, EOS, UNK, MARK };
})();
