// A link with data-parts downloads its file in parts, with a progress, so that a file has no greatest size: each answer has the cursor of
// the next part. A lost connection or the end of the session loses nothing. Without this script the link downloads one larger part.

const links = document.querySelectorAll('[data-parts]')
const box = document.getElementById('parts')
const [said, count, bar, go, stop] = ['[role=status]', '[data-count]', 'progress', '[data-go]', '[data-stop]'].map((part) => box.querySelector(part))
const number = new Intl.NumberFormat('en-US')
const atOnce = '2000' // rows in a part
let file = null // that is being downloaded

function show(text, waits) {
  said.textContent = text
  go.hidden = !waits
  box.hidden = false
}

function progress() {
  const { link, rows, total, took } = file
  const share = total ? Math.min(rows / total, 1) : file.share
  const pace = took ? (rows / took) * 1000 : 0
  const rest = share ? took / 1000 * (1 - share) / share : 0
  count.textContent = `${number.format(rows)}${total ? ` of ${number.format(total)}` : ''} ${link.dataset.rows || 'payments'}` +
    (pace ? `, ${number.format(Math.round(pace))} a second` : '') +
    (rest ? `, ${rest < 90 ? `${Math.ceil(rest)} seconds` : `${Math.round(rest / 60)} minutes`} left` : '')
  if (share) bar.value = share // of 1
}

function end(text) {
  file = null
  show(text, false)
  for (const part of [count, bar, stop.parentElement]) part.hidden = true
}

function save({ parts, name }) {
  const a = document.createElement('a')
  a.href = URL.createObjectURL(new Blob(parts, { type: 'text/csv' }))
  a.download = name
  a.click()
  setTimeout(() => URL.revokeObjectURL(a.href), 60000)
}

// read reads the parts that are missing, and saves the file.
async function read() {
  const mine = file
  show('The file is being made. Keep this page open; you can work in other tabs.', false)
  while (mine.next !== null) {
    progress()
    const began = performance.now()
    try {
      const to = new URL(mine.link.href)
      if (mine.next) to.searchParams.set('cursor', mine.next)
      const answer = await fetch(to, { headers: { 'X-Dashboard-Part': atOnce }, signal: mine.stopped.signal })
      if (answer.status === 401) { show('Your session is over. Sign in in another tab, then go on here: nothing is lost.', true); return }
      if (!answer.ok || !answer.headers.get('Content-Type').startsWith('text/csv')) { show('The service could not make the next part. Go on in a moment: nothing is lost.', true); return }
      mine.parts.push(await answer.blob()) // the browser may keep it on its disk
      mine.name ||= answer.headers.get('Content-Disposition').match(/filename="([^"]*?)(-first-\d+)?\.csv"/)[1] + '.csv'
      mine.rows += Number(answer.headers.get('X-Rows'))
      mine.share = Number(answer.headers.get('X-Share')) || mine.share // of movements, whose number is not known before
      mine.next = answer.headers.get('X-Next-Cursor')
      mine.took += performance.now() - began
    } catch {
      if (!mine.stopped.signal.aborted) show('The connection was lost. Go on when it is back: nothing is lost.', true)
      return
    }
  }
  save(mine)
  const unit = mine.link.dataset.rows || 'payments'
  end(`${mine.name} is saved. It has ${number.format(mine.rows)} ${mine.rows === 1 ? unit.slice(0, -1) : unit}.`)
}

for (const link of links) link.addEventListener('click', (e) => {
  e.preventDefault()
  if (file) return
  file = { link, parts: [], next: '', name: '', rows: 0, took: 0, share: 0, total: Number(link.dataset.parts), stopped: new AbortController() }
  for (const part of [count, bar, stop.parentElement]) part.hidden = false
  bar.removeAttribute('value')
  read()
})
go.addEventListener('click', read)
stop.addEventListener('click', () => {
  file.stopped.abort()
  end('The download was stopped, and no file was saved.')
})

// A page with a download under way is not left by mistake.
addEventListener('beforeunload', (e) => { if (file) e.preventDefault() })
