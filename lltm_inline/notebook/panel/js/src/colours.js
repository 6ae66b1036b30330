// Syntax colours: Lab's own, through the variables of panel.css.
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { Decoration, MatchDecorator, ViewPlugin } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const styles = HighlightStyle.define([
  { tag: [tags.keyword, tags.modifier, tags.controlKeyword, tags.definitionKeyword], color: "var(--lltm-keyword)", fontWeight: "bold" },
  { tag: [tags.standard(tags.typeName), tags.typeName, tags.className, tags.namespace], color: "var(--lltm-type)" },
  { tag: [tags.function(tags.variableName), tags.function(tags.propertyName)], color: "var(--lltm-function)" },
  { tag: [tags.number, tags.bool, tags.null, tags.character], color: "var(--lltm-number)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--lltm-string)" },
  { tag: tags.comment, color: "var(--lltm-comment)", fontStyle: "italic" },
  { tag: [tags.processingInstruction, tags.macroName, tags.meta, tags.attributeName], color: "var(--lltm-meta)" },
  { tag: tags.operator, color: "var(--lltm-operator)" },
  { tag: tags.invalid, color: "var(--lltm-bad)" },
]);

// CUDA's own words, which the C++ grammar takes for names.
const words = new MatchDecorator({
  regexp: /\b(?:__(?:global|device|host|shared|constant|restrict|launch_bounds|syncthreads|shfl_\w+?_sync)__|threadIdx|blockIdx|blockDim|gridDim|__syncthreads)\b/g,
  decoration: Decoration.mark({ class: "lltm-cuda-word" }),
});

const cudaWords = ViewPlugin.define(
  (view) => ({
    decorations: words.createDeco(view),
    update(update) {
      this.decorations = words.updateDeco(update, this.decorations);
    },
  }),
  { decorations: (plugin) => plugin.decorations },
);

export const colours = [syntaxHighlighting(styles), cudaWords];
