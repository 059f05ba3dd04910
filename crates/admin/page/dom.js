// Elements, made and brought up to date. Text is only ever set as text, so that nothing that a client or a control
// plane sends can become markup.

const SVG = "http://www.w3.org/2000/svg";

function make(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** An HTML element. Attributes that are null, undefined or false are left out, as are such children. */
export function h(tag, attributes = {}, ...children) {
  return make(document.createElement(tag), attributes, children);
}

/** An SVG element. */
export function svg(tag, attributes = {}, ...children) {
  return make(document.createElementNS(SVG, tag), attributes, children);
}

/** One of the symbols that stand in the document. The text beside it has the same meaning. */
export function glyph(name) {
  return svg("svg", { class: `glyph ${name}`, viewBox: "0 0 12 12", "aria-hidden": "true" },
    svg("use", { href: `#glyph-${name}` }));
}

/**
 * Makes the children of `parent` equal to `children`, and keeps the elements that are there already: focus, scrolling
 * and what is unfolded stay. Elements with an attribute `data-key` are found again where they have moved.
 */
export function update(parent, ...children) {
  const focused = document.activeElement;
  reconcile(parent, children.flat(Infinity).filter((child) => child instanceof Node));
  if (focused !== document.activeElement && focused?.isConnected && parent.contains(focused)) {
    focused.focus({ preventScroll: true });
  }
}

function reconcile(parent, wanted) {
  const keyed = new Map();
  for (const child of parent.childNodes) {
    const key = child.dataset?.key;
    if (key !== undefined) keyed.set(key, child);
  }
  let at = parent.firstChild;
  for (const child of wanted) {
    const key = child.dataset?.key;
    const old = key === undefined ? at : keyed.get(key);
    if (old && isLike(old, child)) {
      if (old === at) at = at.nextSibling;
      else parent.insertBefore(old, at);
      patch(old, child);
      if (key !== undefined) keyed.delete(key);
    } else {
      parent.insertBefore(child, at);
    }
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

function isLike(old, child) {
  return old.nodeName === child.nodeName && old.nodeType === child.nodeType && old.dataset?.key === child.dataset?.key;
}

function patch(old, child) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.data !== child.data) old.data = child.data;
    return;
  }
  for (const { name } of [...old.attributes]) {
    if (!child.hasAttribute(name) && !isOfTheUser(old, name)) old.removeAttribute(name);
  }
  for (const { name, value } of child.attributes) {
    if (old.getAttribute(name) !== value && !isOfTheUser(old, name)) old.setAttribute(name, value);
  }
  reconcile(old, [...child.childNodes]);
}

/** What the user has changed stays: whether something is unfolded. */
function isOfTheUser(element, name) {
  return element.nodeName === "DETAILS" && name === "open";
}
