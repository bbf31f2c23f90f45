// The messages of the page in its language, by their English text.
const words = JSON.parse(document.documentElement.dataset.words);

// t is a message, with values in the place of {name}.
export const t = (message, values = {}) => (words[message] ?? message).replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
