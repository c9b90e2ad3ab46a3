// Markdown becomes HTML that a page can show: receives a text of a person, returns sanitised HTML.

import DOMPurify from "dompurify";
import MarkdownIt from "markdown-it";

const reader = new MarkdownIt({ html: false, linkify: false });
const tags = [
  "h1", "h2", "h3", "h4", "h5", "h6", "p", "br", "hr", "ul", "ol", "li", "strong", "em", "s", "code", "pre", "blockquote", "a",
  "table", "thead", "tbody", "tr", "th", "td",
];

/** Headings begin at h4: the panel above them has h2 and h3. */
export function markdown(text: string): string {
  const html = reader.render(text).replace(/<(\/?)h([1-6])>/g, (_, end: string, level: string) => `<${end}h${Math.min(6, Number(level) + 3)}>`);
  const clean = DOMPurify.sanitize(html, { ALLOWED_TAGS: tags, ALLOWED_ATTR: ["href", "title"], ALLOWED_URI_REGEXP: /^(?:https?|mailto):/i, RETURN_DOM_FRAGMENT: true });
  for (const link of clean.querySelectorAll("a")) {
    link.setAttribute("rel", "noreferrer noopener");
    link.setAttribute("target", "_blank");
  }
  const holder = document.createElement("div");
  holder.append(clean);
  return holder.innerHTML;
}
