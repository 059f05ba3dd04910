// The token that it takes to look, where it takes one: asked for once, and kept for as long as the tab is open.

const KEY = "weir-token";

let asking = null;

/** The token that was given last; null if there was none. */
export function bearer() {
  return sessionStorage.getItem(KEY);
}

/** Resolves when there is another token than `refused`. `reason` is the answer of Weir. */
export function askForToken(reason, refused) {
  if (bearer() !== refused) return Promise.resolve();
  asking ??= ask(reason, refused).finally(() => { asking = null; });
  return asking;
}

function ask(reason, refused) {
  const dialog = document.getElementById("token");
  const field = dialog.querySelector("input");
  dialog.querySelector(".reason").textContent = refused
    ? `Weir refuses this token: ${reason}.`
    : `Answer of Weir: ${reason}.`;
  field.value = "";
  field.setAttribute("aria-invalid", refused ? "true" : "false");
  return new Promise((resolve) => {
    dialog.onsubmit = (event) => {
      event.preventDefault();
      const token = field.value.trim();
      if (token === "") return;
      sessionStorage.setItem(KEY, token);
      dialog.onclose = null;
      dialog.close();
      resolve();
    };
    // Nothing can be shown without it, so that there is nothing to go back to.
    dialog.onclose = () => dialog.showModal();
    dialog.showModal();
  });
}
