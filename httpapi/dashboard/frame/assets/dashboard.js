// The dashboard works without this script. It adds: keys, rows that open on a click, sorting of a page's rows, refresh of the page's live part with a pause, filters and
// sliders that apply at once, fields that are checked while they are edited, times that can be pasted, buttons that copy, saved views, and a message instead of a lost form when the connection is gone.

const policy = window.trustedTypes
  ? trustedTypes.createPolicy('dashboard', { createHTML: (text) => text }) // only for pages of this service, which escape all text
  : { createHTML: (text) => text }
const parse = (text) => new DOMParser().parseFromString(policy.createHTML(text), 'text/html')


// A message on top of the page, which stays in sight; '' for none. link opens this page in another tab.
function say(text, link) {
  const line = document.querySelector('#connection p')
  if (!line || line.dataset.text === text) return
  line.dataset.text = text
  line.replaceChildren(text)
  if (link) {
    const a = document.createElement('a')
    a.textContent = link
    a.href = location.href
    a.target = '_blank'
    line.append(' ', a)
  }
  line.parentElement.hidden = text === ''
}

// The navigation of a narrow screen begins at the page that is shown.
const sections = document.querySelector('.sections')
const here = sections?.querySelector('[aria-current]')
if (here && sections.scrollWidth > sections.clientWidth) {
  sections.scrollLeft += here.getBoundingClientRect().left - sections.getBoundingClientRect().left - (sections.clientWidth - here.clientWidth) / 2
}

// Keys, from anywhere but a field: "/" for the search, "?" for the list of keys, "g" and a letter for a page.
let leads = 0 // the time until which a letter opens a page
document.addEventListener('keydown', (e) => {
  const field = e.target.closest && e.target.closest('input, textarea, select, [contenteditable]')
  if (!e.ctrlKey && !e.metaKey && !e.altKey && !field) {
    const search = document.getElementById('search')
    const keys = document.getElementById('keys')
    const page = Date.now() < leads && document.querySelector(`#keys [data-key="${CSS.escape(e.key)}"]`)
    leads = e.key === 'g' ? Date.now() + 1500 : 0
    if (e.key === '/' && search && !keys.open) { e.preventDefault(); search.focus(); search.select() }
    if (e.key === '?' && keys && !keys.open) { e.preventDefault(); keys.showModal() }
    if (page) { e.preventDefault(); location.assign(page.href) }
  }
  if (e.key === 'Escape') for (const menu of document.querySelectorAll('details.menu[open]')) menu.open = false
})

// A row with data-opens opens its page on a click, beside its links. A click that ends a selection of text opens nothing.
document.documentElement.classList.add('scripted')
document.addEventListener('click', (e) => {
  const row = e.target.closest('[data-opens]')
  if (!row || e.target.closest('a, button, input, label, select, summary') || window.getSelection()?.toString()) return
  if (e.ctrlKey || e.metaKey) { window.open(row.dataset.opens, '_blank', 'noopener'); return }
  location.assign(row.dataset.opens)
})

// After a refusal, the summary has the focus, or the field that is marked for it because it is the only one that was refused.
const marked = '[data-focus][aria-invalid]'
;(document.querySelector(marked) || document.querySelector('[data-refusal]'))?.focus()

// The address keeps no message: a reload does not show it again.
if (document.querySelector('[data-done]')) {
  const url = new URL(location.href)
  for (const name of ['done', 'refund']) url.searchParams.delete(name)
  history.replaceState(null, '', url)
}

// A form is sent once. If no answer comes, the page keeps its input and says what is known.
document.addEventListener('submit', async (e) => {
  const form = e.target
  if (form.method !== 'post' || e.defaultPrevented) return
  e.preventDefault()
  if (form.dataset.sending) return
  form.dataset.sending = 'yes'
  const buttons = [...form.querySelectorAll('button')]
  for (const b of buttons) b.setAttribute('aria-disabled', 'true')
  const body = new URLSearchParams(new FormData(form, e.submitter))
  try {
    const answer = await fetch(form.action, { method: 'POST', body, headers: { Accept: 'text/html' } })
    if (answer.redirected) {
      if ('keep' in form.dataset) history.replaceState(null, '', form.action + '?' + body) // the way back shows the input
      location.assign(answer.url)
      return
    }
    show(parse(await answer.text()))
  } catch {
    say(form.elements.key
      ? 'The connection was lost, and it is not known whether the request arrived. Your input is still here: send it again. It carries a key, so nothing happens twice.'
      : 'The connection was lost, and it is not known whether the request arrived. Your input is still here: look at the list in another tab, then send it again.')
  } finally {
    delete form.dataset.sending
    for (const b of buttons) b.removeAttribute('aria-disabled')
  }
})

// show replaces the content with that of another page of the dashboard.
function show(page) {
  const main = page.querySelector('main')
  if (!main || !page.querySelector('link[href^="/dashboard/assets/"]')) throw new Error('not a page of the dashboard')
  document.title = page.title
  document.querySelector('main').replaceWith(main)
  document.body.className = page.body.className
  if (page.body.className === 'outside') for (const part of document.querySelectorAll('.top, .sections, footer')) part.remove()
  const place = main.querySelector('[data-focus]')
  const summary = main.querySelector(marked) || main.querySelector('[data-refusal]') || place || main
  summary.focus()
  if (summary !== place) window.scrollTo(0, 0)
  prepare(main)
}

// Live refresh.
const every = 5000
const stateOf = document.querySelector('[data-live-state]')
const toggle = document.querySelector('[data-live-toggle]')
let paused = sessionStorage.getItem('paused') === 'yes'
function showLive(text) { if (stateOf) stateOf.textContent = text }
if (toggle) {
  toggle.hidden = false
  const label = () => {
    toggle.textContent = paused ? 'Resume' : 'Pause'
    showLive(paused ? 'Refresh is paused.' : 'Refreshes every 5 seconds.')
  }
  toggle.addEventListener('click', () => {
    paused = !paused
    sessionStorage.setItem('paused', paused ? 'yes' : 'no')
    label()
  })
  label()
  setInterval(refresh, every)
  document.addEventListener('visibilitychange', refresh) // the first look after a while shows the present
}
let pressed = false // a refresh must not take away what is being clicked
document.addEventListener('pointerdown', () => { pressed = true })
document.addEventListener('pointerup', () => setTimeout(() => { pressed = false }, 500))
async function refresh() {
  if (paused || pressed || document.hidden || liveParts(document).length === 0) return
  try {
    const answer = await fetch(location.href, { headers: { Accept: 'text/html', 'X-Dashboard-Refresh': 'yes' } })
    if (answer.status === 401) {
      say('Your session is over. This page shows an earlier state.', 'Sign in in another tab, then go on here.')
      showLive('Your session is over.')
      return
    }
    const page = parse(await answer.text())
    const [shown, fresh] = [liveParts(document), liveParts(page)]
    if (!answer.ok || fresh.length !== shown.length) { showLive('The page could not be refreshed. It shows an earlier state.'); return }
    say('')
    if (paused || pressed) return
    if (shown.some(inWork)) { showLive('Not refreshed while you work in it.'); return }
    document.title = page.title
    shown.forEach((part, i) => renew(part, fresh[i]))
    showLive('Refreshes every 5 seconds.')
  } catch {
    showLive('There is no connection. This is the state of the last refresh.')
  }
}
const liveParts = (page) => [...page.querySelectorAll('[data-live]')]

// inWork reports whether another content would take away what a person does in a part: writes, chooses, selects text, or points at a chart.
function inWork(part) {
  const here = document.activeElement
  const selection = window.getSelection()
  return part.contains(here) && here.matches('input, select, textarea') || selection?.toString() && selection.containsNode(part, true) ||
    part.querySelector('.tooltip:not([hidden])')
}

// renew replaces a part with its fresh content. What is open stays open, and focus and scroll positions stay where they are.
function renew(part, fresh) {
  const open = [...part.querySelectorAll('details[open][id]')].map((d) => d.id)
  const scrolled = [...part.querySelectorAll('.scroll')].filter((box) => box.scrollLeft || box.scrollTop).map((box) => [box, box.scrollLeft, box.scrollTop])
  const here = part.contains(document.activeElement) && document.activeElement
  part.replaceWith(fresh)
  for (const d of fresh.querySelectorAll('details[id]')) d.open = open.includes(d.id)
  prepare(fresh)
  for (const [box, left, top] of scrolled) twin(box, part, fresh)?.scrollTo(left, top)
  if (here) (twin(here, part, fresh) || document.querySelector('main')).focus({ preventScroll: true })
}

// twin returns the element of fresh that is the same as one in a part: of the same name, in the same place among those with it.
function twin(one, part, fresh) {
  const name = (e) => e.id || e.getAttribute('href') || e.getAttribute('aria-label') || e.parentElement.id || e.textContent
  const same = (within) => [...within.querySelectorAll(one.localName)].filter((e) => name(e) === name(one))
  return same(fresh)[same(part).indexOf(one)]
}

// Times are written in UTC. Each has its local time on hover; a button in the footer writes all of them in the local time zone.
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone
const localTime = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric', hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23', timeZoneName: 'short' })
let local = localStorage.getItem('times') === 'local'
function showTimes(part) {
  for (const time of part.querySelectorAll('time[datetime]')) {
    time.dataset.utc ??= time.textContent
    time.dataset.age ??= time.title
    const here = localTime.format(new Date(time.dateTime)).replace(',', '')
    time.textContent = local ? here : time.dataset.utc
    time.title = [time.dataset.age, local ? time.dataset.utc : here].filter(Boolean).join(' · ')
  }
}
const zoneToggle = document.querySelector('[data-zone-toggle]')
if (zoneToggle && zone && zone !== 'UTC') {
  zoneToggle.hidden = false
  const label = () => {
    document.querySelector('[data-zone]').textContent = local ? `Times are in ${zone}; filters and times that say UTC are in UTC.` : 'All times are in UTC.'
    zoneToggle.textContent = local ? 'Show UTC' : `Show ${zone}`
  }
  zoneToggle.addEventListener('click', () => {
    local = !local
    localStorage.setItem('times', local ? 'local' : 'utc')
    label()
    showTimes(document)
  })
  label()
} else local = false

// A time that was copied from a page, in the form and the time zone in which it is shown there, is pasted into a field for a day or a time,
// which is in UTC.
document.addEventListener('paste', (e) => {
  const field = e.target.closest && e.target.closest('input[type="date"], input[type="datetime-local"]')
  const text = field && e.clipboardData.getData('text').trim()
  const at = text && pasted(text)
  if (!at) return
  e.preventDefault()
  const day = at.toISOString().slice(0, 10)
  const time = field.name === 'to' && !text.includes(':') ? '23:59:59' : at.toISOString().slice(11, 19) // a day as an end is the whole day
  field.value = field.type === 'date' ? day : `${day}T${field.step === '1' ? time : time.slice(0, 5)}`
  field.dispatchEvent(new Event('change', { bubbles: true }))
})

// pasted reads "14 Mar 2026 09:26:53 UTC", the same with another offset or in the local time zone, and "2026-03-14T09:26:53Z". Without a zone a
// time is in UTC. It returns null for other texts, for a day that its month does not have, and for the name of a zone that is not the local one.
function pasted(text) {
  const [, day, month, year, time = '00:00:00', named = 'UTC'] = /^(\d{1,2}) ([A-Z][a-z]{2})[a-z]? (\d{4})(?: (\d\d:\d\d:\d\d)(?: (\S+))?)?$/.exec(text) || []
  const [, date, clock = '00:00', offset = 'UTC'] = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(Z|[+-]\d\d:\d\d)?)?$/.exec(text) || []
  const shown = new Date(day ? `${day} ${month} ${year} ${time} UTC` : `${date}T${clock}Z`)
  return shown.getUTCDate() === Number(day ?? date?.slice(-2)) ? inZone(shown, day ? named : offset) : null
}

// inZone returns the time that clocks of a zone show like those in UTC show another; null: there is none, or the zone is not known. The name is
// UTC, GMT, an offset such as GMT+5:30 or +05:30, or that of the local time zone, of which one with summer time has two.
function inZone(shown, name) {
  const [, sign, hours, minutes = 0] = /^(?:UTC|GMT)?([+\-\u2212])(0?\d|1[0-4])(?::?([0-5]\d))?$/.exec(name) || []
  if (sign) return new Date(+shown - (sign === '+' ? 60000 : -60000) * (60 * hours + Number(minutes)))
  if (['UTC', 'GMT', 'Z'].includes(name)) return shown
  const near = +shown + 60000 * shown.getTimezoneOffset()
  const named = (at) => localTime.formatToParts(at).find((part) => part.type === 'timeZoneName').value
  const fits = (at) => +at - 60000 * at.getTimezoneOffset() === +shown && named(at) === name
  return [0, -1, 1].map((hour) => new Date(near + 3600000 * hour)).find(fits) ?? null
}

// Columns with data-sort sort the rows of the page, by the data-value or the text of their cells. The order stays over refreshes.
let sorted = null // {column, way}
function sortable(table) {
  const heads = [...table.tHead.rows[0].cells]
  const hint = document.querySelector('[data-sort-hint]')
  if (hint) hint.hidden = false
  const value = (row, column) => row.cells[column].dataset.value ?? row.cells[column].textContent.trim()
  const apply = () => {
    if (!sorted) return
    for (const head of heads) head.removeAttribute('aria-sort')
    heads[sorted.column].setAttribute('aria-sort', sorted.way > 0 ? 'ascending' : 'descending')
    const order = new Intl.Collator('en', { numeric: true })
    const rows = [...table.tBodies[0].rows].sort((a, b) => sorted.way * order.compare(value(a, sorted.column), value(b, sorted.column)))
    table.tBodies[0].append(...rows)
  }
  heads.forEach((head, column) => {
    if (!('sort' in head.dataset)) return
    const button = document.createElement('button')
    button.type = 'button'
    button.className = 'sort'
    button.textContent = head.textContent
    button.addEventListener('click', () => {
      sorted = { column, way: sorted?.column === column ? -sorted.way : head.classList.contains('amount') ? -1 : 1 }
      apply()
    })
    head.replaceChildren(button)
  })
  apply()
}

// prepare gives a part of the page what it needs.
function prepare(part) {
  for (const hidden of part.querySelectorAll('[data-script]')) hidden.hidden = false // what needs this script is hidden without it
  showTimes(part)
  for (const field of part.querySelectorAll('[data-apply]')) field.addEventListener('change', () => field.form.requestSubmit())
  for (const table of part.querySelectorAll('[data-sortable]')) sortable(table)
  for (const field of part.querySelectorAll('[data-travel]')) travel(field)
  for (const button of part.querySelectorAll('[data-copy]')) {
    button.hidden = false
    button.addEventListener('click', async () => {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent)
      button.textContent = 'Copied'
    })
  }
  for (const link of part.querySelectorAll('[data-ticks]')) ticks(link)
  for (const button of part.querySelectorAll('[data-amount]')) namesAmount(button)
  for (const box of part.querySelectorAll('[data-saved-views]')) savedViews(box)
  for (const field of part.querySelectorAll('[data-check]')) liveCheck(field)
  for (const field of part.querySelectorAll('[data-file]')) textOfFile(field)
  document.dispatchEvent(new CustomEvent('dashboard:shown')) // for charts.js
}

// A slider with data-travel, the value of now, shows the page of its value: the label at once, then the parts of that page. The slider stays,
// with its focus.
let travelled = 0
function travel(slider) {
  const plain = slider.form.querySelector('[data-plain]')
  if (plain) plain.hidden = true
  let timer
  const go = async () => {
    const mine = ++travelled
    const to = new URL(slider.form.action)
    if (slider.value !== slider.dataset.travel) to.search = new URLSearchParams(new FormData(slider.form))
    try {
      const page = parse(await (await fetch(to, { headers: { Accept: 'text/html' } })).text())
      const fresh = [...page.querySelectorAll('[data-part]')]
      if (mine !== travelled || !slider.isConnected) return
      if (fresh.length === 0) { location.assign(to); return }
      for (const part of fresh) {
        const shown = document.querySelector(`[data-part="${part.dataset.part}"]`)
        const open = [...shown.querySelectorAll('details[open][id]')].map((d) => d.id)
        shown.replaceWith(part)
        for (const id of open) { const d = document.getElementById(id); if (d) d.open = true }
        prepare(part)
      }
      history.replaceState(null, '', to)
    } catch {
      say('There is no connection. The page shows another moment than the slider.')
    }
  }
  slider.addEventListener('input', () => {
    slider.form.querySelector('output').textContent = slider.value
    clearTimeout(timer)
    timer = setTimeout(go, 150)
  })
}

// A field with data-check is checked while it is edited: the form is sent as by its button "check", which saves nothing, and the part
// of the answer that data-check names is shown.
let checked = 0
function liveCheck(field) {
  let timer
  const check = async () => {
    const mine = ++checked
    const body = new URLSearchParams(new FormData(field.form))
    body.set('do', 'check')
    try {
      const answer = await fetch(field.form.action, { method: 'POST', body, headers: { Accept: 'text/html' } })
      const fresh = parse(await answer.text()).getElementById(field.dataset.check)
      const shown = document.getElementById(field.dataset.check)
      if (mine === checked && fresh && shown) shown.replaceChildren(...fresh.childNodes)
    } catch { /* the button checks as well, and says that the connection is gone */ }
  }
  field.addEventListener('input', () => { clearTimeout(timer); timer = setTimeout(check, 400) })
}

// A link with data-ticks ticks exactly the named boxes below it. Without this script it loads the page with them ticked, which loses the input.
function ticks(link) {
  const names = link.dataset.ticks.split(' ')
  link.addEventListener('click', (e) => {
    e.preventDefault()
    for (const box of link.closest('section').querySelectorAll('form input[type=checkbox]')) box.checked = names.includes(box.value)
  })
}

// A button with data-amount, the example 1 of the currency as the page writes it, names the amount in the field of its form: "Refund €12.50".
function namesAmount(button) {
  const field = button.form.elements.amount
  const { amount: one, code, digits, verb } = button.dataset
  const marks = [code, one.replace(/[\d.,\s]/g, '')]
  field.addEventListener('input', () => {
    let typed = field.value.trim().toUpperCase()
    const mark = marks.find((m) => typed.startsWith(m) || typed.endsWith(m))
    if (mark) typed = typed.replace(mark, '').trim()
    const [, whole, decimals = ''] = /^([1-9]\d{0,2}(?:,\d{3})+|\d+)(?:\.(\d+))?$/.exec(typed) || []
    const sure = whole && decimals.length <= digits && !(whole.includes(',') && digits > 2 && !decimals)
    const text = sure && whole.replaceAll(',', '').replace(/^0+(?=\d)/, '').replace(/\B(?=(\d{3})+$)/g, ',') + (digits > 0 ? '.' + decimals.padEnd(digits, '0') : '')
    button.textContent = sure ? verb + ' ' + one.replace(/1[\d.,]*/, text) : verb
  })
}

// A field with data-file puts the content of its file into the field that it names, in base64: forms carry texts.
function textOfFile(field) {
  field.addEventListener('change', async () => {
    const [file] = field.files
    if (!file) return
    const said = field.parentElement.querySelector('[data-file-said]')
    const address = await new Promise((read, failed) => {
      const reader = new FileReader()
      reader.onload = () => read(reader.result)
      reader.onerror = failed
      reader.readAsDataURL(file)
    }).catch(() => '')
    document.getElementById(field.dataset.file).value = address.slice(address.indexOf(',') + 1)
    said.textContent = address ? `${file.name} is chosen.` : `${file.name} could not be read. Choose it again.`
  })
}

// Saved views are the filters of lists. This browser keeps them. A view leaves the filters that it has no value for, and an active one takes
// its own away.
function savedViews(box) {
  const store = 'views:' + location.pathname
  const read = () => { try { return JSON.parse(localStorage.getItem(store)) || [] } catch { return [] } }
  const list = box.querySelector('ul')
  const filters = (search) => new URLSearchParams([...new URLSearchParams(search)].filter(([name, value]) => value.trim() && name !== 'cursor' && name !== 'done'))
  const same = (a, b) => a.length === b.length && a.sort().every((value, i) => value === b.sort()[i])
  const mark = (link, view) => {
    const to = filters(location.search)
    const names = [...new Set(view.keys())]
    const active = names.length > 0 && names.every((name) => same(view.getAll(name), to.getAll(name)))
    for (const name of names) to.delete(name)
    if (active) link.setAttribute('aria-current', 'true')
    else for (const [name, value] of view) to.append(name, value)
    link.href = location.pathname + (to.size ? '?' + to : '')
  }
  const draw = () => {
    list.replaceChildren(...read().map(({ name, query }) => {
      const item = document.createElement('li')
      const link = document.createElement('a')
      link.className = 'button compact'
      link.textContent = name
      mark(link, filters(query))
      const remove = document.createElement('button')
      remove.className = 'bare compact'
      remove.type = 'button'
      remove.textContent = '×'
      remove.setAttribute('aria-label', 'Remove the view ' + name)
      remove.addEventListener('click', () => {
        localStorage.setItem(store, JSON.stringify(read().filter((v) => v.name !== name)))
        draw()
      })
      item.append(link, remove)
      return item
    }))
  }
  box.querySelector('form').addEventListener('submit', (e) => {
    e.preventDefault()
    e.stopPropagation()
    const name = e.target.elements.name.value.trim()
    if (name === '') return
    const views = read().filter((v) => v.name !== name)
    localStorage.setItem(store, JSON.stringify([...views, { name, query: '?' + filters(location.search) }]))
    e.target.reset()
    draw()
  })
  box.hidden = false
  draw()
}

prepare(document)
