/* The editor of an exercise: CodeMirror with Python, line numbers and undo. tools/front_end.py makes
   one file of it and what it imports, vendor/editor.min.js, which a page loads when it is touched.

   Tab indents. Escape, then Tab, leaves the editor, so that it traps nobody. */
import { defaultKeymap, history, historyKeymap, indentWithTab, isolateHistory } from "@codemirror/commands";
import { python } from "@codemirror/lang-python";
import { bracketMatching, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { EditorState } from "@codemirror/state";
import { Decoration, EditorView, ViewPlugin, drawSelection, keymap, lineNumbers } from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight";

/* A line that is too long for a phone goes on further in than it begins: Python reads its first column. */
const hanging = ViewPlugin.fromClass(class {
  constructor(view) { this.decorations = this.ofLines(view); }
  update(update) { if (update.docChanged || update.viewportChanged) this.decorations = this.ofLines(update.view); }
  ofLines({ state, viewport }) {
    const found = [];
    for (let at = viewport.from; at <= viewport.to; at = state.doc.lineAt(at).to + 1) {
      const line = state.doc.lineAt(at), columns = /^ */.exec(line.text)[0].length + 4;
      found.push(Decoration.line({ attributes: { style: `text-indent: -${columns}ch; padding-left: calc(${columns}ch + 6px)` } }).range(line.from));
    }
    return Decoration.set(found);
  }
}, { decorations: (plugin) => plugin.decorations });

/* An editor in `place` with `text`. `label` and `describedBy` are for who hears the page;
   `changed(text)` is called at each change, `check()` at Ctrl+Enter. */
export function open(place, { text, label, describedBy, changed, check }) {
  const view = new EditorView({
    parent: place,
    state: EditorState.create({
      doc: text,
      extensions: [
        keymap.of([{ key: "Mod-Enter", run: () => { check(); return true; } }]),
        lineNumbers(), history(), drawSelection(), indentOnInput(), bracketMatching(),
        indentUnit.of("    "), EditorState.tabSize.of(4), EditorView.lineWrapping, hanging,
        python(), syntaxHighlighting(classHighlighter),
        keymap.of([...defaultKeymap, ...historyKeymap, indentWithTab]),
        EditorView.contentAttributes.of({
          "aria-label": label, "aria-describedby": describedBy, autocapitalize: "off", autocorrect: "off", spellcheck: "false",
        }),
        EditorView.updateListener.of((update) => { if (update.docChanged) changed(view.state.doc.toString()); }),
      ],
    }),
  });
  return {
    text: () => view.state.doc.toString(),
    // A step of its own for undo, however fast the next one follows.
    replace: (other) => view.dispatch({
      changes: { from: 0, to: view.state.doc.length, insert: other }, annotations: isolateHistory.of("full"),
    }),
    focus: () => view.focus(),
  };
}
