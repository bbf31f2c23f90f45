// Loads the receipt again when a webhook has changed the order; the server writes what it says.
const shown = document.querySelector("[data-news]").dataset.news;
const events = new EventSource(`${location.pathname}/events`);
events.onmessage = (event) => {
  if (event.data === shown) return;
  events.close();
  location.replace(location.pathname);
};
